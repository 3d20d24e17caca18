"""The cache on disk: objects, shared objects and whole artifacts.

An entry is its bytes followed by a SHA-256 of its kind, its key, its length and these bytes: one that is damaged, or
in the place of another, counts as missing. Linkers and the loader go by a file's headers, and ignore what follows.
Entries appear by an atomic rename, so that several processes may write the same one. docs/reference/cache.md lists the
guarantees.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from shlo_disc import codec
from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import CacheWarning, ToolchainError
from shlo_disc.gc_pause import gc_paused
from shlo_disc.runtime.building.folders import (
    UnsafeFolderError,
    discard,
    inner_folder,
    read_file,
    root_folder,
    write_file,
)
from shlo_disc.runtime.building.temporary import TEMPORARY_HELP, check_execution, temporary_folder
from shlo_disc.runtime.building.trimming import trim

_T = TypeVar("_T")
_DIGEST = 32
_FORMAT = "shlo_disc cache 2"
_LIMIT = 2 << 30  # bytes
_SOURCES = (".py", ".h", ".cc", ".cuh")
_PROBE = 1 << 20  # bytes that a folder must have room for, if a compiler failed there
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_HOME = "set HOME, XDG_CACHE_HOME or SHLO_DISC_CACHE to a folder that is there"

PACKAGE = Path(__file__).resolve().parents[2]


def default_root() -> Path:
    """`$SHLO_DISC_CACHE`, else `$XDG_CACHE_HOME/shlo_disc`, else `~/.cache/shlo_disc`."""
    if own := os.environ.get("SHLO_DISC_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "shlo_disc")


def digest(*parts: str | bytes) -> str:
    """A key for `parts`, which depends on their boundaries.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@lru_cache
def package_digest() -> str:
    """A key for the compiler itself: every source file of the package."""
    return sources_digest(PACKAGE)


def sources_digest(folder: Path) -> str:
    """A key for all source files in a folder: their names and bytes.

    Each process that compiles reads 700 of them, for which `Path` would take longer than for the rest.
    """
    root, parts = str(folder), list[str | bytes]()
    paths = [f"{at}/{name}" for at, _, names in os.walk(root) for name in names if name.endswith(_SOURCES)]
    for path in sorted(paths):
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            parts += (path[len(root) :], file.read())
    return digest(*parts)


class Cache:
    """Entries by kind and key under one folder, bounded in size; the least recently used ones are removed.

    A folder that cannot be used causes one `CacheWarning`, and a temporary one replaces it until the process ends. A
    folder that can be read but not written is still read.
    """

    def __init__(self, root: Path | None = None, limit: int = _LIMIT) -> None:
        self._asked = default_root() if root is None else Path(root)
        self.limit = limit
        self._lock = threading.RLock()
        self._own: Path | None = None  # the requested folder, once it is checked
        self._temporary: Path | None = None  # the folder that is written in its place
        self._room = 0  # bytes that may be stored before the folder is measured again

    @property
    def root(self) -> Path:
        """The folder that is written. It is created and checked at the first access."""
        if (found := self._temporary or self._own) is not None:
            return found
        with self._lock:
            if self._own is None and self._temporary is None:
                try:
                    self._own = _prepared(self._asked)
                except (OSError, ValueError) as error:
                    self._leave(None, error)
        return self.root

    @property
    def is_temporary(self) -> bool:
        """Whether a temporary folder replaces the requested one."""
        return self.root == self._temporary

    def find(self, kind: str, key: str, suffix: str = "") -> Path | None:
        """The file of an entry, or None if there is none or it is damaged (then it is removed)."""
        found = self._read((kind, key, suffix))
        return None if found is None else found[0]

    def is_whole(self, kind: str, key: str, suffix: str = "") -> bool:
        """Whether there is an entry; a damaged one is removed. This is no use of it: its turn to be removed stays."""
        return self._read((kind, key, suffix), is_use=False) is not None

    def load(self, kind: str, key: str, suffix: str = "") -> bytes | None:
        """The bytes of an entry, or None."""
        found = self._read((kind, key, suffix))
        return None if found is None else found[1]

    def store(self, kind: str, key: str, data: bytes, suffix: str = "") -> Path:
        """Write an entry, in place of any other with this key. Raises `ToolchainError` if it can be written nowhere."""
        return self._where_it_works(lambda root: self._write(root, (kind, key, suffix), data))

    def keep(self, kind: str, key: str, data: bytes, suffix: str = "") -> None:
        """Do the same for what only later processes need: failure to write it is ignored."""
        with suppress(ToolchainError):  # a warning came before it
            self.store(kind, key, data, suffix)

    def body(self, path: Path) -> bytes:
        """The bytes of an entry by its path, which `find` or `store` returned."""
        return path.read_bytes()[:-_DIGEST]

    def load_artifact(self, key: str) -> Artifact | None:
        """A whole compiled program; None if it is missing or damaged."""
        data = self.load("artifacts", key)
        try:
            with gc_paused():
                return None if data is None else codec.decode(Artifact, data)
        except codec.DamagedError:
            return None

    def store_artifact(self, key: str, artifact: Artifact) -> None:
        """Keep a compiled program; `key` names its text, the options and `package_digest()`."""
        with suppress(RecursionError):  # nested too deeply to be read again: it is compiled each time
            self.keep("artifacts", key, codec.encode(Artifact, artifact))

    def in_workspace(self, build: Callable[[Path], _T]) -> _T:
        """Return what `build` makes in a fresh folder, on the file system of the entries.

        If that has no room, it is called again with a folder elsewhere.
        """

        def attempt(root: Path) -> _T:
            with _inside(root, "work"):
                workspace = TemporaryDirectory(dir=root / "work", ignore_cleanup_errors=True)
            with workspace as name:
                try:
                    return build(Path(name))
                except ToolchainError:
                    _check_room(Path(name))  # compilers do not distinguish a full disk from other errors
                    raise

        return self._where_it_works(attempt)

    def _where_it_works(self, action: Callable[[Path], _T]) -> _T:
        """Run an action in the folder that is written, or in the one that replaces it."""
        was_removed = False
        while True:
            root = self.root
            try:
                return action(root)
            except FileNotFoundError as error:  # another process may just have removed it
                if was_removed:
                    self._leave(root, error)
                was_removed = True
            except OSError as error:
                self._leave(root, error)

    def _leave(self, root: Path | None, error: Exception) -> None:
        """Write to a temporary folder from now on, and warn once."""
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        with self._lock:
            if root not in (None, self._temporary or self._own):
                return  # another thread has replaced it
            temporary = temporary_folder()
            if root == temporary:
                raise ToolchainError(
                    f"cannot write to the temporary folder {root}: {reason}\n  help: {TEMPORARY_HELP}"
                ) from error
            is_first, self._temporary, self._room = self._temporary is None, temporary, 0
            if isinstance(error, UnsafeFolderError):
                self._own = None  # it is not read either: others may have written to it
        if is_first:
            warnings.warn(
                f"the cache folder {self._asked} cannot be used: {reason}\n"
                f"  what is compiled is kept in {temporary} until this process ends\n"
                f"  help: {_remedy(error)}, or name another folder: CompileOptions(cache_dir=...)",
                CacheWarning,
                stacklevel=2,
            )

    def _write(self, root: Path, name: tuple[str, str, str], data: bytes) -> Path:
        kind, key, suffix = name
        file = f"{key[2:]}{suffix}"
        with _inside(root, kind, key[:2]) as folder:
            write_file(folder, file, (data, _seal(name, data)))
        self._room -= len(data)
        if self._room <= 0:
            self._room = trim(root, self.limit)
        return root / kind / key[:2] / file

    def _read(self, name: tuple[str, str, str], *, is_use: bool = True) -> tuple[Path, bytes] | None:
        kind, key, suffix = name
        file = f"{key[2:]}{suffix}"
        for root in filter(None, dict.fromkeys((self.root, self._own))):
            with suppress(OSError), _inside(root, kind, key[:2], make=False) as folder:
                try:
                    data = read_file(folder, file, self.limit, is_use=is_use)
                except UnsafeFolderError:
                    data = b""
                body = data[:-_DIGEST]
                if data[-_DIGEST:] == _seal(name, body):
                    return root / kind / key[:2] / file, body
                discard(folder, file)
        return None


def _prepared(asked: Path) -> Path:
    """The folder that a user requests, created and checked.

    Links above it are resolved here, once: later changes of them have no effect.
    """
    try:
        if asked.parts[:1] == ("~",) and not Path.home().is_dir():
            raise UnsafeFolderError(f"there is no home folder {Path.home()}", _HOME)
        path = asked.expanduser().absolute()
    except RuntimeError as error:
        raise UnsafeFolderError("no home folder is known", _HOME) from error
    path = Path(os.path.realpath(path.parent), path.name)
    with root_folder(path) as folder:
        check_execution(folder)
    return path


def _check_room(folder: Path) -> None:
    """Raise `OSError` if not even a small file can be written."""
    with (folder / "room").open("wb") as file:
        file.write(bytes(_PROBE))


def _remedy(error: Exception) -> str:
    """How to make a folder usable."""
    match error:
        case UnsafeFolderError():
            return error.remedy
        case OSError() if error.errno in _NO_ROOM:
            return "make room on its file system"
        case _:
            return "make it a folder that you can write to"


def _seal(name: tuple[str, str, str], body: bytes) -> bytes:
    """The trailer of an entry: a digest of its place and of its bytes."""
    state = hashlib.sha256(digest(_FORMAT, *name, str(len(body))).encode())
    state.update(body)
    return state.digest()


@contextmanager
def _inside(root: Path, *names: str, make: bool = True) -> Generator[int]:
    """Open a folder of the cache. One that another user may have written, or that is no folder, is removed first."""
    with ExitStack() as stack:
        folder = stack.enter_context(root_folder(root, make=make))
        for name in names:
            try:
                folder = stack.enter_context(inner_folder(folder, name, make=make))
            except UnsafeFolderError:
                discard(folder, name)
                folder = stack.enter_context(inner_folder(folder, name, make=make))
        yield folder


def open_cache(root: Path | None = None) -> Cache:
    """The cache of a folder, one per process, so that a large folder is measured once, not at every compilation."""
    return _opened(default_root() if root is None else Path(root))


@lru_cache
def _opened(root: Path) -> Cache:
    return Cache(root)
