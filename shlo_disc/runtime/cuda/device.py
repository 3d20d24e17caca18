"""The interface of a GPU: CuPy implements it on a real one, the tests' emulator without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from shlo_disc.artifact import SourceFile
from shlo_disc.linear_algebra import Routine
from shlo_disc.records import record
from shlo_disc.runtime.cuda.table import XlaDriver
from shlo_disc.runtime.fourier import Transform
from shlo_disc.runtime.host_calls import Callee

IndexType = Literal["int32_t", "int64_t"]


@record
class Limits:
    """The resources of a GPU that decide how many blocks run at once."""

    multiprocessors: int
    threads: int  # per multiprocessor, as the rest
    blocks: int
    registers: int
    shared: int  # bytes
    shared_per_block: int  # bytes that one block may ask for (opt-in)


@record
class LoadedKernel:
    """A loaded kernel: its handle for `cuLaunchKernel`, and the resources of one block."""

    handle: int
    registers: int  # per thread
    shared: int  # static, in bytes


class DeviceArray(NamedTuple):
    """A C-contiguous array on the device: its address, shape and dtype, and the object that keeps it alive.

    The owner is None if it is the array that was imported. (A call creates many of these: a tuple is the fastest.)
    """

    pointer: int
    shape: tuple[int, ...]
    dtype: str  # NumPy's or ml_dtypes' name
    owner: object


class DeviceMemory(Protocol):
    """Bytes on the device; freed (in the order of its stream) when it is dropped."""

    @property
    def pointer(self) -> int: ...


class Graph(Protocol):
    """Recorded commands."""

    @property
    def launch(self) -> Callable[[], object]:
        """Queues all of them on the current stream."""
        ...


class Device(Protocol):
    """One GPU, seen from one process. A thread's current stream is what it made current in the device's library."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def has_cublas(self) -> bool:
        """Whether cuBLAS can compute products; it is searched for at the first access."""
        ...

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        """Compile kernels, with `idx` standing for `index`, and load them. The caller keeps the mapping alive."""
        ...

    def table(self, *, products: bool) -> int:
        """The address of a `table.Table` for the current stream; with cuBLAS if there are `products`.

        It is valid in this thread until its next call of this method.
        """
        ...

    def xla_driver(self) -> XlaDriver:
        """The functions by which C queues commands on streams of XLA: the same object every time."""
        ...

    def allocate(self, size: int) -> DeviceMemory:
        """`size` bytes (0, too), aligned to 256, uninitialized."""
        ...

    def upload(self, data: bytes) -> DeviceMemory:
        """A copy of constant data on the device."""
        ...

    def download(self, pointer: int, size: int) -> bytes:
        """Bytes of the device, after the current stream has completed its queued work."""
        ...

    def known(self, array: object) -> DeviceArray | None:
        """The result of an earlier `import_array`; None if there is none, or it is no longer valid."""
        ...

    def import_array(self, array: object) -> DeviceArray:
        """View an array (NumPy's, JAX's, or one with DLPack) on this device, ready on the current stream.

        Without a copy if it is on this device and C-contiguous. Raises `ArgumentTypeError` if it is not accessible.
        """
        ...

    def writable(self, array: object) -> DeviceMemory | None:
        """The memory of an array of the device's own library, which may be written; None for other arrays."""
        ...

    def copy(self, pointer: int, size: int) -> DeviceMemory:
        """Fresh memory with a copy of the bytes at an address."""
        ...

    def export_array(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: str) -> Any:
        """A fresh result as an array of the device's own library."""
        ...

    def view(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], owner: object) -> Any:
        """Memory as an array of the device's own library, which keeps `owner` alive."""
        ...

    def as_array(self, value: object) -> Any:
        """Convert what a user's function returned to an array of the device's own library."""
        ...

    def bind_fft(self, transform: Transform, rank: int) -> Callee:
        """A function that transforms the last `rank` dimensions of such an array, on the current stream."""
        ...

    def bind_routine(self, routine: Routine) -> Callee:
        """A function that computes a routine that `is_in_cusolver` of such arrays, on the current stream."""
        ...

    def on_host(self, callee: Callee) -> Callee:
        """Wrap a function of NumPy arrays as one of such arrays."""
        ...

    def hold(self, owners: Sequence[object]) -> None:
        """Keep the owners of imported arrays alive until the current stream has completed its queued work."""
        ...

    def capture(self, run: Callable[[int], None], *, products: bool) -> Graph:
        """Record what `run` queues through the table whose address it is given; nothing is executed."""
        ...

    def mirror(
        self, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any], like: tuple[Any, ...] = ()
    ) -> tuple[object, ...]:
        """Run on the stream of the arrays' library; the results are arrays of that library.

        The arrays `like` count as arguments, but are not passed to `run`.
        """
        ...

    def wait(self) -> None:
        """Wait until the current stream has completed its queued work."""
        ...

    def mark(self) -> object:
        """A point after the work that is queued on the current stream: an event."""
        ...

    def seconds(self, first: object, last: object) -> float:
        """The seconds between two marks of one stream; waits for the last one."""
        ...

    def occupy(self, steps: int) -> None:
        """Queue work that takes longer than queueing so many steps: these then follow each other without a gap."""
        ...

    def named(self, name: str) -> AbstractContextManager[object]:
        """A range of this name for NVIDIA's profilers (NVTX), if the device's library has them."""
        ...

    def explain_error(self, code: int) -> str:
        """The meaning of a nonzero code that a function of the table returned."""
        ...
