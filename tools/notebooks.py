"""Make the notebooks of `examples/` from their sources in `examples/notebooks`, with outputs.

    python -m tools.notebooks [NAME...]

A source is Python in jupytext's percent format, so it is formatted and linted as all code is. Running a notebook takes
minutes. `tests/api/test_notebooks.py` compares notebooks with their sources and runs them with few requests.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
SOURCES, NOTEBOOKS = ROOT / "examples" / "notebooks", ROOT / "examples"
SECONDS = 1200  # for a cell


def notebook_of(source: Path) -> Any:
    """The notebook of a source, without outputs."""
    notebook: Any = jupytext.read(source)
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"cell-{number}", {}
    return notebook


def executed(source: Path) -> Any:
    """The notebook of a source, with outputs. Raises `CellExecutionError` if a cell raises."""
    notebook = notebook_of(source)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    os.environ.setdefault("IPYKERNEL_CELL_NAME", "cell")  # what messages call a cell, in place of a temporary file
    NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    for cell in notebook.cells:
        cell["metadata"] = {}  # times of execution, which differ in every run
    return _without_paths(notebook)


def _without_paths(notebook: Any) -> Any:
    """The notebook with the paths of the sources relative to this folder, and without colours of a terminal."""
    text = nbformat.writes(notebook).replace(f"{ROOT}/", "")
    assert tempfile.gettempdir() not in text, "notebooks hold no paths of the machine that ran them"
    return nbformat.reads(re.sub(r"\\u001b\[[0-9;]*m", "", text), notebook.nbformat)


def main() -> None:
    """Run the named notebooks, or all."""
    names = sorted(path.stem for path in SOURCES.glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names, metavar="NAME", help=f"of {', '.join(names)}")
    for name in parser.parse_args().names:
        nbformat.write(executed(SOURCES / f"{name}.py"), NOTEBOOKS / f"{name}.ipynb")


if __name__ == "__main__":
    main()
