# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy has no types here; nothing untyped leaves this module.
"""Singular values and eigenvalues of batches of CuPy's arrays by cuSOLVER."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.cuda.matrices import (
    FILL,
    VECTORS,
    Arrays,
    CupyLibraries,
    by_columns,
    count_of,
    each,
    fill_units,
    flat,
    put_rows,
)

# The sizes at which each method is the fastest, by the choices that jaxlib and JAX make.
BATCHED_JACOBI = 32  # rows and columns that cuSOLVER's batched Jacobi methods take
JACOBI = 1024  # rows and columns up to which the Jacobi method finds singular values faster than QR iterations

_CUDA_TYPES: Mapping[str, int] = {"float32": 0, "float64": 1, "complex64": 4, "complex128": 5}  # cudaDataType
_TO_COMPLEX: Mapping[str, str] = {
    **dict.fromkeys(("float32", "complex64"), "complex64"),
    **dict.fromkeys(("float64", "complex128"), "complex128"),
}


def gesvd(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Singular values by QR iterations, which take no matrix with more columns than rows.

    Column-major, a wide one is its transpose `v* s u^T`, so its left vectors, column-major, are v^H, row-major.
    """
    (a,), job = operands, call.options
    s, info = results[0], results[-1]
    if not a.size:
        fill_units(lib, results)
        return
    (m, n), count = a.shape[-2:], count_of(a)
    if is_wide := m < n:
        m, n, x = n, m, flat(a).copy()
    else:
        x = by_columns(a)
    columns, rows = {"A": (m, n), "S": (n, n), "N": (0, 0)}[job]
    left, right = lib.empty((count, columns, m), a.dtype), lib.empty((count, n, rows), a.dtype)
    size: int = lib.solve("gesvd_bufferSize", a, m, n)
    work = lib.empty(size, a.dtype)
    for matrix, values, u, v, done in each(count, x, s, left, right, info):
        lib.solve("gesvd", a, ord(job), ord(job), m, n, matrix, m, values, u, m, v, n, work.data.ptr, size, 0, done)
    if job == "N":
        return
    _, u, v, _ = results
    if is_wide:
        u[...], v[...] = right.reshape(u.shape), left.reshape(v.shape)
    else:
        put_rows(u, left)
        put_rows(v, right)


@contextmanager
def _parameters(create: Callable[[], int], destroy: Callable[[int], None]) -> Generator[int]:
    """A structure on the host, which is not needed once the calls are queued."""
    made = create()
    try:
        yield made
    finally:
        destroy(made)


def gesdd(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Singular values by the Jacobi method, where it is the faster one; it gives v instead of v^H."""
    (a,), job = operands, call.options
    (m, n), count = a.shape[-2:], count_of(a)
    if not a.size or max(m, n) > JACOBI:
        gesvd(lib, call, operands, results)
        return
    x, s, info = by_columns(a), results[0], results[-1]
    is_batch = count > 1 and max(m, n) <= BATCHED_JACOBI
    is_full = is_batch or job == "A"  # batched functions compute all vectors
    u = lib.empty((count, m if is_full else min(m, n), m), a.dtype)
    v = lib.empty((count, n if is_full else min(m, n), n), a.dtype)
    jobs: tuple[int, ...] = (VECTORS["N" if job == "N" else "V"],)
    with _parameters(lib.solver.createGesvdjInfo, lib.solver.destroyGesvdjInfo) as parameters:
        if is_batch:
            where = (x.data.ptr, m, s.data.ptr, u.data.ptr, m, v.data.ptr, n)
            size: int = lib.solve("gesvdjBatched_bufferSize", a, *jobs, m, n, *where, parameters, count)
            work = lib.empty(size, a.dtype)
            rest = (work.data.ptr, size, info.data.ptr, parameters, count)
            lib.solve("gesvdjBatched", a, *jobs, m, n, *where, *rest)
        else:
            jobs = (*jobs, 0 if is_full else 1)
            where = (x.data.ptr, m, s.data.ptr, u.data.ptr, m, v.data.ptr, n)
            size = lib.solve("gesvdj_bufferSize", a, *jobs, m, n, *where, parameters)
            work = lib.empty(size, a.dtype)
            for matrix, values, left, right, done in each(count, x, s, u, v, info):
                where = (matrix, m, values, left, m, right, n)
                lib.solve("gesvdj", a, *jobs, m, n, *where, work.data.ptr, size, done, parameters)
    if job != "N":
        put_rows(results[1], u)
        right = results[2]
        right[...] = v[:, : right.shape[-2]].conj().reshape(right.shape)


def syevd(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Eigenvalues of symmetric or Hermitian matrices; batches of small ones by the Jacobi method."""
    (a,), (job, uplo) = operands, call.options
    values, info = results[-2:]
    if not a.size:
        info[...] = 0
        return
    n, count, x = a.shape[-1], count_of(a), by_columns(a)
    options = (VECTORS[job], FILL[uplo], n)
    if count > 1 and n <= BATCHED_JACOBI:
        where = (x.data.ptr, n, values.data.ptr)
        with _parameters(lib.solver.createSyevjInfo, lib.solver.destroySyevjInfo) as parameters:
            size: int = lib.solve("syevjBatched_bufferSize", a, *options, *where, parameters, count)
            work = lib.empty(size, a.dtype)
            rest = (work.data.ptr, size, info.data.ptr, parameters, count)
            lib.solve("syevjBatched", a, *options, *where, *rest)
    else:
        size = lib.solve("syevd_bufferSize", a, *options, x.data.ptr, n, values.data.ptr)
        work = lib.empty(size, a.dtype)
        for matrix, found, done in each(count, x, values, info):
            lib.solve("syevd", a, *options, matrix, n, found, work.data.ptr, size, done)
    if job == "V":
        put_rows(results[0], x)


def geev(lib: CupyLibraries, call: Routine, operands: Arrays, results: Arrays) -> None:
    """Eigenvalues, with right vectors or none. Matrices that are not finite give info -4 and NaN, as on the host."""
    (a,), job, cupy = operands, call.options[1], lib.cupy
    *values, info = results
    taken = values.pop() if job == "V" else None
    if not a.size:
        info[...] = 0
        return
    n, count, kind, pair = a.shape[-1], count_of(a), a.dtype.name, _TO_COMPLEX[a.dtype.name]
    is_finite = cupy.isfinite(a).all(axis=(-2, -1))
    x = by_columns(cupy.where(is_finite[..., None, None], a, 0).astype(a.dtype))
    w, right = lib.empty((count, n), pair), lib.empty((count, n, n), kind)
    jobs = (VECTORS["N"], VECTORS[job], n)
    types = (_CUDA_TYPES[kind], _CUDA_TYPES[pair])

    def places(matrix: int, found: int, vector: int) -> tuple[int, ...]:
        own, both = types
        return (
            own,
            matrix,
            n,
            both,
            found,
            own,
            vector,
            n,
            own,
            vector,
            n,
            own,
        )  # left vectors are not computed: their address does not matter

    handle = cupy.cuda.device.get_cusolver_handle()
    with _parameters(lib.solver.createParams, lib.solver.destroyParams) as parameters:
        where = places(x.data.ptr, w.data.ptr, right.data.ptr)
        size, host_size = lib.solver.xgeev_bufferSize(handle, parameters, *jobs, *where)
        work, host = lib.empty(size, np.int8), np.empty(host_size, np.int8)
        for matrix, found, vector, done in each(count, x, w, right, info):
            rest = (work.data.ptr, size, host.ctypes.data, host_size, done)
            lib.solver.xgeev(handle, parameters, *jobs, *places(matrix, found, vector), *rest)
    info[...] = cupy.where(is_finite, info, -4)
    w = cupy.where(is_finite[..., None], w.reshape(a.shape[:-1]), complex(np.nan, np.nan))
    parts = (w,) if a.dtype.kind == "c" else (w.real, w.imag)
    for value, part in zip(values, parts, strict=True):
        value[...] = part
    if taken is not None:
        columns = right.reshape(a.shape).swapaxes(-1, -2)
        columns = columns if a.dtype.kind == "c" else _unpacked(cupy, columns, w.imag[..., None, :])
        taken[...] = cupy.where(is_finite[..., None, None], columns, complex(np.nan, np.nan))


def _unpacked(cupy: Any, columns: Any, imaginary: Any) -> Any:
    """Complex eigenvectors: two columns hold the real and imaginary part of the first of a conjugate pair."""
    before, behind = cupy.roll(columns, 1, axis=-1), cupy.roll(columns, -1, axis=-1)
    real = cupy.where(imaginary < 0, before, columns)
    return real + 1j * cupy.where(imaginary > 0, behind, cupy.where(imaginary < 0, -columns, 0))
