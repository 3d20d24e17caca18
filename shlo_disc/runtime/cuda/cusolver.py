# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy has no types here; nothing untyped leaves this module.
"""LAPACK's routines on batches of CuPy's arrays, by cuSOLVER and cuBLAS, in LAPACK's conventions.

All work is queued on CuPy's current stream, without synchronization or copies to the host. The functions are those of
CuPy's bindings, which set the stream of their handle themselves. Matrices are row-major, the libraries column-major:
where the transposed problem has the same solution, it is solved in place, else matrices are transposed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.cuda.cusolver_spectra import geev, gesdd, gesvd, syevd
from shlo_disc.runtime.cuda.matrices import (
    DIAGONAL,
    FILL,
    OPERATION,
    OTHER,
    SIDE,
    Arrays,
    CupyLibraries,
    by_columns,
    count_of,
    each,
    fill_units,
    flat,
    is_in,
    put_rows,
)
from shlo_disc.runtime.host_calls import Callee

_BATCHED_LU = 128  # rows, per matrix of the batch, up to which cuBLAS's batches are faster than a call per matrix

PERMUTE = r"""
extern "C" __global__ void pivots_to_permutation(const int* pivots, int* rows, long long count, long long steps,
                                                 long long n) {
  long long matrix = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (matrix >= count) return;
  pivots += matrix * steps;
  rows += matrix * n;
  for (long long k = 0; k < steps; k++) {
    int other = pivots[k], row = rows[k];
    if (other < 0 || other >= n) continue;
    rows[k] = rows[other];
    rows[other] = row;
  }
}
"""
_PERMUTE_THREADS = 128


def bind_routine(libraries: CupyLibraries, routine: Routine, on_host: Callable[[Callee], Callee]) -> Callee:
    """The callee of a routine that `is_in_cusolver` of `lower_cuda/host_libraries.py`.

    cuSOLVER before CUDA 12.6 has no geev: then SciPy computes it, and a `RuntimeWarning` says so.
    """
    if routine.name == "geev" and not libraries.checks.check_availability("geev"):
        warnings.warn("this cuSOLVER has no geev, CUDA 12.6 brings it: SciPy computes it", RuntimeWarning, stacklevel=2)
        return on_host(routine.run)
    compute = ROUTINES[routine.name]

    def run(operands: Sequence[Any], results: Sequence[Any]) -> None:
        if any(result.size for result in results):
            compute(libraries, routine, operands, results)

    return run


# -- routines; each is queued with operands that it does not write


def _factor(lib: CupyLibraries, uplo: str, a: Any, factor: Any, info: Any) -> None:
    """Compute Cholesky's factor in place. Column-major, the matrix is transposed, so the triangles are exchanged.

    cuSOLVER may use the triangle that it does not fill as workspace.
    """
    factor[...] = a
    n, count, fill = a.shape[-1], count_of(a), FILL[OTHER[uplo]]
    if count == 1:
        size: int = lib.solve("potrf_bufferSize", a, fill, n, factor.data.ptr, n)
        work = lib.empty(size, a.dtype)
        lib.solve("potrf", a, fill, n, factor.data.ptr, n, work.data.ptr, size, info.data.ptr)
    else:
        places = lib.places(flat(factor))
        lib.solve("potrfBatched", a, fill, n, places.data.ptr, n, info.data.ptr, count)


def _potrf(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    (a,), (factor, info) = operands, results
    if not a.size:
        info[...] = 0
        return
    _factor(lib, call.options, a, factor, info)
    factor[...] = lib.cupy.where(is_in(lib, a.shape[-1], call.options), factor, a)


def _cholesky(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Compute factors; a matrix without one, or with NaN on the diagonal of its factor, gives NaN everywhere."""
    (a,), (factor,), cupy = operands, results, lib.cupy
    info = lib.empty(a.shape[:-2], np.int32)
    _factor(lib, call.options, a, factor, info)
    is_there = (info == 0) & ~cupy.isnan(cupy.diagonal(factor, axis1=-2, axis2=-1)).any(axis=-1)
    triangle = cupy.where(is_in(lib, a.shape[-1], call.options), factor, 0)
    factor[...] = cupy.where(is_there[..., None, None], triangle, np.nan)


def _trsm(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Column-major, `op(a) x = b` is `x^T op(a)^T = b^T`: the other side and the other triangle, the same operation."""
    (a, b), (x,), (side, uplo, trans, diag) = operands, results, call.options
    x[...] = b
    rows, columns = b.shape[-2:]
    n, count, one = a.shape[-1], count_of(b), np.ones((), a.dtype)
    options = (SIDE["R" if side == "L" else "L"], FILL[OTHER[uplo]], OPERATION[trans], DIAGONAL[diag])
    if count == 1:
        lib.multiply("trsm", a, *options, columns, rows, one.ctypes.data, a.data.ptr, n, x.data.ptr, columns)
        return
    matrices, sides = lib.places(flat(a)), lib.places(flat(x))
    where = (one.ctypes.data, matrices.data.ptr, n, sides.data.ptr, columns)
    lib.multiply("trsmBatched", a, *options, columns, rows, *where, count)


def _getrf(lib: CupyLibraries, _: Routine, operands: Arrays, results: Arrays) -> None:
    (a,), (factors, pivots, info) = operands, results
    if not a.size:
        info[...] = 0
        return
    (m, n), count, x = a.shape[-2:], count_of(a), by_columns(a)
    if count > 1 and m == n and n <= _BATCHED_LU * count:
        places = lib.places(x)
        lib.multiply("getrfBatched", a, n, places.data.ptr, n, pivots.data.ptr, info.data.ptr, count)
    else:
        work = lib.empty(lib.solve("getrf_bufferSize", a, m, n, x.data.ptr, m), a.dtype)
        for matrix, pivot, done in each(count, x, pivots, info):
            lib.solve("getrf", a, m, n, matrix, m, work.data.ptr, pivot, done)
    put_rows(factors, x)


def _geqrf(lib: CupyLibraries, _: Routine, operands: Arrays, results: Arrays) -> None:
    (a,), (factors, tau) = operands, results
    (m, n), count, x = a.shape[-2:], count_of(a), by_columns(a)
    size: int = lib.solve("geqrf_bufferSize", a, m, n, x.data.ptr, m)
    work, info = lib.empty(size, a.dtype), lib.empty(1, np.int32)
    for matrix, scales in each(count, x, tau):
        lib.solve("geqrf", a, m, n, matrix, m, scales, work.data.ptr, size, info.data.ptr)
    put_rows(factors, x)


def _orgqr(lib: CupyLibraries, _: Routine, operands: Arrays, results: Arrays) -> None:
    (a, tau), (q,) = operands, results
    if not tau.size:
        fill_units(lib, results)
        return
    (m, n), k, count, x = a.shape[-2:], tau.shape[-1], count_of(a), by_columns(a)
    size: int = lib.solve("orgqr_bufferSize", a, m, n, k, x.data.ptr, m, tau.data.ptr)
    work, info = lib.empty(size, a.dtype), lib.empty(1, np.int32)
    for matrix, scales in each(count, x, tau):
        lib.solve("orgqr", a, m, n, k, matrix, m, scales, work.data.ptr, size, info.data.ptr)
    put_rows(q, x)


def _ormqr(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    (a, tau, c), (product,) = operands, results
    if not tau.size:
        product[...] = c
        return
    (m, n), k, count = c.shape[-2:], tau.shape[-1], count_of(c)
    side, trans = SIDE[call.options[0]], OPERATION[call.options[1]]
    reflectors, x, rows = by_columns(a), by_columns(c), a.shape[-2]
    shape = (side, trans, m, n, k)
    size: int = lib.solve("ormqr_bufferSize", a, *shape, reflectors.data.ptr, rows, tau.data.ptr, x.data.ptr, m)
    work, info = lib.empty(size, a.dtype), lib.empty(1, np.int32)
    for vectors, scales, matrix in each(count, reflectors, tau, x):
        lib.solve("ormqr", a, *shape, vectors, rows, scales, matrix, m, work.data.ptr, size, info.data.ptr)
    put_rows(product, x)


def _permute(lib: CupyLibraries, _: Routine, operands: Arrays, results: Arrays) -> None:
    """The permutation that interchanges of rows, from 0, result in: one thread for each matrix, as in jaxlib."""
    (pivots,), (rows,) = operands, results
    rows[...] = lib.cupy.arange(rows.shape[-1], dtype=np.int32)
    count = math.prod(rows.shape[:-1])
    sizes = tuple(np.int64(size) for size in (count, pivots.shape[-1], rows.shape[-1]))
    kernel = lib.cupy.RawKernel(PERMUTE, "pivots_to_permutation")
    kernel((-(-count // _PERMUTE_THREADS),), (_PERMUTE_THREADS,), (pivots, rows, *sizes))


ROUTINES: Mapping[str, Callable[[CupyLibraries, Routine, Arrays, Arrays], None]] = {
    "potrf": _potrf,
    "cholesky": _cholesky,
    "trsm": _trsm,
    "getrf": _getrf,
    "geqrf": _geqrf,
    "orgqr": _orgqr,
    "ormqr": _ormqr,
    "gesvd": gesvd,
    "gesdd": gesdd,
    "syevd": syevd,
    "geev": geev,
    "pivots_to_permutation": _permute,
}
