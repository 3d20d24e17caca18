"""docs/how-to/add-an-op.md, followed in a copy of the sources: three new ops, on the CPU and on the emulator."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.pages import ROOT, blocks

PAGE = "docs/how-to/add-an-op.md"
# The first line of a block that is part of a file: the file, and where in it the rest of the block belongs.
PLACE = re.compile(
    r"(?:#|//) (?P<file>\S+), (?:(?P<side>before|after) `(?P<line>.*)`|at the end)\n(?P<text>.*)", re.DOTALL
)
TESTS = (
    ("tests/dynamic_ops/test_facets.py", ("-k", "exp2 or is_nan or d_roll or every_op")),
    ("tests/dynamic_ops/test_mutants.py", ("-k", "exp2 or is_nan or d_roll")),
    ("tests/device/test_functions.py", ("-k", "gcc-exp2_")),
    ("tests/verify", ("-k", "exp2 or is_nan or roll or record or chlo")),
    ("tests/pipeline/test_ops_of_every_type.py", ("-k", "f32 or bf16")),
)  # fmt: skip


def _put(root: Path, block: str) -> None:
    """Put a block where its first line says."""
    place = PLACE.fullmatch(block)
    assert place is not None, block
    file, text = root / place["file"], place["text"]
    lines = file.read_text().splitlines(keepends=True)
    if place["side"] is None:
        file.write_text("".join([*lines, text]))
        return
    (first,) = [number for number, line in enumerate(lines) if line.startswith(place["line"])]
    if place["side"] == "after":
        first += 1
        if lines[first].lstrip().startswith('"""'):  # what a function does stands first
            first += 1
    file.write_text("".join([*lines[:first], text, *lines[first:]]))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, with all that the page adds."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("shlo_disc", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for block in re.findall(r"```(?:python|cpp|text)\n(.*?)```", (ROOT / PAGE).read_text(), re.DOTALL):
        if PLACE.match(block):
            _put(root, block)
    return root


def _run(root: Path, *arguments: str) -> None:
    found = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-4000:]


def test_the_programs_of_the_page_run(copy: Path) -> None:
    (program,) = [block for block in blocks(PAGE, "python") if not PLACE.match(block)]
    _run(copy, "-c", program)


@pytest.mark.parametrize(("path", "options"), TESTS, ids=[path for path, _ in TESTS])
def test_the_tests_see_the_new_ops(path: str, options: tuple[str, ...], copy: Path) -> None:
    _run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", path, *options)
