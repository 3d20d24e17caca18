# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# JAX has no types here; nothing untyped leaves this module.
"""The libraries of what XLA calls, one for each platform, and the programs in them: see device/call/xla_calls.h.

An executable of XLA names a program by a number, and by a random number of this process: an address would be wrong in
another one. A program at fixed sizes stays loaded as long as a module that JAX lowered, or an executable of XLA, calls
it.
"""

from __future__ import annotations

import ctypes
import math
import secrets
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.library import words
from shlo_disc.runtime.memory import POOL
from shlo_disc.runtime.xla.platform import XlaPlatform, XlaProgram
from shlo_disc.runtime.xla.programs import brought

TARGET = "shlo_disc_run"  # XLA's name of the handlers, on every platform

_DTYPES = {  # XLA_FFI_DataType of what has one byte or more per element, and of bool
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16, "complex128": 18,
    "float8_e5m2": 19, "float8_e4m3fn": 20, "float8_e4m3b11fnuz": 23, "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25,
    "float8_e4m3": 28, "float8_e3m4": 29, "float8_e8m0fnu": 33,
}  # fmt: skip
# XLA packs several of these into a byte; programs take one byte for each, and so does what XLA converts them to.
WIDENED = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}


class _Type(ctypes.Structure):
    """`ShloXlaType` of xla_calls.h."""

    _fields_ = [("dtype", c_int64), ("rank", c_int64), ("dims", POINTER(c_int64)), ("bytes", c_int64)]


class _DonatedBuffer(ctypes.Structure):
    """`ShloXlaDonation` of xla_calls.h."""

    _fields_ = [("given", c_int64), ("argument", c_int64), ("result", c_int64)]


class _Call(ctypes.Structure):
    """`ShloXlaCall` of xla_calls.h."""

    _fields_ = [
        ("next", c_void_p),
        ("number", c_int64),
        ("references", c_int64),
        ("given", c_int64),
        ("results", c_int64),
        ("types", POINTER(_Type)),
        ("places", POINTER(c_int64)),
        ("arguments", c_int64),
        ("addresses", POINTER(c_void_p)),
        ("donations", c_int64),
        ("donated", POINTER(_DonatedBuffer)),
        ("constants", POINTER(c_void_p)),
        ("symbols", POINTER(c_int64)),
        ("arena_bytes", c_int64),
        ("program", c_void_p),
    ]
    kept: tuple[object, ...]  # other objects that have to stay alive


class Lease:
    """Keeps a program at fixed sizes loaded; `number` and `process` name it to XLA."""

    def __init__(self, number: int, process: int) -> None:
        self.number = number
        self.process = process


@record
class _Key:
    """A program, by the id of an executable that is alive, and the shapes of its arguments."""

    executable: int
    shapes: tuple[tuple[int, ...], ...]


class XlaLibrary:
    """The loaded library of a platform. All functions may be called from several threads at once."""

    def __init__(self, platform: XlaPlatform, path: Path) -> None:
        self.platform = platform
        self.handle = ctypes.CDLL(str(path))
        self.process = secrets.randbits(63)
        self._lock = threading.Lock()
        self._calls: dict[_Key, _Call] = {}
        self._made = 0
        self.handle.shlo_xla_begin(c_int64(self.process), c_int64(POOL.poisons))
        self.handle.shlo_xla_remove.restype = c_int64
        self._register()

    def lease(self, executable: Executable, shapes: tuple[tuple[int, ...], ...]) -> Lease:
        """A program at these shapes of its arguments, as XLA runs it. Shapes are those of a plan that was made."""
        key = _Key(id(executable), shapes)
        with self._lock:
            self._drop_unused()
            call = self._calls.get(key)
            if call is None:
                self._made += 1
                call = self._calls[key] = _new_call(self._made, executable, shapes)
                _count(call, "Py_IncRef")  # XLA may release it after Python has cleared this module at exit
                self.handle.shlo_xla_add(ctypes.byref(call))
            else:
                self.handle.shlo_xla_hold(ctypes.byref(call))
        lease = Lease(call.number, self.process)
        weakref.finalize(lease, self._release, call).atexit = False
        return lease

    @contextmanager
    def default_float_mode(self) -> Generator[None]:
        """Keep subnormal numbers, which XLA lets the threads that it runs flush to zero. For calls of Python alone."""
        self.handle.shlo_xla_default_float_mode.restype = c_int64
        mode = self.handle.shlo_xla_default_float_mode()
        try:
            yield
        finally:
            self.handle.shlo_xla_restore_float_mode(c_int64(mode))

    @property
    def loaded(self) -> int:
        """How many programs at fixed sizes are loaded, once those that nothing refers to are dropped."""
        with self._lock:
            self._drop_unused()
            return len(self._calls)

    def _release(self, call: _Call) -> None:
        self.handle.shlo_xla_release(ctypes.byref(call))
        # Not waited for: the garbage collector may run this in a thread that holds the lock.
        if self._lock.acquire(blocking=False):
            try:
                self._drop_unused()
            finally:
                self._lock.release()

    def _drop_unused(self) -> None:
        """Drop what no module and no executable refers to. XLA cannot tell Python when it destroys an executable."""
        for key in [key for key, call in self._calls.items() if self.handle.shlo_xla_remove(ctypes.byref(call))]:
            _count(self._calls.pop(key), "Py_DecRef")

    def _register(self) -> None:
        """Name the handlers to XLA."""
        import jax  # noqa: PLC0415

        platform = self.platform.registry
        capsule = cast("Callable[[Any], Any]", jax.ffi.pycapsule)
        for place in (self.handle.shlo_xla_state_type, self.handle.shlo_xla_state_info):
            place.restype = c_void_p
        state = {
            "type_id": capsule(c_void_p(self.handle.shlo_xla_state_type())),
            "type_info": capsule(c_void_p(self.handle.shlo_xla_state_info())),
        }
        jax.ffi.register_ffi_type("shlo_disc_call", cast("Any", state), platform=platform)
        stages = {
            "instantiate": capsule(self.handle.shlo_xla_instantiate),
            "execute": capsule(self.handle.shlo_xla_execute),
        }
        jax.ffi.register_ffi_target(TARGET, stages, platform=platform)


_lock = threading.Lock()
_libraries: dict[XlaPlatform, XlaLibrary] = {}


def open_library(program: XlaProgram) -> XlaLibrary:
    """The library of this process for the platform of a program. It is loaded once, whichever compiler built it."""
    with _lock:
        found = _libraries.get(program.platform)
        if found is None:
            found = _libraries[program.platform] = XlaLibrary(program.platform, program.handlers(xla_interface()))
        return found


@cache
def xla_interface() -> str:
    """The text of XLA's header, which jaxlib brings."""
    import jax  # noqa: PLC0415

    return (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()


def unsupported(artifact: Artifact) -> str | None:
    """The name of a dtype of an argument or a result that XLA stores in another way; None if there is none."""
    every = (*artifact.arguments, *artifact.results)
    return next((one.dtype for one in every if WIDENED.get(one.dtype, one.dtype) not in _DTYPES), None)


def _new_call(number: int, executable: Executable, shapes: Sequence[tuple[int, ...]]) -> _Call:
    artifact, sized = executable.artifact, executable.for_xla.at(shapes)
    places = brought(executable)
    names = [*[artifact.arguments[k].dtype for k in places], *[result.dtype for result in artifact.results]]
    types = [_type(*one) for one in zip(names, (*shapes, *sized.shapes), strict=True)]
    donated = [
        _DonatedBuffer(places.index(one.argument), one.argument, -1 if one.result is None else one.result)
        for one in artifact.donations
    ]
    call = _Call(
        None, number, 0, len(places), len(artifact.results), (_Type * max(1, len(types)))(*types), words(places),
        len(sized.addresses), sized.addresses, len(donated), (_DonatedBuffer * max(1, len(donated)))(*donated),
        sized.constants, sized.symbols, sized.arena_bytes, ctypes.addressof(sized.program),
    )  # fmt: skip
    call.kept = (executable, sized)
    return call


def _count(call: _Call, function: Literal["Py_IncRef", "Py_DecRef"]) -> None:
    """Change the number of references to an object."""
    getattr(ctypes.pythonapi, function)(ctypes.py_object(call))


def _type(name: str, shape: tuple[int, ...]) -> _Type:
    bytes_ = math.prod(shape) * dtype_of(name).itemsize
    return _Type(_DTYPES[WIDENED.get(name, name)], len(shape), words(shape), bytes_)
