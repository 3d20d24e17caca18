"""Keep the cache within its limit: the least recently used entries are removed first."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shlo_disc.runtime.building.folders import NEW_FILE

_KEEP = 0.8  # share of the limit that remains after it was exceeded
_ABANDONED = 86400.0  # seconds


def trim(root: Path, limit: int) -> int:
    """Remove entries if their total exceeds `limit` bytes, and what killed processes left.

    Other processes may remove the same ones. Returns how many bytes may be stored before the next trim.
    """
    entries = list[tuple[float, int, str]]()
    for _, _, entry, found in entries_in(root):
        if entry.name.startswith(NEW_FILE) and _is_abandoned(found):
            with suppress(OSError):
                Path(entry.path).unlink()
        else:
            entries.append((found.st_mtime, found.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    if total > limit:
        for _, size, path in sorted(entries):
            with suppress(OSError):
                Path(path).unlink()
            total -= size
            if total <= limit * _KEEP:
                break
    for left in _folders(root / "work"):  # by a process that was killed while it built
        with suppress(OSError):
            if _is_abandoned(left.stat(follow_symlinks=False)):
                shutil.rmtree(left.path, ignore_errors=True)
    return max(limit - total, limit // 16)


def entries_in(root: Path) -> Iterator[tuple[str, str, os.DirEntry[str], os.stat_result]]:
    """The files of all entries: the kind, the beginning of the key, the file, and what the system knows of it."""
    for kind in _folders(root):
        if kind.name == "work":
            continue
        for half in _folders(kind.path):
            for entry in _listed(half.path):
                with suppress(OSError):
                    yield kind.name, half.name, entry, entry.stat(follow_symlinks=False)


def _is_abandoned(stat: os.stat_result) -> bool:
    return time.time() - stat.st_mtime > _ABANDONED


def _listed(path: str | Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as entries:
        yield from entries


def _folders(path: str | Path) -> Iterator[os.DirEntry[str]]:
    """The folders in a folder, without links."""
    return (entry for entry in _listed(path) if entry.is_dir(follow_symlinks=False))
