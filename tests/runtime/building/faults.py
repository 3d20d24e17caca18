"""Ways in which an entry of the cache, a folder of it, or its file system may be damaged."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

IS_ROOT = os.geteuid() == 0
SOMEBODY = 65534  # another user, if we may give files away
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can give files away, and mount")


def renewed(path: Path, data: bytes) -> None:
    """Another file of this name: pages of the old one may be mapped."""
    path.unlink()
    path.write_bytes(data)
    path.chmod(0o600)


def flipped(at: float) -> Callable[[Path], None]:
    """One bit of a file, at a part of it."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[min(len(data) - 1, int(at * len(data)))] ^= 4
        renewed(path, bytes(data))

    return damage


def cut(count: int) -> Callable[[Path], None]:
    """The end of a file is missing: so many bytes, or half of them."""
    return lambda path: renewed(path, path.read_bytes()[: -count or path.stat().st_size // 2])


def linked(path: Path) -> None:
    """A link to an intact copy."""
    moved = path.with_name("moved")
    path.rename(moved)
    path.symlink_to(moved)


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def listening(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the paths of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


def device(path: Path) -> None:
    path.unlink()
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero: reading it never ends


def folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)
    (path / "inside" / "file").write_bytes(b"x")


def given_away(path: Path) -> None:
    os.chown(path, SOMEBODY, SOMEBODY)


def mode(bits: int) -> Callable[[Path], None]:
    return lambda path: path.chmod(bits)


FILE_FAULTS: dict[str, Callable[[Path], None]] = {
    "flipped at the start": flipped(0),
    "flipped in the middle": flipped(0.5),
    "flipped in the digest": flipped(0.9999),
    "half": cut(0),
    "without its last byte": cut(1),
    "without its digest": cut(32),
    "with more behind it": lambda path: renewed(path, path.read_bytes() + b"\0"),
    "empty": lambda path: renewed(path, b""),
    "garbage": lambda path: renewed(path, os.urandom(4096)),
    "very large": lambda path: os.truncate(path, 1 << 40),
    "a link": linked,
    "a link to nothing": dangling,
    "a pipe": pipe,
    "a socket": listening,
    "a folder": folder,
    "writable by the group": mode(0o660),
    "writable by all": mode(0o606),
    "not readable": mode(0o000),
    **({"of another user": given_away, "a device": device} if IS_ROOT else {}),
}
STILL_FINE = frozenset({"not readable"} if IS_ROOT else set[str]())  # root reads it all the same


def folder_linked(path: Path) -> None:
    moved = path.with_name("moved-folder")
    path.rename(moved)
    path.symlink_to(moved)


def folder_is_a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"x")


def folder_is_a_pipe(path: Path) -> None:
    shutil.rmtree(path)
    os.mkfifo(path)


FOLDER_FAULTS: dict[str, Callable[[Path], None]] = {
    "a link": folder_linked,
    "a file": folder_is_a_file,
    "a pipe": folder_is_a_pipe,
    "writable by the group": mode(0o770),
    "writable by all": mode(0o777),
    **({"of another user": given_away} if IS_ROOT else {}),
}


@contextmanager
def mounted(path: Path, options: str) -> Generator[None]:
    """A file system of its own at a folder. Skips the test where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if not IS_ROOT or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def remounted(path: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(path)], check=True)
