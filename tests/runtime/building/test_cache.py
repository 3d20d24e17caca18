"""The cache gives back what was stored, whole or not at all, and stays within its bound."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.cache import Cache, default_root, digest, package_digest, sources_digest
from shlo_disc.runtime.building.compiler import Compiler
from shlo_disc.runtime.cpu.build import build
from tests.runtime.sample import LOOP, SAMPLE, build_and_run, store_many


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip_a_bit(data: bytes) -> bytes:
    return data[:10] + bytes([data[10] ^ 1]) + data[11:]


def empty(_data: bytes) -> bytes:
    return b""


DAMAGE = [truncate, flip_a_bit, empty]


def entries(root: Path, kind: str) -> list[Path]:
    return sorted((root / kind).glob("??/*"))


def run_in_processes(work: Callable[..., None], *arguments: object, count: int = 2) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=arguments) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * count


def test_an_entry_is_found_by_kind_and_key(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    path = cache.store("objects", digest("a"), b"some bytes", ".o")
    assert path.read_bytes().startswith(b"some bytes")
    assert Cache(tmp_path).find("objects", digest("a"), ".o") == path
    assert cache.find("objects", digest("b"), ".o") is None
    assert cache.find("shared", digest("a"), ".o") is None


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_removed(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache = Cache(tmp_path)
    path = cache.store("objects", digest("a"), b"some bytes")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.find("objects", digest("a")) is None
    assert not path.exists()


def test_every_source_file_changes_the_key_of_the_compiler(tmp_path: Path) -> None:
    """A changed, new, renamed or moved one."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "x.py").write_text("1")
    (inner / "notes.txt").write_text("1")
    found = [sources_digest(tmp_path)]
    (inner / "notes.txt").write_text("2")
    assert sources_digest(tmp_path) == found[0]
    for name in ("x.py", "y.h", "y.cc", "y.cuh"):
        (inner / name).write_text("22")
        found.append(sources_digest(tmp_path))
    (inner / "x.py").rename(inner / "z.py")
    found.append(sources_digest(tmp_path))
    (inner / "z.py").rename(tmp_path / "a" / "z.py")
    found.append(sources_digest(tmp_path))
    assert len({*found, sources_digest(Path(shlo_disc.__file__).parent)}) == len(found) + 1


def test_whole_artifacts_come_back_equal(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    key = digest("text", package_digest())
    assert cache.load_artifact(key) is None
    for artifact in (SAMPLE, LOOP):
        cache.store_artifact(key, artifact)
        assert Cache(tmp_path).load_artifact(key) == artifact


def test_the_entries_used_last_are_kept(tmp_path: Path) -> None:
    for i in range(10):
        path = Cache(tmp_path).store("objects", digest(str(i)), bytes(1000))
        os.utime(path, (i, i))
    cache = Cache(tmp_path, limit=5000)
    assert cache.find("objects", digest("0")) is not None  # now it is the one used last
    cache.store("objects", digest("new"), bytes(1000))
    kept = {i for i in range(10) if cache.find("objects", digest(str(i))) is not None}
    assert kept == {0, 9}
    assert cache.find("objects", digest("new")) is not None


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / "work" / name).mkdir(parents=True)
    os.utime(tmp_path / "work" / "old", (0, 0))
    Cache(tmp_path).store("objects", digest("a"), b"")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["new"]


def test_the_root_honours_the_xdg_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "shlo_disc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_root().expanduser() == Path.home() / ".cache" / "shlo_disc"


def test_processes_may_write_the_same_entries(tmp_path: Path) -> None:
    run_in_processes(store_many, tmp_path, 50)
    assert len(entries(tmp_path, "objects")) == 4


def test_processes_may_build_the_same_program(tmp_path: Path) -> None:
    run_in_processes(build_and_run, tmp_path)
    assert len(entries(tmp_path, "shared")) == 2  # the program and the thread pool
    assert list((tmp_path / "work").iterdir()) == []


def test_a_warm_cache_needs_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = CompileOptions(cache_dir=tmp_path)
    build(SAMPLE, options)

    def refuse(self: Compiler, *_arguments: object) -> None:
        pytest.fail(f"{self.version} was called")

    monkeypatch.setattr(Compiler, "_run", refuse)
    build(SAMPLE, options)


@pytest.mark.parametrize(
    ("kind", "damage"),
    [("shared", truncate), ("shared", flip_a_bit), ("shared", empty), ("objects", truncate)],
)
def test_damaged_machine_code_is_built_again(tmp_path: Path, kind: str, damage: Callable[[bytes], bytes]) -> None:
    run_in_processes(build_and_run, tmp_path, count=1)
    before = entries(tmp_path, kind)
    for path in before:
        path.write_bytes(damage(path.read_bytes()))
    if kind == "objects":
        shutil.rmtree(tmp_path / "shared")
    run_in_processes(build_and_run, tmp_path, count=1)
    assert entries(tmp_path, kind) == before
    for path in before:
        key = path.parent.name + path.stem
        assert Cache(tmp_path).find(kind, key, path.suffix) == path
