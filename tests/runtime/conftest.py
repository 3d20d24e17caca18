"""One cache for all tests of the runtime, and every compiler that is installed."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from shlo_disc.options import CompileOptions

PRESENT = {
    "gcc": shutil.which("g++") is not None,
    "clang": shutil.which("clang++") is not None,
    "zig": find_spec("ziglang") is not None,
}


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that starts empty."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=tuple(PRESENT))
def compiler(request: pytest.FixtureRequest) -> str:
    """Each compiler, alone."""
    name = str(request.param)
    if not PRESENT[name]:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.fixture
def options(cache_dir: Path) -> CompileOptions:
    """The best compiler there is, and two threads."""
    return CompileOptions(cache_dir=cache_dir, threads=2)
