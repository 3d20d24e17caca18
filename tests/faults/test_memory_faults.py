"""Where memory or a thread cannot be had, a call raises MemoryError or does without; the next call is right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.options import CompileOptions
from tests.conftest import ROOT
from tests.faults.programs import CASES

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C compiler and glibc on Linux"),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What fails requests for memory, as a library to be preloaded."""
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [
        str(COMPILER),
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        str(path),
        str(Path(__file__).with_name("shim.c")),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has the programs, so that the processes with faults only load them."""
    folder = tmp_path_factory.mktemp("cache")
    for case in CASES.values():
        options = CompileOptions(threads=2, optimize=1, cache_dir=folder)
        shlo_disc.compile(case.text, device="cpu", donate=case.donate, options=options)
    return folder


def run(shim: Path, name: str, driver: str, cache: Path, **environment: str) -> str:
    command = [sys.executable, "-m", "tests.faults.child", name, driver, "2", str(cache)]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("name", CASES)
def test_every_request_for_memory_may_fail(name: str, driver: str, shim: Path, cache: Path) -> None:
    text = run(shim, name, driver, cache)
    print(text)
    more = int(text.rsplit(" bytes more", 1)[0].rsplit(" ", 1)[1])
    assert more < 100_000, "nothing leaks: one result alone has 12,000 bytes, and hundreds of calls were ended"
    if driver == "c":
        assert "raised [0" not in text, "calls of the generated program ask for memory themselves"


def test_requests_of_python_may_fail_too(shim: Path, cache: Path) -> None:
    print(run(shim, "map", "c", cache, PYTHONMALLOC="malloc"))
