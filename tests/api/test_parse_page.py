"""Everything on docs/how-to/parse.md happens as it stands there."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.pages import ROOT, blocks, run_python

PAGE = "docs/how-to/parse.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file that the page is about."""
    (program,) = blocks(PAGE, "mlir")
    (tmp_path / "model.mlir").write_text(program)
    return tmp_path


@pytest.mark.parametrize("block", blocks(PAGE, "console"))
def test_what_the_command_line_prints(block: str, folder: Path) -> None:
    line, _, expected = block.partition("\n")
    command = line.removeprefix("$ ").replace("python", f"{shlex.quote(sys.executable)} -W error", 1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} 2>&1"], capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert done.stdout == expected
    assert done.returncode == int("| " in line)


def test_what_python_prints(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert run_python(PAGE) > 10
