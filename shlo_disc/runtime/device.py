"""What the runtime needs of a GPU: CuPy gives it on a real one, the tests' emulator on none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from shlo_disc.artifact import SourceFile

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
class Function:
    """A loaded kernel: its handle for `cuLaunchKernel`, and what one block of it takes."""

    handle: int
    registers: int  # per thread
    shared: int  # static, in bytes


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array on the device: where it starts, how it is laid out, and the object that keeps it alive."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str  # NumPy's or ml_dtypes' name
    contiguous: bool
    owner: object


class Memory(Protocol):
    """Bytes on the device; freed (in the order of its stream) when it is dropped."""

    @property
    def pointer(self) -> int: ...


class Device(Protocol):
    """One GPU, seen from one process."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, Function]:
        """Compile kernels, with `idx` standing for `index`, and load them. The caller keeps the mapping alive."""
        ...

    def table(self) -> int:
        """The address of a `ShloCuda` (see lower_cuda/prelude/driver.h) for the current stream."""
        ...

    def allocate(self, size: int) -> Memory:
        """`size` bytes (0 too), aligned to 256, with anything in them."""
        ...

    def upload(self, data: bytes) -> Memory:
        """A constant, on the device."""
        ...

    def import_array(self, array: object) -> DeviceArray:
        """See an array of any library on this device without a copy; a host array is copied to it."""
        ...

    def export_array(self, memory: Memory, shape: tuple[int, ...], dtype: str) -> Any:
        """A fresh result as an array of the device's own library."""
        ...
