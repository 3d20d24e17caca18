"""A GPU that is not there: `shlo_disc.runtime.cuda.device.Device` on the emulator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import SourceFile
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime.cuda.device import DeviceArray, IndexType, Limits, LoadedKernel
from shlo_disc.runtime.cuda.table import CUBLAS_ERROR, Table, XlaDriver
from shlo_disc.runtime.interop import as_numpy, dtype_of
from tests.emulator import toolchain
from tests.runtime.cuda.host_memory import HostMemoryDevice

Array: TypeAlias = NDArray[Any]
Schedule = Literal["fifo", "lifo", "random"]
SCHEDULES: Mapping[Schedule, int] = {"fifo": 0, "lifo": 1, "random": 2}

H200 = Limits(
    multiprocessors=132, threads=2048, blocks=32, registers=65536, shared=228 << 10, shared_per_block=227 << 10
)
REGISTERS = 40  # per thread, for want of a real compiler's number
SECONDS = 60.0  # of CPU time that one launch may take
_CUDA = 2  # DLDeviceType
_TABLE = ("launch", "copy", "read", "synchronize", "fill", "gemm", "set_stream")  # the fields of `Table`
_CONTEXT = ("stream_context", "enter", "leave", "error_name", "error_text")  # and of `XlaDriver`


class Settings(ctypes.Structure):
    """`EmuSettings` of emulator.h."""

    _fields_ = [
        ("schedule", ctypes.c_int),
        ("ordered", ctypes.c_int),
        ("seed", ctypes.c_uint64),
        ("skipped", ctypes.c_uint64),
        ("seconds", ctypes.c_double),
        ("most_blocks", ctypes.c_uint),
    ]


class EmulatorError(Exception):
    """What the emulator found wrong with a kernel, or with how it was launched."""


@cache
def emulator_library() -> ctypes.CDLL:
    return ctypes.CDLL(str(toolchain.runtime()), ctypes.RTLD_GLOBAL)


@cache
def emulator_function(name: str, result: Any = ctypes.c_int) -> Callable[..., Any]:
    """A function of emulator.cc or driver.cc."""
    found = emulator_library()[name]
    found.restype = result
    return found


class EmulatedMemory:
    """Bytes of the emulated GPU: full of NaNs at first, guarded on both sides."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pointer: int = emulator_function("emu_allocate", ctypes.c_void_p)(ctypes.c_size_t(size))

    def __del__(self) -> None:
        emulator_function("emu_free")(ctypes.c_void_p(self.pointer))


class EmulatedArray:
    """An array on the emulated GPU. It has DLPack's interface, so that it is known as an array of another device."""

    def __init__(self, memory: EmulatedMemory, shape: tuple[int, ...], dtype: str, offset: int = 0) -> None:
        self.memory, self.shape, self.dtype = memory, shape, dtype
        self.pointer = memory.pointer + offset

    def __dlpack__(self, **_: object) -> object:
        raise BufferError("the emulator's memory is its own")

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        """Copy it to the host."""
        del copy
        return self.numpy() if dtype is None else self.numpy().astype(cast("Any", dtype))

    def numpy(self) -> Array:
        """Copy it to the host."""
        found = np.empty(self.shape, dtype_of(self.dtype))
        if found.nbytes:
            ctypes.memmove(found.ctypes.data, self.pointer, found.nbytes)
        return found


@dataclass(frozen=True, slots=True)
class EmulatedGraph:
    """Recorded commands, and what keeps their stream alive."""

    device: EmulatedDevice
    address: int

    def launch(self) -> None:
        """Run all of them."""
        if code := emulator_function("emu_replay")(ctypes.c_void_p(self.address)):
            raise EmulatorError(self.device.explain_error(code))


class EmulatedDevice(HostMemoryDevice):
    """Runs kernels one thread at a time, in the order of a schedule; every rule they break is an error.

    Messages say the kernel, the block, the thread, and the line of the text.
    """

    name = "emulated H200"

    def __init__(
        self,
        *,
        schedule: Schedule = "fifo",
        seed: int = 0,
        limits: Limits = H200,
        has_cublas: bool = True,
        seconds: float = SECONDS,
    ) -> None:
        self.limits, self.has_cublas = limits, has_cublas
        settings = Settings(SCHEDULES[schedule], 1, seed, 0, seconds, 0)
        self.stream: int = emulator_function("emu_stream", ctypes.c_void_p)(ctypes.byref(settings))
        self._handle = ctypes.c_void_p(None)  # of cuBLAS: it holds its stream

    def set_schedule(self, schedule: Schedule, seed: int = 0) -> None:
        """In which order blocks run, and who goes on where several threads could."""
        settings = Settings.from_address(self.stream)  # a stream begins with them
        settings.schedule, settings.seed = SCHEDULES[schedule], seed

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        """Compile kernels, with `idx` standing for `index`, and load them."""
        text = "\n".join(file.text for file in files)
        handles = load_kernels(text, names, index)
        return {name: LoadedKernel(handle, REGISTERS, 0) for name, handle in handles.items()}

    def table(self, *, products: bool) -> int:
        """The address of the emulator's functions."""
        functions = [ctypes.cast(emulator_library()[f"emu_{name}"], ctypes.c_void_p) for name in _TABLE]
        cublas = ctypes.addressof(self._handle) if products and self.has_cublas else None
        self._table = Table(*functions, self.stream, cublas)
        return ctypes.addressof(self._table)

    def xla_driver(self) -> XlaDriver:
        """The emulator's functions, for streams of others."""
        return self._xla_driver

    @cached_property
    def _xla_driver(self) -> XlaDriver:
        def addresses(names: Sequence[str]) -> list[int | None]:
            return [ctypes.cast(emulator_library()[f"emu_{name}"], ctypes.c_void_p).value for name in names]

        context = ctypes.c_void_p()
        emulator_function("emu_stream_context")(None, ctypes.byref(context))
        create = addresses(["create_cublas"])[0] if self.has_cublas else None
        return XlaDriver(Table(*addresses(_TABLE)), *addresses(_CONTEXT), create, context.value)

    def allocate(self, size: int) -> EmulatedMemory:
        """`size` bytes, aligned to 256."""
        return EmulatedMemory(size)

    def upload(self, data: bytes) -> EmulatedMemory:
        """A constant."""
        memory = EmulatedMemory(len(data))
        if data:
            ctypes.memmove(memory.pointer, data, len(data))
        return memory

    def array(self, array: Array, offset: int = 0) -> EmulatedArray:
        """Put an array on the device, `offset` bytes behind an aligned address."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        memory = EmulatedMemory(array.nbytes + offset)
        if array.nbytes:
            ctypes.memmove(memory.pointer + offset, array.ctypes.data, array.nbytes)
        return EmulatedArray(memory, array.shape, array.dtype.name, offset)

    def import_array(self, array: object) -> DeviceArray:
        """Take an array of the device as it is, and a copy of one of the host."""
        if not isinstance(array, EmulatedArray):
            try:
                array = self.array(as_numpy(array))
            except TypeError as error:
                raise ArgumentTypeError(str(error)) from error
        return DeviceArray(array.pointer, array.shape, array.dtype, array)

    def writable(self, array: object) -> EmulatedMemory | None:
        """The memory of an array that begins where its memory does."""
        if isinstance(array, EmulatedArray) and array.pointer == array.memory.pointer:
            return array.memory
        return None

    def copy(self, pointer: int, size: int) -> EmulatedMemory:
        """Fresh memory with the same bytes."""
        return self.upload(self.download(pointer, size))

    def export_array(self, memory: object, shape: tuple[int, ...], dtype: str) -> EmulatedArray:
        """A result."""
        assert isinstance(memory, EmulatedMemory), "all memory is the emulator's"
        return EmulatedArray(memory, shape, dtype)

    def hold(self, owners: Sequence[object]) -> None:
        """Nothing to do: everything has run."""

    def capture(self, run: Callable[[int], None], *, products: bool) -> EmulatedGraph:
        """Record what `run` queues."""
        graph: int = emulator_function("emu_begin_recording", ctypes.c_void_p)(ctypes.c_void_p(self.stream))
        try:
            run(self.table(products=products))
        finally:
            emulator_function("emu_end_recording")(ctypes.c_void_p(self.stream))
        return EmulatedGraph(self, graph)

    def mirror(
        self, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any], like: tuple[Any, ...] = ()
    ) -> tuple[object, ...]:
        """Arrays of the device if one came in, else NumPy's."""
        results = run(arrays)
        if any(isinstance(array, EmulatedArray) for array in (*arrays, *like)):
            return results
        return tuple(result.numpy() for result in results)

    def explain_error(self, code: int) -> str:
        """The emulator's own words."""
        kind = f"cuBLAS status {code - CUBLAS_ERROR}" if code >= CUBLAS_ERROR else f"CUDA error {code}"
        message: bytes = emulator_function("emu_error", ctypes.c_char_p)()
        return f"{kind}: {message.decode()}"


def load_kernels(text: str, names: Sequence[str], index: IndexType) -> dict[str, int]:
    """Compile kernels and load them for good; their handles."""
    if not names:
        return {}
    emulator_library()  # kernels find their functions there
    library = ctypes.CDLL(str(toolchain.library(text, names, index)))
    return {name: ctypes.addressof(ctypes.c_char.in_dll(library, f"emu_kernel_{name}")) for name in names}
