"""Everything on docs/how-to/parse.md happens as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.pages import blocks, run_console, run_python

PAGE = "docs/how-to/parse.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file that the page is about."""
    (program,) = blocks(PAGE, "mlir")
    (tmp_path / "model.mlir").write_text(program)
    return tmp_path


@pytest.mark.parametrize("block", blocks(PAGE, "console"))
def test_what_the_command_line_prints(block: str, folder: Path) -> None:
    assert run_console(block, folder) == [int(" | " in block.partition("\n")[0])]


def test_what_python_prints(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert run_python(PAGE) > 10
