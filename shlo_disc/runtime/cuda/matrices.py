# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy has no types here; nothing untyped leaves this module.
"""CuPy's bindings of cuSOLVER and cuBLAS, and batches of matrices for them.

The bindings set the stream of their handle to CuPy's current one themselves, so all is queued there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.records import record

_LETTERS: Mapping[str, str] = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_OF_COMPLEX: Mapping[str, str] = {
    "orgqr": "ungqr", "orgqr_bufferSize": "ungqr_bufferSize", "ormqr": "unmqr", "ormqr_bufferSize": "unmqr_bufferSize",
    "syevd": "heevd", "syevd_bufferSize": "heevd_bufferSize",
    "syevjBatched": "heevjBatched", "syevjBatched_bufferSize": "heevjBatched_bufferSize",
}  # fmt: skip
# By LAPACK's letters: cublasFillMode_t, cublasSideMode_t, cublasOperation_t, cublasDiagType_t, cusolverEigMode_t.
FILL: Mapping[str, int] = {"L": 0, "U": 1}
SIDE: Mapping[str, int] = {"L": 0, "R": 1}
OPERATION: Mapping[str, int] = {"N": 0, "T": 1, "C": 2}
DIAGONAL: Mapping[str, int] = {"N": 0, "U": 1}
VECTORS: Mapping[str, int] = {"N": 0, "V": 1}
OTHER: Mapping[str, str] = {"L": "U", "U": "L"}

Arrays: TypeAlias = Sequence[Any]


@record
class CupyLibraries:
    """CuPy, its bindings of cuSOLVER and cuBLAS, and `cupyx.cusolver`."""

    cupy: Any
    solver: Any
    blas: Any
    checks: Any

    def solve(self, name: str, x: Any, *arguments: object) -> Any:
        """Call a function of cuSOLVER for the type of `x`."""
        name = _OF_COMPLEX.get(name, name) if x.dtype.kind == "c" else name
        handle = self.cupy.cuda.device.get_cusolver_handle()
        return getattr(self.solver, _LETTERS[x.dtype.name] + name)(handle, *arguments)

    def multiply(self, name: str, x: Any, *arguments: object) -> None:
        """Call a function of cuBLAS for the type of `x`."""
        handle = self.cupy.cuda.device.get_cublas_handle()
        getattr(self.blas, _LETTERS[x.dtype.name] + name)(handle, *arguments)

    def empty(self, shape: int | tuple[int, ...], dtype: object) -> Any:
        """Fresh memory, which returns to CuPy's pool in the order of the stream."""
        return self.cupy.empty(shape, dtype)

    def places(self, x: Any) -> Any:
        """The address of every matrix of a batch, as an array on the device."""
        start, step = x.data.ptr, math.prod(x.shape[1:]) * x.dtype.itemsize
        return self.cupy.arange(start, start + step * len(x), step, dtype=np.uintp)


def open_libraries(cupy: Any) -> CupyLibraries:
    """The libraries that CuPy uses. Raises `ToolchainError` if one is missing."""
    try:
        solver, blas, checks = map(
            import_module, ("cupy_backends.cuda.libs.cusolver", "cupy_backends.cuda.libs.cublas", "cupyx.cusolver")
        )
        return CupyLibraries(cupy, solver, blas, checks)
    except (ImportError, RuntimeError) as error:
        raise ToolchainError(
            f"the program computes linear algebra, for which cuSOLVER is needed: {error}\n"
            "  help: pip install nvidia-cusolver (for CUDA 13; nvidia-cusolver-cu12 for 12)"
        ) from error


def count_of(x: Any) -> int:
    return math.prod(x.shape[:-2])


def flat(x: Any) -> Any:
    """The same memory with one dimension for the batch."""
    return x.reshape(count_of(x), *x.shape[-2:])


def by_columns(x: Any) -> Any:
    """A copy with column-major matrices."""
    return flat(x).swapaxes(-1, -2).copy(order="C")


def put_rows(result: Any, by_columns: Any) -> None:
    """Fill a result from column-major matrices, without the columns that do not fit."""
    columns = result.shape[-1]
    result[...] = by_columns[:, :columns].swapaxes(-1, -2).reshape(result.shape)


def each(count: int, *arrays: Any) -> Iterator[tuple[int, ...]]:
    """The addresses of each matrix's part of every array, matrix by matrix."""
    sizes = [x.size // count * x.dtype.itemsize for x in arrays]
    for k in range(count):
        yield tuple(x.data.ptr + k * size for x, size in zip(arrays, sizes, strict=True))


def is_in(lib: CupyLibraries, n: int, uplo: str) -> Any:
    """The mask of a triangle with its diagonal."""
    lower = lib.cupy.tri(n, dtype=bool)
    return lower if uplo == "L" else lower.T


def fill_units(lib: CupyLibraries, results: Arrays) -> None:
    """Fill results with unit matrices, the product of no reflections; others are an info of 0, or are empty."""
    for result in results:
        if result.dtype.kind == "i":
            result[...] = 0
        elif result.size:
            result[...] = lib.cupy.eye(*result.shape[-2:], dtype=result.dtype)
