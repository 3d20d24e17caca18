"""Shared objects in this process, and the C types of their arguments."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from _ctypes import dlclose
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.records import record
from shlo_disc.runtime.interpreter import teach
from shlo_disc.runtime.memory import POOL

Words = ctypes.Array[ctypes.c_int64]
Pointers = ctypes.Array[ctypes.c_void_p]
Native = Callable[..., int]


def words(values: Sequence[int]) -> Words:
    """A C array of int64; never empty, so that it always has an address."""
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def pointers(values: Sequence[int]) -> Pointers:
    """A C array of addresses; never empty."""
    return (ctypes.c_void_p * max(1, len(values)))(*values)


class _Size(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_int64), ("axis", ctypes.c_int64), ("value", ctypes.c_int64)]


class _UnbackedSize(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("value", ctypes.c_int64),
    ]


class _Bind(ctypes.Structure):
    """`ShloBind` of runtime.cc."""

    _fields_ = [
        ("object_header", ctypes.c_int64),
        ("tuple_header", ctypes.c_int64),
        ("array_type", ctypes.c_void_p),
        ("arguments", ctypes.c_int64),
        ("places", ctypes.POINTER(ctypes.c_int64)),
        ("dtypes", ctypes.POINTER(ctypes.c_void_p)),
        ("ranks", ctypes.POINTER(ctypes.c_int64)),
        ("results", ctypes.c_int64),
        ("raw_sizes", ctypes.c_int64),
        ("same_sizes", ctypes.c_int64),
        ("fixed_sizes", ctypes.c_int64),
        ("sizes", ctypes.POINTER(_Size)),
        ("read_elements", ctypes.c_int64),
        ("unbacked_sizes", ctypes.POINTER(_UnbackedSize)),
    ]


@record
class Runtime:
    """The thread pool of this process for one number of threads."""

    path: Path | str
    address: int
    threads: int
    library: ctypes.PyDLL  # its functions hold the GIL
    refusal: str | None  # why one call into C cannot serve a call
    bind: Native
    locate: Native
    parallel: Native
    region: Native
    plan_call: Native
    run_call: Native
    run_timed: Native | None  # None in libraries of earlier versions, which program files may hold


@record
class LoadedProgram:
    """The loaded code of one artifact. It is unmapped when nothing refers to `handle` any more.

    A function keeps the code loaded; an address does not, so its user has to keep the program.
    """

    path: Path | str
    handle: ctypes.CDLL

    def function(self, name: str, result: type[ctypes.c_int64] | None = None) -> Native:
        """An exported function. It runs without the GIL; arguments must be ctypes values."""
        found = self.handle[name]
        found.restype = result
        return cast("Native", found)

    def address(self, name: str) -> int:
        """Where an exported function is."""
        return ctypes.cast(self.handle[name], ctypes.c_void_p).value or 0


def open_program(path: Path | str) -> LoadedProgram:
    """Load the code of a program. Raises FileNotFoundError if the cache just dropped it."""
    handle = _open(path, ctypes.CDLL)
    unmapping = weakref.finalize(handle, dlclose, handle._handle)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    unmapping.atexit = False  # other threads may still run the code at exit
    return LoadedProgram(path, handle)


def load_program(data: bytes | memoryview, name: str) -> LoadedProgram:
    """Load the code of a program from memory. Raises `ToolchainError` if it cannot be loaded."""
    descriptor = code_in_memory(data, name)
    try:
        return open_program(code_path(descriptor))
    finally:
        os.close(descriptor)  # the loader has mapped it


def code_in_memory(data: bytes | memoryview, name: str) -> int:
    """The descriptor of a file in memory, which holds a shared object."""
    if not hasattr(os, "memfd_create"):
        raise ToolchainError("found a system without files in memory, expected Linux")
    descriptor = os.memfd_create(name)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return descriptor


def code_path(descriptor: int) -> str:
    """The path of such a file for the loader of libraries, another one in each call.

    The loader knows a library by its path as long as it is loaded, which may be for ever. A descriptor's number comes
    again, so "/." and "//" in the path, which change nothing, stand for the binary digits of the call's number.
    """
    digits = f"{next(_files):b}"
    return f"/proc/self/fd{''.join('/.' if digit == '1' else '//' for digit in digits)}/{descriptor}"


_files = count()


def try_to_load(path: Path) -> None:
    """Load a shared object and unload it. Raises `ToolchainError` if it cannot be loaded."""
    handle = _open(path, ctypes.CDLL)
    close = ctypes.CDLL(None).dlclose
    close(ctypes.c_void_p(handle._handle))  # noqa: SLF001  (ctypes never closes one)  # pyright: ignore[reportPrivateUsage]


# The version of what programs, the thread pool's library and this package expect of each other: device/call/runtime.h,
# the functions that programs and the library export, and what they take. Code of another version is not run.
INTERFACE = 4
# What the thread pool's library exports.
RUNTIME_FUNCTIONS = (
    "shlo_runtime_create",
    "shlo_runtime_after_fork",
    "shlo_bind",
    "shlo_locate",
    "shlo_parallel",
    "shlo_region",
    "shlo_plan_call",
    "shlo_run_call",
)
_lock = threading.Lock()
_libraries: list[tuple[Path | str, ctypes.CDLL, ctypes.PyDLL, str | None]] = []
_runtimes: dict[int, Runtime] = {}


def open_runtime(path: Callable[[], Path | str], threads: int) -> Runtime:
    """The pool of `threads` threads. The library is loaded once, whichever compiler built it."""
    with _lock:
        if not _libraries:
            file = path()
            holding = cast("ctypes.PyDLL", _open(file, ctypes.PyDLL))
            _libraries.append((file, _open(file, ctypes.CDLL), holding, teach(holding)))
            os.register_at_fork(after_in_child=_after_fork)
        file, library, holding, why = _libraries[0]
        library.shlo_poison_memory(ctypes.c_int64(POOL.poisons))
        if threads not in _runtimes:
            library.shlo_runtime_create.restype = ctypes.c_void_p
            address = cast("int | None", library.shlo_runtime_create(ctypes.c_int64(threads)))
            if address is None:
                raise MemoryError(f"no memory for a pool of {threads} threads")
            _runtimes[threads] = Runtime(
                file,
                address,
                threads,
                holding,
                why,
                holding.shlo_bind,
                holding.shlo_locate,
                library.shlo_parallel,
                library.shlo_region,
                _returning_int64(library.shlo_plan_call),
                _returning_int64(library.shlo_run_call),
                _returning_int64(library.shlo_run_timed) if hasattr(library, "shlo_run_timed") else None,
            )
        return _runtimes[threads]


def _returning_int64(function: Any) -> Native:
    function.restype = ctypes.c_int64
    return function


def _after_fork() -> None:
    global _lock  # noqa: PLW0603  (another thread of the parent may have held it)
    _lock = threading.Lock()
    for runtime in _runtimes.values():
        _libraries[0][1].shlo_runtime_after_fork(ctypes.c_void_p(runtime.address))


def _open(path: Path | str, how: type[ctypes.CDLL]) -> ctypes.CDLL:
    try:
        _show_libm()
        return how(str(path))
    except OSError as error:
        if not Path(path).exists():
            raise FileNotFoundError(path) from error
        raise ToolchainError(
            f"cannot load the compiled program: {error}\n"
            "  help: another compiler may work: CompileOptions(compiler=...)"
        ) from error


def _show_libm() -> None:
    """Make the symbols of libm visible to generated code: NumPy has loaded it with local visibility."""
    if os.uname().sysname == "Linux":
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)


class Binder:
    """Reads the arrays of a call in one native step; see `shlo_bind` and `shlo_locate` in runtime.cc.

    A call supplies the arguments that are not `bound`, in their order; `known` are the raw symbols that bound arguments
    fix, by number.
    """

    def __init__(
        self,
        artifact: Artifact,
        dtypes: Sequence[np.dtype[np.generic]],
        bound: Container[int] = (),
        known: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.places = tuple([k for k in range(len(artifact.arguments)) if k not in bound])
        raw, same, fixed = _sizes(artifact, self.places, known)
        every = [*raw, *same, *fixed]
        found = _unbacked_sizes(artifact, dtypes, self.places)
        self._keep = (
            dtypes,
            words(self.places),
            pointers([id(dtypes[k]) for k in self.places]),
            words([len(artifact.arguments[k].shape) for k in self.places]),
            (_Size * max(1, len(every)))(*every),
            (_UnbackedSize * max(1, len(found)))(*found),
        )
        _, places, types, ranks, sizes, unbacked_sizes = self._keep
        self._bind = _Bind(
            object.__basicsize__, tuple.__basicsize__, id(np.ndarray), len(self.places),
            ctypes.cast(places, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(types, ctypes.POINTER(ctypes.c_void_p)),
            ctypes.cast(ranks, ctypes.POINTER(ctypes.c_int64)),
            len(artifact.results), len(raw), len(same), len(fixed), ctypes.cast(sizes, ctypes.POINTER(_Size)),
            len(found), ctypes.cast(unbacked_sizes, ctypes.POINTER(_UnbackedSize)),
        )  # fmt: skip
        self.pointer = ctypes.byref(self._bind)


def _unbacked_sizes(
    artifact: Artifact, dtypes: Sequence[np.dtype[np.generic]], places: Sequence[int]
) -> list[tuple[int, int, int, int]]:
    """Elements of arguments that are raw symbols: (argument, offset in bytes, width, number of the symbol).

    Here and below, arguments are positions among those that a call supplies, whose numbers are `places`.
    """
    found: list[tuple[int, int, int, int]] = []
    for symbol, size in enumerate(artifact.unbacked_sizes, start=len(artifact.raw)):
        dtype = dtypes[size.argument]
        width = -dtype.itemsize if np.issubdtype(dtype, np.signedinteger) else dtype.itemsize
        if size.argument in places:
            place = places.index(size.argument)
            found.append((place, size.element * dtype.itemsize, width, symbol))
    return found


def _sizes(
    artifact: Artifact, places: Sequence[int], known: Mapping[int, int]
) -> tuple[list[tuple[int, int, int]], ...]:
    """Sizes that define a raw symbol, that repeat one, and that are fixed, as (argument, axis, value)."""
    place = {argument: k for k, argument in enumerate(places)}
    number = {name: k for k, name in enumerate(artifact.symbols[: len(artifact.raw)])}
    given = [(i, axis, k) for k, (i, axis) in enumerate(artifact.raw) if k not in known]
    raw = [(place[i], axis, k) for i, axis, k in given if i in place]
    same: list[tuple[int, int, int]] = []
    fixed: list[tuple[int, int, int]] = []
    for i in places:
        for axis, size in enumerate(artifact.arguments[i].shape):
            if isinstance(size, int):
                fixed.append((place[i], axis, size))
            elif (symbol := number[size]) in known:
                fixed.append((place[i], axis, known[symbol]))
            elif artifact.raw[symbol] != (i, axis):
                same.append((place[i], axis, symbol))
    return raw, same, fixed
