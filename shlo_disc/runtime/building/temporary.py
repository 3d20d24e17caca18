"""The folder that replaces a cache folder that cannot be used; it is removed when the process ends."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.building.folders import UnsafeFolderError, root_folder

TEMPORARY_HELP = "set TMPDIR to a folder with room, on a file system that is not mounted noexec"
_NEEDED = 16 << 20  # bytes: room for some programs
_OTHERS = ("/var/tmp", "/dev/shm")  # where there may be room if the usual folder has none
_NO_EXECUTION = getattr(os, "ST_NOEXEC", 0)

_lock = threading.Lock()
_folders: dict[int, Path] = {}  # by process: a forked one must not use what its parent removes


def check_execution(folder: int) -> None:
    """Raise `UnsafeFolderError` for an open folder whose files cannot be mapped as code."""
    if os.fstatvfs(folder).f_flag & _NO_EXECUTION:
        raise UnsafeFolderError("code cannot be loaded from its file system", "mount that without noexec")


def temporary_folder() -> Path:
    """A folder that this process alone uses, the same one each time. Raises `ToolchainError` if there can be none."""
    with _lock:
        if (found := _folders.get(os.getpid())) is None:
            found = _folders[os.getpid()] = _new_folder()
            atexit.register(_remove, found, os.getpid())
        return found


def _new_folder() -> Path:
    reasons = list[str]()
    for base in dict.fromkeys((*_usual(), *_OTHERS)):
        try:
            path = Path(os.path.realpath(tempfile.mkdtemp(prefix="shlo_disc-", dir=base)))
        except OSError as error:
            reasons.append(f"{base}: {error.strerror}")
            continue
        try:
            with root_folder(path) as folder:
                check_execution(folder)
                free = os.fstatvfs(folder)
                if free.f_bavail * free.f_frsize >= _NEEDED:
                    return path
                reasons.append(f"{base}: less than {_NEEDED >> 20} MiB are free")
        except OSError as error:
            reasons.append(f"{base}: {error.strerror}")
        _remove(path, os.getpid())
    raise ToolchainError(f"no temporary folder can be used: {'; '.join(reasons)}\n  help: {TEMPORARY_HELP}")


def _usual() -> tuple[str, ...]:
    """The folder of temporary files; none if none of the usual ones can be written."""
    with suppress(FileNotFoundError):
        return (tempfile.gettempdir(),)
    return ()


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a process that was forked since
        shutil.rmtree(path, ignore_errors=True)
