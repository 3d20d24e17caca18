# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""XLA on a GPU that is not there: JAX lowers a function, and gpu_of_xla.cc calls the handler of its custom call."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, c_char, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from shlo_disc.device import headers
from shlo_disc.runtime.xla.library import open_library
from shlo_disc.runtime.xla.platform import XlaProgram
from tests.emulator.device import EmulatedArray, EmulatedDevice, emulator_function, emulator_library

Array = NDArray[Any]
SOURCE = Path(__file__).with_name("gpu_of_xla.cc")
TYPES = {"float32": 11, "int32": 4, "float16": 10}  # XLA_FFI_DataType
NO_MEMORY, INTERNAL, OTHER_GPU = 8, 13, 9  # XLA_FFI_Error_Code
_FOLDER = tempfile.TemporaryDirectory()  # removed when the process ends
_CALL = re.compile(r"custom_call @shlo_disc_run\(.*?call = (\d+) : i64.*?process = (\d+) : i64", re.DOTALL)


class RefusalError(Exception):
    """The error that a handler returned."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Buffer(ctypes.Structure):
    """`GpuBuffer` of gpu_of_xla.cc."""

    _fields_ = [("dtype", c_int64), ("rank", c_int64), ("dims", POINTER(c_int64)), ("data", c_void_p)]


class Stream(ctypes.Structure):
    """`GpuStream` of gpu_of_xla.cc."""

    _fields_ = [
        ("stream", c_void_p), ("commands", c_int64), ("elsewhere", c_int64), ("outside", c_int64),
        ("allocations", c_int64), ("bytes", c_int64), ("in_use", c_int64), ("fails_at", c_int64), ("code", c_int64),
        ("has_no_memory", c_int64), ("cublas", c_void_p), ("state", c_void_p), ("answer", c_int64),
        ("message", c_char * 600),
    ]  # fmt: skip


@cache
def _stand_in(*, holds_lock: bool = False) -> ctypes.CDLL:
    """The compiled stand-in. `holds_lock`: its functions keep Python's lock while they run."""
    if holds_lock:
        return ctypes.PyDLL(_stand_in()._name)  # noqa: SLF001  (the path)
    emulator_library()  # it calls the emulator
    folder = Path(_FOLDER.name)
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    (folder / "gpu.cc").write_text(f"{header}\n{SOURCE.read_text()}")
    flags = ["-O1", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", f"-I{headers.ROOT}"]
    subprocess.run(["g++", *flags, str(folder / "gpu.cc"), "-o", str(folder / "gpu.so"), "-lpthread"], check=True)
    return ctypes.CDLL(str(folder / "gpu.so"))


class GpuOfXla:
    """An emulated GPU whose stream and memory are XLA's in calls inside of traced functions."""

    def __init__(self) -> None:
        self.device = EmulatedDevice()
        self.code = _stand_in()
        self.code.gpu_errors.restype = c_int64
        self.code.gpu_watch(ctypes.byref(self.device.xla_driver()))

    def stream(self) -> Stream:
        """A stream of XLA, which is none of the device's own."""
        settings = ctypes.c_void_p(self.device.stream)  # a stream begins with its settings
        return Stream(stream=emulator_function("emu_stream", c_void_p)(settings), fails_at=-1)

    def executable(self, program: XlaProgram, function: Callable[..., Any], *like: Any) -> Executable:
        """Compile a function that is one call of a program, as XLA would."""
        return Executable(self, program, function, like)


class Executable:
    """What XLA makes of a function that JAX has lowered: one custom call, with the function's arguments and results."""

    def __init__(self, gpu: GpuOfXla, program: XlaProgram, function: Callable[..., Any], like: Sequence[Any]) -> None:
        self._gpu = gpu
        self.lowered = jax.jit(function).trace(*like).lower(lowering_platforms=("cuda",))
        self.text: str = self.lowered.as_text()
        ((number, process),) = _CALL.findall(self.text)
        self.results = jax.tree.leaves(self.lowered.out_info)
        self.handle = open_library(program).handle
        self.stream = self._loaded(int(number), int(process))
        self._names = int(number), int(process)

    def _loaded(self, number: int, process: int) -> Stream:
        stream = self._gpu.stream()
        instantiate = ctypes.cast(self.handle.shlo_xla_instantiate, c_void_p)
        self._gpu.code.gpu_load(instantiate, ctypes.byref(stream), c_int64(number), c_int64(process))
        _raise(stream)
        return stream

    def __call__(self, *arrays: Array, stored: Mapping[int, int] | None = None, offset: int = 0) -> list[Array]:
        """Run it. `stored`: results in the memory of arguments, by number; `offset`: where each argument begins."""
        given = [self._gpu.device.array(array, offset) for array in arrays]
        results = [
            given[stored[k]] if stored is not None and k in stored else self._fresh(one)
            for k, one in enumerate(self.results)
        ]
        execute = ctypes.cast(self.handle.shlo_xla_execute, c_void_p)
        self._gpu.code.gpu_execute(
            execute, ctypes.byref(self.stream), _buffers(given), c_int64(len(given)), _buffers(results),
            c_int64(len(results)),
        )  # fmt: skip
        assert self._gpu.code.gpu_errors() == 0, "an error of XLA is left"
        _raise(self.stream)
        if stored is None:
            for array, one in zip(arrays, given, strict=True):
                np.testing.assert_array_equal(one.numpy(), array, "XLA's arguments stay as they are")
        return [result.numpy() for result in results]

    def at_once(self, calls: Sequence[Sequence[Array]], rounds: int) -> tuple[list[list[Array]], list[Stream]]:
        """Run it in several threads, each with a stream, while this thread keeps Python's lock."""
        streams = (Stream * len(calls))(*[self._loaded(*self._names) for _ in calls])
        given = [self._gpu.device.array(array) for call in calls for array in call]
        results = [self._fresh(one) for _ in calls for one in self.results]
        run = _stand_in(holds_lock=True).gpu_execute_at_once
        run.restype = c_int64
        ended = run(
            ctypes.cast(self.handle.shlo_xla_execute, c_void_p), streams, c_int64(len(calls)), c_int64(rounds),
            _buffers(given), c_int64(len(calls[0])), _buffers(results), c_int64(len(self.results)),
        )  # fmt: skip
        assert ended == len(calls), "a thread waits for Python's lock"
        for stream in streams:
            _raise(stream)
            self.handle.shlo_xla_release(c_void_p(stream.state))
        found, count = [result.numpy() for result in results], len(self.results)
        return [found[k * count : (k + 1) * count] for k in range(len(calls))], list(streams)

    def close(self) -> None:
        """Destroy it, as XLA does."""
        self.handle.shlo_xla_release(c_void_p(self.stream.state))

    def _fresh(self, like: Any) -> EmulatedArray:
        """A result before the call: NaNs."""
        return self._gpu.device.array(np.full(like.shape, -1, like.dtype))


def _buffers(arrays: Sequence[EmulatedArray]) -> ctypes.Array[_Buffer]:
    found = [
        _Buffer(TYPES[one.dtype], len(one.shape), (c_int64 * max(1, len(one.shape)))(*one.shape), one.pointer)
        for one in arrays
    ]
    return (_Buffer * max(1, len(found)))(*found)


def _raise(stream: Stream) -> None:
    if stream.answer:
        raise RefusalError(stream.answer, stream.message.decode())
