"""One cache for all tests of the runtime, and every compiler that is installed."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from shlo_disc.options import CompileOptions
from tests.runtime.building.cache_probe import answer, forget, warns

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


@pytest.fixture
def fresh_caches() -> None:
    """Nothing is known of folders, and the temporary one is empty."""
    forget()


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with two programs."""
    root = tmp_path_factory.mktemp("warm")
    with warns(0):
        assert (answer(root), answer(root, "subtract")) == (8, 2)
    return root


@pytest.fixture
def filled(warm: Path, tmp_path: Path) -> Path:
    """A copy of it: the loader knows no file of it."""
    root = tmp_path / "filled"
    for path in warm.rglob("*"):
        if path.is_file():
            (root / path.relative_to(warm)).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (root / path.relative_to(warm)).write_bytes(path.read_bytes())
            (root / path.relative_to(warm)).chmod(0o600)
    return root


@pytest.fixture
def open_above(filled: Path) -> Generator[Path]:
    """The same cache in a folder that others can reach."""
    base = Path("/tmp") / f"shlo_disc_test_{os.getpid()}_{threading.get_ident()}"
    base.mkdir(0o755)
    base.chmod(0o755)
    filled.rename(base / "cache")
    yield base / "cache"
    shutil.rmtree(base)
