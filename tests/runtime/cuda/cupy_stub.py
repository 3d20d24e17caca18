"""What `runtime.cuda` needs of CuPy and of CUDA's driver, in host memory: enough to run its every line without a GPU.

What it says of the real ones is what their documentation says; that they agree is checked on a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.runtime.building.toolchain import find_compiler

Array = NDArray[Any]

_DRIVER = r"""
#include <stddef.h>
#include <stdint.h>
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**);
static Launch hook;
static int copy(char* target, const char* source, size_t n) {
  for (size_t i = 0; i < n; i++) target[i] = source[i];
  return 0;
}
extern "C" {
int64_t stub_streams[4];
int64_t stub_shared[4];  // what each function was allowed
void stub_hook(Launch launch) { hook = launch; }
int cuLaunchKernel(void* f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared,
                   void* stream, void** params, void** extra) {
  stub_streams[0] = (int64_t)stream;
  return hook(f, a, b, c, d, e, g, shared, stream, params, extra);
}
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t n, void*) {
  return copy((char*)target, (char*)source, n);
}
int cuMemcpyDtoHAsync_v2(void* target, uint64_t source, size_t n, void*) {
  return copy((char*)target, (char*)source, n);
}
int cuStreamSynchronize(void*) { return 0; }
int cuMemsetD8Async(uint64_t target, unsigned char byte, size_t n, void*) {
  for (size_t i = 0; i < n; i++) ((char*)target)[i] = byte;
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 4 ? 40 : attribute == 1 ? 1000 : -1;
  return 0;
}
int cuFuncSetAttribute(void* f, int attribute, int value) {
  if (attribute != 8) return 1;
  stub_shared[(int64_t)f & 3] = value;
  return 0;
}
int cuCtxGetCurrent(void** context) { *context = (void*)5; return 0; }
int cuStreamGetCtx(void*, void** context) { return cuCtxGetCurrent(context); }
int cuCtxPushCurrent_v2(void*) { return 0; }
int cuCtxPopCurrent_v2(void** context) { return cuCtxGetCurrent(context); }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasCreate_v2(void** handle) { *handle = (void*)6; return 0; }
int cublasGemmStridedBatchedEx_64() { return 0; }
int cuGetErrorName(int, const char** text) { *text = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0; }
int cuGetErrorString(int, const char** text) { *text = "an illegal memory access was encountered"; return 0; }
}
"""


def build_driver(folder: Path) -> Path:
    """The stub of libcuda.so.1."""
    source, target = folder / "driver.cc", folder / "libcuda-stub.so"
    source.write_text(_DRIVER)
    compiler = find_compiler()
    compiler.compile(source, folder / "driver.o", 0, (folder,))
    compiler.link([folder / "driver.o"], target)
    return target


class MemoryPointer:
    """`cupy.cuda.MemoryPointer`."""

    device_id = 0

    def __init__(self, size: int) -> None:
        self.data = np.full(size, 0xFF, np.uint8)
        self.ptr = self.data.ctypes.data

    def memset_async(self, value: int, size: int) -> None:
        ctypes.memset(self.ptr, value, size)

    def copy_from_host_async(self, source: ctypes.c_void_p, size: int) -> None:
        ctypes.memmove(self.ptr, source.value or 0, size)


class ndarray:  # noqa: N801 - CuPy's name
    """`cupy.ndarray`."""

    def __init__(self, shape: tuple[int, ...], dtype: Any = float, memptr: MemoryPointer | None = None) -> None:
        kind = np.dtype(dtype)
        self.data = memptr or MemoryPointer(int(np.prod(shape)) * kind.itemsize)
        self.view: Array = np.ndarray(shape, kind, self.data.data)
        self.shape, self.dtype, self.size = shape, kind, self.view.size

    @property
    def flags(self) -> SimpleNamespace:
        return SimpleNamespace(c_contiguous=self.view.flags.c_contiguous)

    def __dlpack__(self, *, stream: int | None = None) -> object:
        self.shared_on = stream
        return self.view.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Stream:
    """`cupy.cuda.Stream`."""

    current: list[Stream] = []  # noqa: RUF012 - one for the process
    null: Stream

    def __init__(self, ptr: int = 0, *, non_blocking: bool = False) -> None:
        self.ptr = ptr or (99 if non_blocking else 0)
        self.captured: int | None = None

    @staticmethod
    def from_external(stream: Any) -> Stream:
        version, pointer = stream.__cuda_stream__()
        assert version == 0
        return Stream(pointer)

    def __enter__(self) -> Stream:
        Stream.current.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.current.pop()

    def synchronize(self) -> None:
        pass

    def begin_capture(self) -> None:
        assert self.ptr, "the default stream cannot be captured"
        self.captured = 0

    def end_capture(self) -> SimpleNamespace:
        assert self.captured is not None
        self.captured = None
        return SimpleNamespace(launch=partial(Stream.launched.append, self.ptr))

    launched: list[int] = []  # noqa: RUF012 - one for the process


Stream.null = Stream()


class Event:
    """`cupy.cuda.Event`."""

    finished = False
    made = 0
    recorded: list[tuple[int, int]] = []  # noqa: RUF012 - which event on which stream; one for the process

    def __init__(self, *, disable_timing: bool) -> None:
        assert disable_timing
        Event.made += 1
        self.ptr = 1000 + Event.made

    def record(self) -> None:
        Event.recorded.append((self.ptr, _current().ptr))

    @property
    def done(self) -> bool:
        return Event.finished


class Module:
    """`cupy.cuda.function.Module`: knows the kernels that are named in its machine code."""

    def load(self, cubin: bytes) -> None:
        self.cubin = cubin

    def get_function(self, name: str) -> SimpleNamespace:
        if name.encode() not in self.cubin:
            raise RuntimeError("CUDA_ERROR_NOT_FOUND")
        return SimpleNamespace(ptr=int(name.rpartition("_")[2]) + 1)


class Device:
    """`cupy.cuda.Device`."""

    compute_capability = "90"

    def __init__(self, number: int) -> None:
        self.id = number


class Runtime:
    """`cupy.cuda.runtime`."""

    def __init__(self, attributes: Mapping[int, int]) -> None:
        self.attributes, self.current, self.entered = attributes, 0, 0
        self.waits: list[tuple[int, int]] = []  # which stream for which event

    def getDevice(self) -> int:  # noqa: N802 - CUDA's name
        return self.current

    def streamWaitEvent(self, stream: int, event: int) -> None:  # noqa: N802
        self.waits.append((stream, event))

    def getDeviceProperties(self, number: int) -> dict[str, bytes]:  # noqa: N802
        return {"name": b"Stub GPU", "number": bytes(number)}

    def deviceGetAttribute(self, attribute: int, number: int) -> int:  # noqa: N802
        assert number == 0
        return self.attributes[attribute]

    def free(self, pointer: int) -> None:
        assert pointer == 0
        self.entered += 1


def _current() -> Stream:
    return Stream.current[-1] if Stream.current else Stream.null


def _asnumpy(array: ndarray) -> Array:
    return array.view.copy()


def _ascontiguousarray(array: ndarray) -> ndarray:
    found = ndarray(array.shape, array.dtype)
    found.view[...] = array.view
    return found


def stub_cupy(attributes: Mapping[int, int]) -> Any:
    """A module like CuPy for one GPU of compute capability 9.0."""
    cuda = SimpleNamespace(
        runtime=Runtime(attributes),
        Stream=Stream,
        Event=Event,
        Device=Device,
        alloc=MemoryPointer,
        function=SimpleNamespace(Module=Module),
        get_current_stream=_current,
        device=SimpleNamespace(get_cublas_handle=lambda: 4711),
    )
    return SimpleNamespace(cuda=cuda, ndarray=ndarray, asnumpy=_asnumpy, ascontiguousarray=_ascontiguousarray)
