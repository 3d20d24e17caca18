# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The notebooks of `examples/` are those of their sources, with outputs, and run."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import nbformat
import pytest

from tools.notebooks import NOTEBOOKS, SOURCES, executed, notebook_of

NAMES = sorted(path.stem for path in SOURCES.glob("*.py"))


# Libraries that a notebook needs and no extra has.
NEEDS = {"training": ("flax", "optax", "equinox")}


def test_every_notebook_has_a_source() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_that_of_its_source_and_has_outputs(name: str) -> None:
    """`python -m tools.notebooks NAME` makes it anew."""
    found: Any = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    expected = notebook_of(SOURCES / f"{name}.py")
    assert [(cell.cell_type, cell.source) for cell in found.cells] == [
        (cell.cell_type, cell.source) for cell in expected.cells
    ]
    outputs = [output for cell in found.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) or output.get("text") for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"], "warnings are not for readers"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [package for package in NEEDS.get(name, ()) if find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    monkeypatch.setenv("NOTEBOOK_QUICK", "1")
    executed(SOURCES / f"{name}.py")
