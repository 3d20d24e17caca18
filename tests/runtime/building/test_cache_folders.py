"""A cache folder that cannot be used is one warning, and programs compile and are right all the same."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import shlo_disc
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building import cache as cache_module
from shlo_disc.runtime.building.cache import Cache, digest, open_cache
from shlo_disc.runtime.building.temporary import temporary_folder
from tests.runtime.building.cache_probe import ADD, answer, entries, forget, programs, warns
from tests.runtime.building.faults import (
    IS_ROOT,
    SOMEBODY,
    mode,
    mounted,
    needs_root,
    remounted,
)

pytestmark = pytest.mark.usefixtures("fresh_caches")

ROOT = Path(__file__).resolve().parents[3]


def link_root(root: Path) -> None:
    real = root.with_name("real")
    root.rename(real)
    root.symlink_to(real)


def dangling_root(root: Path) -> None:
    root.rename(root.with_name("real"))
    root.symlink_to("nowhere")


def file_root(root: Path) -> None:
    root.rename(root.with_name("real"))
    root.write_bytes(b"")


def above(bits: int) -> Callable[[Path], None]:
    return lambda root: root.parent.chmod(bits)


ROOT_FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (link_root, "it is a link, or no folder"),
    "a link to nothing": (dangling_root, "it is a link, or no folder"),
    "a file": (file_root, "it is a link, or no folder"),
    "writable by the group": (mode(0o770), "others may write to it (mode 0770)"),
    "writable by all": (mode(0o1777), "others may write to it (mode 1777)"),
    "below one that all may write to": (above(0o777), "above it (mode 0777)"),
    "below one that the group may write to": (above(0o775), "above it (mode 0775)"),
}
if IS_ROOT:
    ROOT_FAULTS["of another user"] = (lambda root: os.chown(root, SOMEBODY, SOMEBODY), f"it belongs to user {SOMEBODY}")
    ROOT_FAULTS["below one of another user"] = (
        lambda root: os.chown(root.parent, SOMEBODY, SOMEBODY),
        f"above it belongs to user {SOMEBODY}",
    )


@pytest.mark.parametrize("fault", ROOT_FAULTS)
def test_a_root_that_others_may_have_written_is_left_alone(open_above: Path, fault: str) -> None:
    damage, reason = ROOT_FAULTS[fault]
    before = {path: path.read_bytes() for path in open_above.rglob("*") if path.is_file()}
    damage(open_above)
    with warns(1, reason):
        assert answer(open_above) == 8
        shlo_disc.compile(ADD.replace("OP", "multiply"), options=CompileOptions(cache_dir=open_above, optimize=0))
    moved = open_above.with_name("real")
    for path, data in before.items():
        assert (moved / path.relative_to(open_above) if moved.exists() else path).read_bytes() == data


def test_a_folder_below_a_closed_one_is_safe(open_above: Path) -> None:
    """Nobody gets as far as the folder that all may write to."""
    open_above.parent.chmod(0o700)
    inside = open_above / "open" / "inside"
    inside.parent.mkdir()
    inside.parent.chmod(0o777)
    with warns(0):
        Cache(inside).store("objects", digest("a"), b"")
    assert len(entries(inside, "objects")) == 1


def test_links_above_the_root_are_followed(open_above: Path) -> None:
    link = open_above.parent / "link"
    link.symlink_to(open_above)
    with warns(0):
        path = Cache(link / "inside").store("objects", digest("a"), b"")
    assert path.is_relative_to(open_above)


def _nobody(_user: int) -> object:
    """What `pwd` does about a user that no file knows, as in containers."""
    raise KeyError


HOMES = {"unset": None, "missing": "/nonexistent/home", "a file": "/dev/null", "relative": "~nobody-of-this-name/x"}


@pytest.mark.parametrize("home", HOMES)
def test_without_a_home_there_is_a_temporary_folder(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    value = HOMES[home]
    if value is None:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr("pwd.getpwuid", _nobody)  # a user that no file knows, as in containers
    elif home == "relative":
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    else:
        monkeypatch.setenv("HOME", value)
    with warns(1):
        path = Cache().store("objects", digest("a"), b"x")
    assert path.is_relative_to(temporary_folder())


@pytest.mark.parametrize(
    "root", [Path("/dev/null/cache"), Path("/proc/nothing/cache"), Path("a\0b"), Path("~nobody-of-this-name/x")]
)
def test_a_folder_that_cannot_be_made_is_one_warning(root: Path) -> None:
    with warns(1, "cannot be used"):
        cache = Cache(root)
        path = cache.store("objects", digest("a"), b"x")
        cache.store("objects", digest("b"), b"x")
        assert cache.find("objects", digest("a")) == path
        assert cache.is_temporary
    assert path.is_relative_to(temporary_folder())
    assert path.stat().st_mode == 0o100600
    assert temporary_folder().stat().st_mode == 0o040700


def refuse(monkeypatch: pytest.MonkeyPatch, root: Path, code: int) -> list[str]:
    """Let new files and folders below a folder fail; gives what was tried."""
    seen, really_open, really_mkdir = list[str](), os.open, os.mkdir

    def is_below(path: Any, outer: int | None) -> bool:
        folder = Path("/") if outer is None else Path(f"/proc/self/fd/{outer}").readlink()
        return Path(folder, str(path)).is_relative_to(root)

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT and is_below(path, dir_fd):
            seen.append(str(path))
            raise OSError(code, os.strerror(code))
        return really_open(path, flags, mode, dir_fd=dir_fd)

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if is_below(path, dir_fd):
            raise OSError(code, os.strerror(code))
        really_mkdir(path, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "mkdir", mkdir)
    return seen


CODES = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.EMFILE]


@pytest.mark.parametrize("code", CODES, ids=lambda code: errno.errorcode[code])
def test_a_folder_that_cannot_be_written_is_still_read(
    filled: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, filled, code)
    with warns(0):
        assert answer(filled) == 8
    with warns(1, os.strerror(code)):
        assert answer(filled, "multiply") == 15
        cache = open_cache(filled)
        assert cache.is_temporary
        assert all(cache.find("shared", path.parent.name + path.stem, ".so") == path for path in programs(filled))


def test_what_was_open_to_others_is_not_read_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "root")
    path = cache.store("objects", digest("a"), b"x")
    path.parents[2].chmod(0o777)
    with warns(1, "others may write to it"):
        cache.store("objects", digest("b"), b"x")
    path.parents[2].chmod(0o700)
    assert cache.find("objects", digest("a")) is None


def test_a_temporary_folder_that_is_left_is_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that was forked, its parent's folder may be gone."""
    refuse(monkeypatch, tmp_path / "root", errno.EROFS)
    cache = Cache(tmp_path / "root")
    with warns(1):
        first = cache.store("objects", digest("a"), b"x")
        forget()  # as in another process
        refuse(monkeypatch, first.parents[2], errno.ENOENT)
        second = cache.store("objects", digest("a"), b"x")
    assert first.parents[2] != second.parents[2]


def test_no_folder_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed cannot be kept anywhere; what is not needed is not."""
    _ = temporary_folder()
    refuse(monkeypatch, Path("/"), errno.ENOSPC)
    cache = Cache(tmp_path / "x")
    with warns(1), pytest.raises(ToolchainError, match=r"cannot write to the temporary folder .*\n  help: set TMPDIR"):
        cache.store("shared", digest("a"), b"x", ".so")
    cache.keep("artifacts", digest("a"), b"x")


def test_a_full_file_system(tmp_path: Path) -> None:
    """Room for the folders and little else: objects do not fit, then the compiler fails."""
    with mounted(tmp_path, "size=12k,mode=0700"):
        for op, result in (("add", 8), ("subtract", 2)):
            with warns(1, "No space left on device"):
                assert answer(tmp_path / "root", op) == result


def test_a_file_system_that_fills_while_it_is_used(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=8m,mode=0700"):
        with warns(0):
            assert answer(tmp_path / "root") == 8
        with filled_up(tmp_path / "filler"):
            with warns(1, "No space left on device"):
                assert answer(tmp_path / "root", "subtract") == 2
            with warns(0):
                assert answer(tmp_path / "root") == 8  # what is there is read


@contextmanager
def filled_up(path: Path) -> Generator[None]:
    """A file that takes all room that there is."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield
    path.unlink()


def test_a_read_only_file_system(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=8m,mode=0700"):
        answer(tmp_path / "root")
        remounted(tmp_path, "ro")
        with warns(0):
            assert answer(tmp_path / "root") == 8
        with warns(1, "Read-only file system"):
            assert answer(tmp_path / "root", "subtract") == 2
        with warns(1, "Read-only file system"):
            assert answer(tmp_path / "other") == 8


def test_a_file_system_without_execution(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=8m,mode=0700,noexec"), warns(1, "code cannot be loaded from its file system"):
        assert answer(tmp_path / "root") == 8


CHILD = """
import os, resource, sys, warnings
from pathlib import Path
if (user := int(sys.argv[2])) and os.geteuid() == 0:
    os.setgroups([]); os.setgid(user); os.setuid(user)
import numpy as np, shlo_disc.pipeline  # the compiler: with a limit, Python might write half of its bytecode
if limit := int(sys.argv[3]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
options = shlo_disc.CompileOptions(cache_dir=Path(sys.argv[1]), threads=1, optimize=0)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    try:
        run = shlo_disc.compile(TEXT, device="cpu", options=options)
        print("result", float(run(np.float32([5]), np.float32([3]))[0][0]))
    except shlo_disc.ToolchainError as error:
        print("error", str(error).splitlines()[0])
from shlo_disc.runtime.building.temporary import _folders
print("warnings", [x.category.__name__ for x in found], *_folders.values())
"""


def child(root: Path, *, user: int = 0, limit: int = 0, **environment: str) -> list[str]:
    """The lines that another process prints: as another user, or with files of a limited size."""
    code = CHILD.replace("TEXT", repr(ADD.replace("OP", "add")))
    command = [sys.executable, "-c", code, str(root), str(user), str(limit)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_temporary_folder_is_gone_when_the_process_ends() -> None:
    result, told = child(Path("/dev/null/cache"))
    assert result == "result 8.0"
    word, names, folder = told.split(" ")
    assert (word, names) == ("warnings", "['CacheWarning']")
    assert not Path(folder).exists()


def test_files_of_a_limited_size(tmp_path: Path) -> None:
    """Neither folder can have the files: an error, and no crash."""
    result, told = child(tmp_path / "root", limit=2000)
    assert result.startswith("error ")
    assert told.startswith("warnings ['CacheWarning']")
    assert child(tmp_path / "root")[0] == "result 8.0"


@needs_root
def test_a_user_does_not_take_what_another_one_built(open_above: Path) -> None:
    """Not even root's, and cannot write there."""
    for path in (open_above, *open_above.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (path, _) = programs(open_above)
    key = path.parent.name + path.stem
    os.seteuid(SOMEBODY)
    try:
        cache = Cache(open_above)
        with warns(1, "it belongs to user 0"):
            assert cache.find("shared", key, ".so") is None
            stored = cache.store("shared", key, b"x", ".so")
        assert stored.stat().st_uid == SOMEBODY
        assert stored.is_relative_to(temporary_folder())
    finally:
        os.seteuid(0)
    assert Cache(open_above).find("shared", key, ".so") == path


def test_a_folder_that_vanishes_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "root")
    with warns(0):
        for number in range(3):
            cache.store("objects", digest(str(number)), b"x")
            shutil.rmtree(tmp_path / "root")
            assert cache.find("objects", digest(str(number))) is None
        cache.in_workspace(lambda work: work.stat())


def test_a_folder_that_vanishes_in_this_moment_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really, lost = cache_module.write_file, [FileNotFoundError()]

    def write_file(folder: int, name: str, parts: Iterable[bytes]) -> None:
        if lost:
            raise lost.pop()
        really(folder, name, parts)

    monkeypatch.setattr(cache_module, "write_file", write_file)
    with warns(0):
        path = Cache(tmp_path).store("objects", digest("a"), b"x")
    assert path.is_relative_to(tmp_path)


def test_threads_trim_and_store_at_once(tmp_path: Path) -> None:
    """Each has a view of its own, as processes do, and the bound is met all the time."""
    failed = list[BaseException]()

    def work(number: int) -> None:
        try:
            cache = Cache(tmp_path, limit=40_000)
            for turn in range(40):
                key, data = digest(str(turn % 7)), bytes([turn % 7]) * 4000
                cache.store("objects", key, data)
                assert cache.load("objects", key) in (data, None)
                if number == 0 and turn % 5 == 0:
                    shutil.rmtree(tmp_path / "objects" / key[:2], ignore_errors=True)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    with warns(0):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


def test_odd_things_in_the_folder_do_not_stop_trimming(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=3000)
    half = tmp_path / "objects" / "ab"
    (half / "folder").mkdir(parents=True)
    os.mkfifo(half / "pipe")
    (half / "link").symlink_to("/nonexistent")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (half / ".new-0123").write_bytes(b"x")
    os.utime(half / ".new-0123", (0, 0))
    with warns(0):
        for number in range(8):
            cache.store("objects", digest(str(number)), bytes(1000))
    assert len([path for path in entries(tmp_path, "objects") if path.stat().st_size > 1000]) <= 3
    assert not (half / ".new-0123").exists()
