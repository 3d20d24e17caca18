"""What the runtime needs of a GPU: CuPy gives it on a real one, the tests' emulator on none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from shlo_disc.artifact import SourceFile
from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.fourier import Transform
from shlo_disc.runtime.host_calls import Callee

IndexType = Literal["int32_t", "int64_t"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources of a GPU that decide how many blocks run at once."""

    multiprocessors: int
    threads: int  # per multiprocessor, as the rest
    blocks: int
    registers: int
    shared: int  # bytes
    shared_per_block: int  # bytes that one block may ask for (opt-in)


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A loaded kernel: its handle for `cuLaunchKernel`, and what one block of it takes."""

    handle: int
    registers: int  # per thread
    shared: int  # static, in bytes


class DeviceArray(NamedTuple):
    """A C-contiguous array on the device: where it starts, what it is, and the object that keeps it alive.

    The owner is None if it is the array that was imported. (A call makes many of these: a tuple is made fastest.)
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
        """Whether products can be computed; looks for cuBLAS when it is first asked."""
        ...

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        """Compile kernels, with `idx` standing for `index`, and load them. The caller keeps the mapping alive."""
        ...

    def table(self, *, products: bool) -> int:
        """The address of a `cuda_table.Table` for the current stream; with cuBLAS if there are `products`.

        It is valid in this thread until it asks again.
        """
        ...

    def allocate(self, size: int) -> DeviceMemory:
        """`size` bytes (0 too), aligned to 256, with anything in them."""
        ...

    def upload(self, data: bytes) -> DeviceMemory:
        """A constant, on the device."""
        ...

    def download(self, pointer: int, size: int) -> bytes:
        """Bytes of the device, after everything that the current stream has to do before."""
        ...

    def known(self, array: object) -> DeviceArray | None:
        """What `import_array` found before, if that still holds; None if it has to be asked."""
        ...

    def import_array(self, array: object) -> DeviceArray:
        """See an array (NumPy's, JAX's, or one with DLPack) on this device, ready on the current stream.

        Without a copy if it is on this device and C-contiguous. Raises `ArgumentTypeError` if it cannot be reached.
        """
        ...

    def writable(self, array: object) -> DeviceMemory | None:
        """The memory of an array of the device's own library, which may be written; None of anything else's."""
        ...

    def copy(self, pointer: int, size: int) -> DeviceMemory:
        """Fresh memory with the bytes that begin there."""
        ...

    def export_array(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: str) -> Any:
        """A fresh result as an array of the device's own library."""
        ...

    def view(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], owner: object) -> Any:
        """Memory as an array of the device's own library, which keeps `owner` alive."""
        ...

    def as_array(self, value: object) -> Any:
        """What a function on such arrays returned, as such an array."""
        ...

    def bind_fft(self, transform: Transform, rank: int) -> Callee:
        """What computes a Fourier transform of the last `rank` dimensions of such an array, on the current stream."""
        ...

    def bind_routine(self, routine: Routine) -> Callee:
        """What computes a routine that `is_in_cusolver` of such arrays, on the current stream."""
        ...

    def on_host(self, callee: Callee) -> Callee:
        """What computes with NumPy's arrays, as something that takes such arrays."""
        ...

    def hold(self, owners: Sequence[object]) -> None:
        """Keep the owners of imported arrays alive until the current stream has done what it has been given."""
        ...

    def capture(self, run: Callable[[int], None], *, products: bool) -> Graph:
        """Record what `run` queues through the table whose address it is given; nothing is executed."""
        ...

    def mirror(
        self, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any], like: tuple[Any, ...] = ()
    ) -> tuple[object, ...]:
        """Run on the stream of the arrays' library; the results are arrays of that library.

        The arrays `like` count as well, but are not given to `run`.
        """
        ...

    def explain_error(self, code: int) -> str:
        """What a code other than 0 means that a function of the table returned."""
        ...
