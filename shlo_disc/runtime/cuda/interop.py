# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy, JAX and Torch have no types here; nothing untyped leaves this module.
"""Arrays of CuPy, JAX, Torch and NumPy on a GPU: import without a copy, and export to the arguments' library."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, cast

import numpy as np

from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime import dlpack
from shlo_disc.runtime.cuda.cusolver import bind_routine
from shlo_disc.runtime.cuda.device import DeviceArray
from shlo_disc.runtime.cuda.events import Events, EventTimes
from shlo_disc.runtime.cuda.matrices import open_libraries
from shlo_disc.runtime.cuda.to_jax import JaxResults
from shlo_disc.runtime.fourier import Transform
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import Array, as_numpy, kind_of, unreadable

_HOST_DEVICES = frozenset({1, 3})  # DLDeviceType: CPU, CUDA host
_SEEN = 4096  # JAX and CuPy arrays that are remembered
_SHARDINGS = 64  # of JAX, that are known to be this GPU

Library = Literal["cupy", "jax", "torch", "numpy"]


class _ForeignStream:
    """A stream of another library, by CUDA's stream protocol."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, and the stream."""
        return 0, self._pointer


class Interop(EventTimes):
    """Import and export of other libraries' arrays on a GPU."""

    def __init__(self, cupy: Any, number: int) -> None:
        super().__init__(cupy)
        self.number = number
        self._own: type = cupy.ndarray
        self._seen: dict[int, tuple[weakref.ref[Any], DeviceArray]] = {}
        self._shardings: dict[int, object] = {}
        self._events = Events(cupy)
        self._jax_results = JaxResults(cupy, number)
        self.hold = self._events.hold

    def known(self, array: Any) -> DeviceArray | None:
        """The remembered view of an array. CuPy's may change their shape, JAX's (which were ready) may be deleted."""
        seen = self._seen.get(id(array))
        if seen is None or seen[0]() is not array:
            return None
        found = seen[1]
        if isinstance(array, self._own):
            return found if array.shape == found.shape else None
        return None if array.is_deleted() else found

    def import_array(self, array: Any) -> DeviceArray:
        """The memory of an array, ready on the current stream. Never written: JAX's arrays are read-only."""
        if (known := self.known(array)) is not None:
            return known
        if isinstance(array, self._own):
            return self._of_cupy(array)
        if kind_of(array) == "jax":
            return self._of_jax(array)
        if kind_of(array) == "dlpack" and not self._is_on_host(array):
            return self._by_dlpack(array)
        return self._from_host(as_numpy(array))

    def view(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], owner: object) -> Any:
        """View memory as a CuPy array."""
        memory = self.cupy.cuda.UnownedMemory(pointer, math.prod(shape) * dtype.itemsize, owner, self.number)
        return self.cupy.ndarray(shape, dtype, self.cupy.cuda.MemoryPointer(memory, 0))

    def as_array(self, value: object) -> Any:
        """A CuPy array as it is, or one made from anything that CuPy takes."""
        return self.cupy.asarray(value)

    def bind_fft(self, transform: Transform, rank: int) -> Callee:
        """Transforms by cuFFT. Those to real numbers treat the last dimension apart: only that one is symmetric."""
        fft = cast("Any", import_module("cupyx.scipy.fft"))

        def compute(operands: Sequence[Any], results: Sequence[Any]) -> None:
            (x,), (found,) = operands, results
            if not found.size:
                return
            axes = tuple(range(x.ndim - rank, x.ndim))
            match transform:
                case "FFT":
                    found[...] = fft.fftn(x, axes=axes)
                case "IFFT":
                    found[...] = fft.ifftn(x, axes=axes)
                case "RFFT":
                    found[...] = fft.rfftn(x, axes=axes)
                case "IRFFT":
                    inner = fft.ifftn(x, axes=axes[:-1]) if rank > 1 else x
                    found[...] = fft.irfft(inner, found.shape[-1])

        return compute

    def bind_routine(self, routine: Routine) -> Callee:
        """Linear algebra by cuSOLVER and cuBLAS."""
        return bind_routine(open_libraries(self.cupy), routine, self.on_host)

    def on_host(self, callee: Callee) -> Callee:
        """Wrap a callee: operands are copied to the host and results back; both wait for the current stream."""

        def compute(operands: Sequence[Any], results: Sequence[Any]) -> None:
            found = [np.empty(result.shape, result.dtype) for result in results]
            callee([operand.get() for operand in operands], found)
            for result, value in zip(results, found, strict=True):
                result.set(value)

        return compute

    def _remember(self, array: Any, found: DeviceArray) -> None:
        """Cache the view of an array: weights come at every call."""
        if len(self._seen) >= _SEEN:
            self._seen = {}
        self._seen[id(array)] = (weakref.ref(array), DeviceArray(found.pointer, found.shape, found.dtype, None))

    def mirror(
        self, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any], like: tuple[Any, ...] = ()
    ) -> tuple[object, ...]:
        """Run, and return arrays of the library of the arguments.

        Torch: on its current stream, so that both agree on when memory is free. JAX: its results wait for ours by an
        event. If all arguments are NumPy arrays, so are the results; if one is on the GPU, so are the results.
        """
        match library_of(frozenset(map(type, (*arrays, *like) if like else arrays))):
            case "torch":
                torch = cast("Any", import_module("torch"))
                with self._stream(int(torch.cuda.current_stream(self.number).cuda_stream)):
                    return tuple([torch.from_dlpack(result) for result in run(arrays)])
            case "jax":
                return self._jax_results.of(run(arrays), self._events.after_all)
            case "cupy":
                return run(arrays)
            case "numpy":
                return tuple([self.cupy.asnumpy(result) for result in run(arrays)])

    def _stream(self, pointer: int) -> AbstractContextManager[object]:
        streams = self.cupy.cuda.Stream
        found = streams.from_external(_ForeignStream(pointer)) if pointer else streams.null
        return cast("AbstractContextManager[object]", found)

    def _of_cupy(self, array: Any) -> DeviceArray:
        if (number := int(array.data.device_id)) != self.number:
            raise _elsewhere(number, self.number)
        plain = array if array.flags.c_contiguous else self.cupy.ascontiguousarray(array)
        found = DeviceArray(int(plain.data.ptr), plain.shape, _name(plain.dtype), plain)
        if plain is array:
            self._remember(array, found)
        return found

    def _of_jax(self, array: Any) -> DeviceArray:
        """View a JAX array. It is immutable: if it was ready when imported before, its address is valid on any stream.

        At the first import DLPack holds the array until our work is done, so that JAX cannot donate its memory; later
        only the array itself is held.
        """
        sharding = array.sharding
        if self._shardings.get(id(sharding)) is not sharding:
            if self._is_on_host(array):
                return self._from_host(as_numpy(array))
            if len(self._shardings) >= _SHARDINGS:
                self._shardings = {}
            self._shardings[id(sharding)] = sharding
        found = self._by_dlpack(array)
        if isinstance(found.owner, tuple) and array.is_ready():  # its own memory, not a contiguous copy
            self._remember(array, found)
        return found

    def _is_on_host(self, array: Any) -> bool:
        kind, number = array.__dlpack_device__()
        if int(kind) in _HOST_DEVICES:
            return True
        if int(kind) != dlpack.CUDA:
            raise ArgumentTypeError(f"found an array on DLPack device type {int(kind)}, expected one on the GPU (2)")
        if int(number) != self.number:
            raise _elsewhere(int(number), self.number)
        return False

    def _by_dlpack(self, array: Any) -> DeviceArray:
        stream = int(self.cupy.cuda.get_current_stream().ptr) or 1  # DLPack's number for the default stream
        try:
            view = dlpack.read(array, stream)
        except (BufferError, RuntimeError, TypeError) as error:
            raise unreadable(array, error) from error
        if not view.contiguous:
            return self._of_cupy(self.cupy.ascontiguousarray(self.cupy.from_dlpack(array)))
        return DeviceArray(view.pointer, view.shape, view.dtype, (array, view.capsule))

    def _from_host(self, array: Array) -> DeviceArray:
        plain = np.ascontiguousarray(array)
        memory = self.cupy.cuda.alloc(max(plain.nbytes, 1))
        if plain.nbytes:
            memory.copy_from_host_async(ctypes.c_void_p(plain.ctypes.data), plain.nbytes)
        owner = self.cupy.ndarray((plain.nbytes,), np.uint8, memory)
        return DeviceArray(int(memory.ptr), array.shape, str(plain.dtype), owner)


@lru_cache(maxsize=256)
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


@lru_cache(maxsize=256)
def library_of(types: frozenset[type]) -> Library:
    """The library of the results: the first of JAX, Torch, CuPy that an argument belongs to, else NumPy.

    >>> library_of(frozenset({int, np.ndarray}))
    'numpy'
    """
    roots = {kind.__module__.partition(".")[0] for kind in types}
    if "jaxlib" in roots:
        return "jax"
    return "torch" if "torch" in roots else "cupy" if "cupy" in roots else "numpy"


def _elsewhere(found: int, expected: int) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"found an array on GPU {found}, expected one on GPU {expected}, which the program was compiled for"
    )
