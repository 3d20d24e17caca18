"""What pages of the documentation show, and whether it happens as it stands there."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# What a page calls by these names is this project, by this Python.
_COMMANDS = f"""
python() {{ {shlex.quote(sys.executable)} -W error "$@"; }}
shlo-disc() {{ python -m shlo_disc "$@"; }}
"""


def blocks(page: str, language: str) -> list[str]:
    """The contents of a page's blocks of a language; the page is named from the root of the project."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run_python(page: str) -> int:
    """Type all Python of a page, one block after the other; say how many examples there were."""
    typed = [block for block in blocks(page, "python") if block.startswith(">>>")]
    test = doctest.DocTestParser().get_doctest("\n".join(typed), {}, page, None, 0)
    report = list[str]()
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not failed, "".join(report)
    return tried


def run_file(page: str, folder: Path, names: Mapping[str, Any]) -> dict[str, Any]:
    """Run the blocks of a page that show no prompts, as one file beside these names; give the names that it defines."""
    shown = [block for block in blocks(page, "python") if not block.startswith(">>>")]
    file = folder / "page.py"
    file.write_text("\n".join(shown))
    return runpy.run_path(str(file), init_globals=dict(names))


def run_console(block: str, folder: Path) -> list[int]:
    """Run the commands of a block; each has to print the lines that are shown below it. Give the exit codes."""
    codes = list[int]()
    for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = shown.partition("\n")
        done = subprocess.run(
            ["/bin/bash", "-c", f"{_COMMANDS}{command} 2>&1"],
            capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert not expected or done.stdout == expected, command
        codes.append(done.returncode)
    return codes
