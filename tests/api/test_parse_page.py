"""Everything on docs/how-to/parse.md happens as it stands there."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "parse.md").read_text()


def blocks(language: str) -> list[str]:
    """The contents of the page's blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file that the page is about."""
    (program,) = blocks("mlir")
    (tmp_path / "model.mlir").write_text(program)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"))
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
    text = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/how-to/parse.md", None, 0)
    report = list[str]()
    failed, tried = doctest.DocTestRunner().run(test, out=report.append)
    assert tried > 10
    assert not failed, "".join(report)


def test_the_page_links_to_what_there_is() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / "how-to" / link).exists()] == []
