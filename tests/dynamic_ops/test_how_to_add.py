"""The pages that add ops and templates, followed in copies of the sources, on the CPU and on the emulator."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.api.pages import ROOT, blocks

OP, TEMPLATE = "docs/how-to/add-an-op.md", "docs/how-to/add-a-template.md"
# The first line of a block that is part of a file: the file, and where in it the rest of the block belongs.
PLACE = re.compile(
    r"(?:#|//) (?P<file>\S+), (?:(?P<side>before|after) `(?P<line>.*)`|at the end|(?P<new>a new file))\n(?P<text>.*)",
    re.DOTALL,
)
TESTS: Mapping[str, str] = {
    "tests/dynamic_ops/test_facets.py": "exp2 or is_nan or d_roll or every_op",
    "tests/dynamic_ops/test_mutants.py": "exp2 or is_nan or d_roll",
    "tests/device/test_functions.py": "gcc-exp2_",
    "tests/verify": "exp2 or is_nan or roll or record or chlo",
    "tests/pipeline/test_ops_of_every_type.py": "f32 or bf16",
}


def _put(root: Path, block: str) -> None:
    """Put a block where its first line says."""
    place = PLACE.fullmatch(block)
    assert place is not None, block
    file, text = root / place["file"], place["text"]
    if place["new"]:
        file.write_text(text)
        return
    lines = file.read_text().splitlines(keepends=True)
    if place["side"] is None:
        file.write_text("".join([*lines, text]))
        return
    starts = place["line"].split("|")  # of lines that follow each other
    (first,) = [
        number
        for number in range(len(lines))
        if all(line.startswith(start) for line, start in zip(lines[number:], starts, strict=False))
    ]
    if place["side"] == "after":
        first += 1
        if lines[first].lstrip().startswith('"""'):  # what a function does stands first
            first += 1
    file.write_text("".join([*lines[:first], text, *lines[first:]]))


def _followed(page: str, root: Path) -> Path:
    """The sources, with all that a page adds."""
    for folder in ("shlo_disc", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for block in re.findall(r"```(?:python|cpp|text)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        if PLACE.match(block):
            _put(root, block)
    return root


@pytest.fixture(scope="module")
def with_ops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _followed(OP, tmp_path_factory.mktemp("ops"))


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


def _program(page: str) -> str:
    (program,) = [block for block in blocks(page, "python") if not PLACE.match(block)]
    return program


def test_new_ops_run(with_ops: Path) -> None:
    _run(with_ops, "-c", _program(OP))


@pytest.mark.parametrize("path", TESTS)
def test_the_tests_see_new_ops(path: str, with_ops: Path) -> None:
    _run(with_ops, "-m", "pytest", "-q", "-p", "no:cacheprovider", path, "-k", TESTS[path])


def test_a_new_template_runs(tmp_path: Path) -> None:
    _run(_followed(TEMPLATE, tmp_path / "templates"), "-c", _program(TEMPLATE))
