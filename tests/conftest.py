"""Options and fixtures that all tests share."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from shlo_disc.runtime.memory import POOL

ROOT = Path(__file__).resolve().parent.parent
ARCHIVES = tuple(
    f"{name}.tar.xz" for name in ("models", "jax_exports", "handwritten", "stablehlo_testdata", "stablehlo_tests")
)
PLAIN_FILES = ("manifest.json", "run_corpus.py")

# Of random programs and points: the same in every run, so that a failure is reproducible, or others on demand.
SEED = int(os.environ.get("SHLO_DISC_SEED", "0"))

# The machine decides how long an example takes, the seed is fixed: a failure is reproducible.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")


def pytest_configure() -> None:
    """Let every call take memory full of NaNs: what it does not write itself is never right by chance."""
    POOL.poisons = True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--corpus",
        type=Path,
        default=ROOT.parent / "shared" / "corpus",
        help="folder of the StableHLO conformance corpus (default: ../shared/corpus)",
    )
    parser.addoption("--exhaustive", action="store_true", help="look at all of what is otherwise sampled")
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden instead of comparing")


@pytest.fixture(scope="session")
def exhaustive(request: pytest.FixtureRequest) -> bool:
    """Whether to look at all of what is otherwise sampled."""
    return bool(request.config.getoption("--exhaustive"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with `tests/golden/<test>.txt`, or write it with `--update-golden`."""
    node: object = request.node
    assert isinstance(node, pytest.Item), "the golden fixture is for tests"
    path = ROOT / "tests" / "golden" / (re.sub(r"[^\w.-]+", "-", node.name).strip("-") + ".txt")
    update = bool(request.config.getoption("--update-golden"))

    def compare(text: str) -> None:
        text = text.rstrip("\n") + "\n"
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"{path.name} is missing: run with --update-golden and review it"
        assert text == path.read_text()

    return compare


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unpack(archive: Path, root: Path) -> None:
    """Unpack `archive` into `root` all at once: a reader never sees half of it."""
    status = archive.stat()
    stamp = root / f".{archive.name}.{status.st_size}.{status.st_mtime_ns}"
    if stamp.exists():
        return
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        for folder in Path(scratch).iterdir():
            shutil.rmtree(root / folder.name, ignore_errors=True)
            folder.replace(root / folder.name)
    stamp.touch()


@pytest.fixture(scope="session")
def corpus(request: pytest.FixtureRequest) -> Path:
    """The corpus, unpacked once for all workers; the manifest and the judge lie next to it."""
    given: object = request.config.getoption("--corpus")
    assert isinstance(given, Path), "--corpus is parsed as a path"
    missing = [name for name in (*ARCHIVES, *PLAIN_FILES) if not (given / name).is_file()]
    if missing:
        pytest.skip(f"no corpus: {given} lacks {', '.join(missing)} (give its folder by --corpus)")
    root = Path(tempfile.gettempdir()) / f"shlo_disc_corpus_{os.getuid()}"
    root.mkdir(exist_ok=True)
    with _locked(root / ".lock"):
        for name in ARCHIVES:
            _unpack(given / name, root)
        for name in PLAIN_FILES:
            shutil.copyfile(given / name, root / f".{name}")
            (root / f".{name}").replace(root / name)
    return root


@pytest.fixture(scope="module", autouse=True)
def without_programs_of_jax() -> Generator[None]:
    """Let go of what JAX has compiled in a module of tests: all of it together is some gigabytes."""
    yield
    if (jax := sys.modules.get("jax")) is not None:
        jax.clear_caches()
