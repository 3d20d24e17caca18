"""Folders and files that no other user can have written.

A user who can write to a folder of machine code decides what this process runs. So a folder is opened by its name in
the one above it, never through a link, and checked when it is open: what was checked is what is used. It must belong to
this user, and no other user may write to it; the same holds for every file. Nothing else is ever read.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # opening a pipe does not block
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ONLY_MINE = 0o700
_NO_FOLDER = frozenset({errno.ELOOP, errno.ENOTDIR})  # for a link, and for a file
_ABOVE = "let only you and the system write to the folders above it"
NEW_FILE = ".new-"  # begins the names of files that are not complete yet


class UnsafeFolderError(OSError):
    """Found a folder or a file that another user may have written, or that cannot be used as one."""

    def __init__(self, why: str, remedy: str = "remove it, or make it yours and writable by nobody else") -> None:
        super().__init__(errno.EPERM, why)
        self.remedy = remedy


@contextmanager
def root_folder(path: Path, *, make: bool = True) -> Generator[int]:
    """A folder anywhere, as a file descriptor; `path` has no links above it.

    With `make`, it and those above it are created for this user alone where they are missing. Raises
    `UnsafeFolderError` if another user may write to it or replace it, and `OSError` if it is missing, or cannot be
    created.
    """
    is_closed = False
    for above in reversed(path.parents):
        if make:
            _make(above)
        is_closed = is_closed or _check_above(above)
    if make:
        _make(path)
    folder = _open_folder(path)
    try:
        yield folder
    finally:
        os.close(folder)


def _make(path: Path) -> None:
    """Make a folder if there is none: `Path.mkdir` would give missing parents the default mode."""
    if not path.is_dir():
        with suppress(
            FileExistsError
        ):  # another process was faster; or it is a file, which is refused when it is opened
            path.mkdir(_ONLY_MINE)
            path.chmod(_ONLY_MINE)  # whatever the umask is


def _check_above(path: Path) -> bool:
    """Refuse a folder in which others can replace one of ours. Returns whether others cannot even enter it.

    It may belong to the system: to user 0, or to the owner of `/`, which is another user in some containers.
    """
    found, me = path.lstat(), os.geteuid()
    if found.st_uid not in (me, 0, Path("/").stat().st_uid):
        raise UnsafeFolderError(f"{path} above it belongs to user {found.st_uid}, expected {me} or the system", _ABOVE)
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise UnsafeFolderError(f"others may write to {path} above it (mode {stat.S_IMODE(found.st_mode):04o})", _ABOVE)
    return found.st_uid == me and not found.st_mode & 0o077


@contextmanager
def inner_folder(outer: int, name: str, *, make: bool) -> Generator[int]:
    """A folder in an open one.

    Raises `FileNotFoundError` if it is missing, `UnsafeFolderError` as `root_folder` does.
    """
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, _ONLY_MINE, dir_fd=outer)
            os.chmod(name, _ONLY_MINE, dir_fd=outer)
    folder = _open_folder(name, outer)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_folder(name: str | Path, outer: int | None = None) -> int:
    try:
        folder = os.open(name, _FOLDER, dir_fd=outer)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            raise UnsafeFolderError("it is a link, or no folder") from error
        raise
    try:
        _check_mine(os.fstat(folder))
    except UnsafeFolderError:
        os.close(folder)
        raise
    return folder


def _check_mine(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise UnsafeFolderError(f"it belongs to user {found.st_uid}, expected {os.geteuid()}")
    if found.st_mode & _OTHERS_WRITE:
        raise UnsafeFolderError(f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})")


def read_file(folder: int, name: str, most: int, *, is_use: bool = True) -> bytes:
    """The bytes of a file of at most `most` bytes. Its time is that of its last use; `is_use`: whether this is one.

    Raises `FileNotFoundError`, or `UnsafeFolderError` if it is no such file, or another user may have written it.
    """
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link, a socket, a file that may not be read
        raise UnsafeFolderError(f"it cannot be opened as a file: {error.strerror}") from error
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeFolderError("it is no file")
        _check_mine(found)
        if found.st_size > most:
            raise UnsafeFolderError(f"it has {found.st_size} bytes, expected at most {most}")
        if is_use:
            with suppress(OSError):  # on a file system that cannot be written
                os.utime(file)
        return opened.read()


def write_file(folder: int, name: str, parts: Iterable[bytes]) -> None:
    """Write a file atomically, in place of whatever has its name."""
    new = NEW_FILE + secrets.token_hex(8)
    file = os.open(new, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as opened:
            os.fchmod(file, 0o600)  # whatever the umask is
            opened.writelines(parts)
        try:
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        except IsADirectoryError:
            discard(folder, name)
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise


def discard(folder: int, name: str) -> None:
    """Remove a file, a link (not its target), or a folder with its contents, if possible."""
    with suppress(OSError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
