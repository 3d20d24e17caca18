"""What was built once, on disk: objects, shared objects and whole artifacts.

An entry is its bytes followed by their SHA-256; linkers and the loader go by a file's headers, and
ignore what follows. Entries appear by an atomic rename: several processes may write the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import cast

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ToolchainError

_DIGEST = 32
_LIMIT = 2 << 30  # bytes
_ABANDONED = 86400.0  # seconds
_KEEP = 0.8  # of the limit, when it was exceeded

PACKAGE = Path(__file__).resolve().parents[1]


def default_root() -> Path:
    """`$XDG_CACHE_HOME/shlo_disc`, or `~/.cache/shlo_disc`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "shlo_disc"


def digest(*parts: str | bytes) -> str:
    """A key for `parts`; where one ends and the next begins matters.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@lru_cache
def package_digest() -> str:
    """A key for the compiler itself: every source file of the package."""
    files = sorted(p for p in PACKAGE.rglob("*") if p.suffix in {".py", ".h", ".cc", ".cuh"})
    parts = [part for p in files for part in (str(p.relative_to(PACKAGE)), p.read_bytes())]
    return digest(*parts)


class Cache:
    """Entries by kind and key under one folder, bounded in size; those used last are kept."""

    def __init__(self, root: Path | None = None, limit: int = _LIMIT) -> None:
        self.root = (default_root() if root is None else Path(root)).expanduser().absolute()
        self.limit = limit
        self._room = 0  # bytes that may be stored before the folder is measured again

    def find(self, kind: str, key: str, suffix: str = "") -> Path | None:
        """The file of an entry, or None if there is none or it is damaged (then it is removed)."""
        path = self._path(kind, key, suffix)
        return None if self._read(path) is None else path

    def load(self, kind: str, key: str) -> bytes | None:
        """The bytes of an entry, or None."""
        return self._read(self._path(kind, key, ""))

    def store(self, kind: str, key: str, data: bytes, suffix: str = "") -> Path:
        """Write an entry, in place of any other with this key."""
        path = self._path(kind, key, suffix)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.write(hashlib.sha256(data).digest())
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise ToolchainError(
                f"cannot write the cache {self.root}: {error}\n"
                "  help: name a folder that can be written with CompileOptions(cache_dir=...)"
            ) from error
        self._room -= len(data)
        if self._room <= 0:
            self._trim()
        return path

    def load_artifact(self, key: str) -> Artifact | None:
        """A whole compiled program, if it was stored whole."""
        data = self.load("artifacts", key)
        return None if data is None else cast("Artifact", pickle.loads(data))

    def store_artifact(self, key: str, artifact: Artifact) -> None:
        """Keep a compiled program; `key` names its text, the options and `package_digest()`."""
        self.store("artifacts", key, pickle.dumps(artifact, pickle.HIGHEST_PROTOCOL))

    def workspace(self) -> tempfile.TemporaryDirectory[str]:
        """A fresh folder to build in, on the same file system as the entries."""
        try:
            (self.root / "work").mkdir(parents=True, exist_ok=True, mode=0o700)
            return tempfile.TemporaryDirectory(dir=self.root / "work")
        except OSError as error:
            raise ToolchainError(
                f"cannot write the cache {self.root}: {error}\n"
                "  help: name a folder that can be written with CompileOptions(cache_dir=...)"
            ) from error

    def _path(self, kind: str, key: str, suffix: str) -> Path:
        return self.root / kind / key[:2] / f"{key[2:]}{suffix}"

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        body, stored = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(body).digest() != stored:
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):  # another process may have removed it, or own it
            os.utime(path)
        return body

    def _trim(self) -> None:
        """Remove the entries that were used longest ago, if all together are too large."""
        entries: list[tuple[float, int, Path]] = []
        for path in self.root.glob("*/??/*"):
            with contextlib.suppress(OSError):
                stat = path.stat()
                entries.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total > self.limit:
            for _, size, path in sorted(entries):
                path.unlink(missing_ok=True)
                total -= size
                if total <= self.limit * _KEEP:
                    break
        for left in self.root.glob("work/*"):  # by a process that was killed while it built
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(left, ignore_errors=True)
        self._room = max(self.limit - total, self.limit // 16)


def open_cache(root: Path | None = None) -> Cache:
    """The cache of a folder, one per process: measuring a large folder is work to do once, not at every compilation."""
    return _opened(default_root() if root is None else Path(root))


@lru_cache
def _opened(root: Path) -> Cache:
    return Cache(root)
