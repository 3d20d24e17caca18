"""Whatever happens to an entry, it is none or intact; nothing that others may have written is used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from shlo_disc.artifact import Artifact
from shlo_disc.codec import encode
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.cache import Cache, digest
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.schedules import costs_key, find_schedules, known_costs, store_costs
from shlo_disc.schedules.tables import Schedules, parse_schedules
from tests.runtime.building.cache_probe import answer, entries, programs, warns
from tests.runtime.building.faults import (
    FILE_FAULTS,
    FOLDER_FAULTS,
    STILL_FINE,
)
from tests.runtime.sample import SAMPLE

pytestmark = pytest.mark.usefixtures("fresh_caches")

KINDS = {"artifacts": "", "objects": ".o", "shared": ".so", "schedules": "", "cubins": ""}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_a_faulty_entry_is_none_and_can_be_stored_again(tmp_path: Path, kind: str, fault: str) -> None:
    key, other, data, suffix = digest("a"), digest("b"), os.urandom(5000), KINDS[kind]
    with warns(0):
        path = Cache(tmp_path).store(kind, key, data, suffix)
        Cache(tmp_path).store(kind, other, b"other", suffix)
        FILE_FAULTS[fault](path)
        cache = Cache(tmp_path)
        assert cache.load(kind, key, suffix) == (data if fault in STILL_FINE else None)
        assert cache.store(kind, key, data, suffix) == path
        assert cache.find(kind, key, suffix) == path
        assert Cache(tmp_path).load(kind, key, suffix) == data
        assert cache.load(kind, other, suffix) == b"other"
    assert path.lstat().st_mode == 0o100600
    assert path.read_bytes()[: len(data)] == data


@pytest.mark.parametrize("level", [0, 1], ids=["kind", "half"])
@pytest.mark.parametrize("fault", FOLDER_FAULTS)
def test_a_faulty_folder_is_made_again(tmp_path: Path, level: int, fault: str) -> None:
    key, data = digest("a"), os.urandom(5000)
    with warns(0):
        path = Cache(tmp_path / "root").store("objects", key, data, ".o")
        at = [path.parents[1], path.parents[0]][level]
        FOLDER_FAULTS[fault](at)
        cache = Cache(tmp_path / "root")
        assert cache.find("objects", key, ".o") is None
        assert cache.store("objects", key, data, ".o") == path
        assert Cache(tmp_path / "root").load("objects", key, ".o") == data
    assert at.lstat().st_mode == 0o040700
    if fault == "a link":
        assert at.with_name("moved-folder").is_dir(), "what a link leads to stays"


def test_entries_that_change_places_are_none(tmp_path: Path) -> None:
    """Of another key, another kind, or another suffix; and the same bytes of another length."""
    cache, a, b = Cache(tmp_path), digest("a"), digest("b")
    paths = [cache.store("objects", a, b"one", ".o"), cache.store("objects", b, b"two", ".o")]
    paths += [cache.store("shared", a, b"one", ".o"), cache.store("objects", a, b"one", ".so")]
    texts = [path.read_bytes() for path in paths]
    assert len(set(texts)) == 4
    for path, text in zip(paths, texts[1:] + texts[:1], strict=True):
        path.write_bytes(text)
    assert [cache.find("objects", a, ".o"), cache.find("objects", b, ".o")] == [None, None]
    assert [cache.find("shared", a, ".o"), cache.find("objects", a, ".so")] == [None, None]


def test_everything_is_private_under_any_umask(tmp_path: Path) -> None:
    for umask in (0, 0o022, 0o077, 0o277, 0o777):
        root, before = tmp_path / f"{umask}" / "a" / "b", os.umask(umask)
        try:
            cache = Cache(root)
            cache.store("objects", digest("a"), b"x", ".o")
            if umask < 0o200:  # else compilers could not read what they write
                cache.in_workspace(lambda work: (work / "file").write_bytes(b"x"))
        finally:
            os.umask(before)
        made = [tmp_path / f"{umask}", *(tmp_path / f"{umask}").rglob("*")]
        assert {path.stat().st_mode for path in made} == {0o040700, 0o100600}


def test_nothing_is_open_to_others_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes are right when a folder or a file is made, not only later."""
    modes, really_mkdir, really_open = set[int](), os.mkdir, os.open

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        modes.add(mode)
        really_mkdir(path, mode, dir_fd=dir_fd)

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            modes.add(mode)
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "open", open_)
    Cache(tmp_path / "a" / "b").store("objects", digest("a"), b"x", ".o")
    assert modes == {0o700, 0o600}


def is_whole(root: Path, kind: str, path: Path) -> bool:
    key = path.parent.name + path.stem
    return path.stat(follow_symlinks=False).st_mode == 0o100600 and Cache(root).find(kind, key, KINDS[kind]) == path


@pytest.mark.parametrize("kind", ["artifacts", "shared", "objects"])
@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_a_program_is_built_again_from_what_is_left(filled: Path, kind: str, fault: str) -> None:
    paths = programs(filled) if kind == "shared" else entries(filled, kind)
    needless = programs(filled) if kind == "objects" else []  # else nobody reads the objects
    for path in paths:
        FILE_FAULTS[fault](path)
    for path in needless:
        path.unlink()
    with warns(0):
        assert (answer(filled), answer(filled, "subtract")) == (8, 2)
    if kind != "objects" and fault not in STILL_FINE:
        assert all(is_whole(filled, kind, path) for path in paths)
    assert all(is_whole(filled, "shared", path) for path in needless)


@pytest.mark.parametrize("kind", ["artifacts", "shared"])
def test_programs_that_change_places_are_built_again(filled: Path, kind: str) -> None:
    one, two = programs(filled) if kind == "shared" else entries(filled, kind)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    with warns(0):
        assert (answer(filled), answer(filled, "subtract")) == (8, 2)
    assert (one.read_bytes(), two.read_bytes()) == (first, second)


def test_an_artifact_of_another_format_is_compiled_again(filled: Path) -> None:
    """Its digest is right, its content is not what this package writes."""
    cache = Cache(filled)
    for path in entries(filled, "artifacts"):
        cache.store("artifacts", path.parent.name + path.name, encode(Artifact, SAMPLE)[:-9])
    with warns(0):
        assert answer(filled) == 8


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_faulty_schedules_are_none(tmp_path: Path, fault: str) -> None:
    cache, compiler, options = Cache(tmp_path), find_compiler(), CompileOptions()
    costs = known_costs()
    store_costs(cache, compiler, options, costs)
    (path,) = entries(tmp_path, "schedules")
    FILE_FAULTS[fault](path)
    with warns(0):
        assert find_schedules(Cache(tmp_path), compiler, options, "text") == Schedules(costs)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"cpu": 1, "origin": "measured", "kinds": {}, "tuned": {}}',
        b'{"cpu": "", "origin": "me", "kinds": {}, "tuned": {}}',
        b'{"cpu": "", "origin": [], "kinds": {}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {}, "tuned": {}, "more": 0}',
        b'{"cpu": "", "origin": "measured", "kinds": [], "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {"f32": {"tiles 6": [1]}}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {"f32": {"tiles 6": [0,0,0,0,0,0,0,0,0,1e400]}}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {"f32": {"tiles 6": [0,0,0,0,0,0,0,0,0,NaN]}}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {"f32": {"tiles 6": [0,0,0,0,0,0,0,0,0,-1]}}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {"f32": {"other 6": [0,0,0,0,0,0,0,0,0,0]}}, "tuned": {}}',
        b'{"cpu": "", "origin": "measured", "kinds": {}, "tuned": {"p": {"counts": [1], "times": {"tiles 6": []}}}}',
        b'{"cpu": "", "origin": "measured", "kinds": {}, "tuned": {"p": {"counts": "1", "times": {}}}}',
        b'{"cpu": "", "origin": "measured", "kinds": {}, "tuned": {"p": {"counts": [true], "times": {}}}}',
        b'{"cpu": "", "origin": "measured", "kinds": {}, "tuned": {"p": null}}',
    ],
)  # fmt: skip
def test_other_text_is_no_schedules(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (JSON's own too)
        parse_schedules(text)
    cache, compiler = Cache(tmp_path), find_compiler()
    cache.store("schedules", costs_key(compiler, 3), text)
    assert find_schedules(cache, compiler, CompileOptions(), "text") == Schedules(known_costs())
