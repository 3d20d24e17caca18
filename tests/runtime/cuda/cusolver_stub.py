# ruff: noqa: ARG001, N802, N803, PLR0913, PLR0917 - the names and the arguments are CuPy's
"""CuPy's bindings of cuSOLVER and cuBLAS as they are declared, computed by SciPy at the addresses that they are given.

Memory is the host's, so what `runtime.cusolver` makes of layouts, options, batches and workspaces is really computed.
That the declarations are CuPy's is checked against its wheel; that the real functions do the same, on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack  # pyright: ignore[reportMissingTypeStubs]

from shlo_disc.runtime.cuda.matrices import CupyLibraries
from shlo_disc.runtime.host_calls import memory_of, view_on_host
from tests.emulator.run import launch

Array = NDArray[Any]

_TYPES: Mapping[str, Any] = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
_LETTERS = {np.dtype(kind): letter for letter, kind in _TYPES.items()}
_CUDA_TYPES = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
_HANDLES = {"solver": 11, "blas": 12}
_WORK = 3  # elements of each workspace
_MARK = 17  # a structure of parameters


class DeviceArray(np.ndarray):
    """`cupy.ndarray`, as far as it is like NumPy's; its `data` is an address."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


def on_device(x: Any) -> Any:
    return np.asarray(x).view(DeviceArray)


def _vector(address: int, size: int, dtype: Any) -> Array:
    return view_on_host(address, (size,), np.dtype(dtype), memory_of(None))


def _matrix(address: int, rows: int, columns: int, ld: int, dtype: Any) -> Array:
    """A matrix by columns, `ld` elements apart."""
    assert ld >= max(rows, 1)
    return view_on_host(address, (columns, ld), np.dtype(dtype), memory_of(None)).T[:rows]


def _lapack(name: str, x: Array) -> Any:
    of_complex = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}
    return getattr(lapack, _LETTERS[x.dtype] + (of_complex.get(name, name) if x.dtype.kind == "c" else name))


# -- cuSOLVER; `t` is the type that the letter before the name stands for


def potrf_bufferSize(t: Any, handle: int, uplo: int, n: int, A: int, lda: int) -> int:
    assert handle == _HANDLES["solver"]
    return _WORK


def potrf(t: Any, handle: int, uplo: int, n: int, A: int, lda: int, work: int, lwork: int, devInfo: int) -> None:
    assert lwork == _WORK
    _vector(work, lwork, t)[:] = np.nan
    a = _matrix(A, n, n, lda, t)
    factor, info = _lapack("potrf", a)(a, lower=uplo == 0, clean=False)
    a[...] = factor
    _vector(devInfo, 1, np.int32)[0] = info


def potrfBatched(t: Any, handle: int, uplo: int, n: int, Aarray: int, lda: int, infoArray: int, batchSize: int) -> None:
    """It uses the other triangle as a workspace."""
    for k, address in enumerate(_vector(Aarray, batchSize, np.uintp).tolist()):
        a = _matrix(address, n, n, lda, t)
        factor, info = _lapack("potrf", a)(a, lower=uplo == 0, clean=True)
        a[...] = factor + np.where(np.tri(n, k=-1, dtype=bool) if uplo else np.tri(n, k=-1, dtype=bool).T, np.nan, 0)
        _vector(infoArray, batchSize, np.int32)[k] = info


def getrf_bufferSize(t: Any, handle: int, m: int, n: int, A: int, lda: int) -> int:
    return _WORK


def getrf(t: Any, handle: int, m: int, n: int, A: int, lda: int, work: int, devIpiv: int, devInfo: int) -> None:
    _vector(work, _WORK, t)[:] = np.nan
    a = _matrix(A, m, n, lda, t)
    factors, pivots, info = _lapack("getrf", a)(a)
    a[...] = factors
    _vector(devIpiv, min(m, n), np.int32)[:] = pivots + 1
    _vector(devInfo, 1, np.int32)[0] = info


def geqrf_bufferSize(t: Any, handle: int, m: int, n: int, A: int, lda: int) -> int:
    return _WORK


def geqrf(t: Any, handle: int, m: int, n: int, A: int, lda: int, tau: int, work: int, lwork: int, devInfo: int) -> None:
    _vector(work, lwork, t)[:] = np.nan
    a = _matrix(A, m, n, lda, t)
    factors, scales, _, info = _lapack("geqrf", a)(a)
    a[...] = factors
    _vector(tau, min(m, n), t)[:] = scales
    _vector(devInfo, 1, np.int32)[0] = info


def orgqr_bufferSize(t: Any, handle: int, m: int, n: int, k: int, A: int, lda: int, tau: int) -> int:
    return _WORK


def orgqr(
    t: Any, handle: int, m: int, n: int, k: int, A: int, lda: int, tau: int, work: int, lwork: int, devInfo: int
) -> None:
    assert m >= n >= k
    _vector(work, lwork, t)[:] = np.nan
    a = _matrix(A, m, n, lda, t)
    a[...], _, info = _lapack("orgqr", a)(a, _vector(tau, k, t))
    _vector(devInfo, 1, np.int32)[0] = info


def ormqr_bufferSize(
    t: Any, handle: int, side: int, trans: int, m: int, n: int, k: int, A: int, lda: int, tau: int, C: int, ldc: int
) -> int:
    return _WORK


def ormqr(
    t: Any, handle: int, side: int, trans: int, m: int, n: int, k: int, A: int, lda: int, tau: int, C: int, ldc: int,
    work: int, lwork: int, devInfo: int,
) -> None:  # fmt: skip
    _vector(work, lwork, t)[:] = np.nan
    a, c = _matrix(A, n if side else m, k, lda, t), _matrix(C, m, n, ldc, t)
    letters = "LR"[side], "NTC"[trans]
    c[...], _, info = _lapack("ormqr", a)(*letters, a, _vector(tau, k, t), c, 64 * max(m, n))
    _vector(devInfo, 1, np.int32)[0] = info


def gesvd_bufferSize(t: Any, handle: int, m: int, n: int) -> int:
    return _WORK


def gesvd(
    t: Any, handle: int, jobu: int, jobvt: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, VT: int,
    ldvt: int, Work: int, lwork: int, rwork: int, devInfo: int,
) -> None:  # fmt: skip
    assert m >= n
    assert jobu == jobvt
    _vector(Work, lwork, t)[:] = np.nan
    a, job = _matrix(A, m, n, lda, t), chr(jobu)
    u, s, v, info = _lapack("gesvd", a)(a, compute_uv=job != "N", full_matrices=job == "A")
    a[...] = np.nan
    _vector(S, n, s.dtype)[:] = s
    if job != "N":
        _matrix(U, m, u.shape[1], ldu, t)[...] = u
        _matrix(VT, n, n, ldvt, t)[...] = v
    _vector(devInfo, 1, np.int32)[0] = info


def gesvdj_bufferSize(
    t: Any, handle: int, jobz: int, econ: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int,
    ldv: int, params: int,
) -> int:  # fmt: skip
    assert params == _MARK
    return _WORK


def gesvdj(
    t: Any, handle: int, jobz: int, econ: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int,
    ldv: int, work: int, lwork: int, info: int, params: int,
) -> None:  # fmt: skip
    assert params == _MARK
    _vector(work, lwork, t)[:] = np.nan
    a = _matrix(A, m, n, lda, t)
    u, s, v, failed = _lapack("gesdd", a)(a, compute_uv=True, full_matrices=not econ)
    a[...] = np.nan
    _vector(S, len(s), s.dtype)[:] = s
    if jobz:
        _matrix(U, m, u.shape[1], ldu, t)[...] = u
        _matrix(V, n, v.shape[0], ldv, t)[...] = v.conj().T
    _vector(info, 1, np.int32)[0] = failed


def gesvdjBatched_bufferSize(
    t: Any, handle: int, jobz: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int, ldv: int,
    params: int, batchSize: int,
) -> int:  # fmt: skip
    return _WORK


def gesvdjBatched(
    t: Any, handle: int, jobz: int, m: int, n: int, A: int, lda: int, S: int, U: int, ldu: int, V: int, ldv: int,
    work: int, lwork: int, info: int, params: int, batchSize: int,
) -> None:  # fmt: skip
    assert max(m, n) <= 32
    size = np.dtype(t).itemsize
    real = np.zeros(0, t).real.dtype.itemsize
    for k in range(batchSize):
        places = A + k * lda * n * size, lda, S + k * min(m, n) * real
        vectors = U + k * ldu * m * size, ldu, V + k * ldv * n * size, ldv
        gesvdj(t, handle, jobz, 0, m, n, *places, *vectors, work, lwork, info + 4 * k, params)


def syevd_bufferSize(t: Any, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int) -> int:
    return _WORK


def syevd(
    t: Any, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int, lwork: int, info: int
) -> None:
    _vector(work, lwork, t)[:] = np.nan
    a = _matrix(A, n, n, lda, t)
    values, vectors, failed = _lapack("syevd", a)(a, compute_v=bool(jobz), lower=uplo == 0)
    a[...] = vectors if jobz else np.nan
    _vector(W, n, values.dtype)[:] = values
    _vector(info, 1, np.int32)[0] = failed


def syevjBatched_bufferSize(
    t: Any, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, params: int, batchSize: int
) -> int:
    return _WORK


def syevjBatched(
    t: Any, handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, work: int, lwork: int, info: int,
    params: int, batchSize: int,
) -> None:  # fmt: skip
    assert n <= 32
    assert params == _MARK
    size, real = np.dtype(t).itemsize, np.zeros(0, t).real.dtype.itemsize
    for k in range(batchSize):
        places = A + k * n * lda * size, lda, W + k * n * real
        syevd(t, handle, jobz, uplo, n, *places, work, lwork, info + 4 * k)


def xgeev_bufferSize(
    handle: int, params: int, jobvl: int, jobvr: int, n: int, dataTypeA: int, A: int, lda: int, dataTypeW: int, W: int,
    dataTypeVL: int, VL: int, ldvl: int, dataTypeVR: int, VR: int, ldvr: int, computeType: int,
) -> tuple[int, int]:  # fmt: skip
    return _WORK, _WORK


def xgeev(
    handle: int, params: int, jobvl: int, jobvr: int, n: int, dataTypeA: int, A: int, lda: int, dataTypeW: int, W: int,
    dataTypeVL: int, VL: int, ldvl: int, dataTypeVR: int, VR: int, ldvr: int, computeType: int, bufferOnDevice: int,
    workspaceInBytesOnDevice: int, bufferOnHost: int, workspaceInBytesOnHost: int, info: int,
) -> None:  # fmt: skip
    assert jobvl == 0, "cuSOLVER has no left vectors"
    assert params == _MARK
    assert dataTypeA == dataTypeVL == dataTypeVR == computeType
    _vector(bufferOnHost, workspaceInBytesOnHost, np.int8)[:] = 1
    kind = _CUDA_TYPES[dataTypeA]
    a = _matrix(A, n, n, lda, kind)
    assert np.isfinite(a).all(), "LAPACK may never end"
    *values, _, right, failed = _lapack("geev", a)(a, compute_vl=False, compute_vr=bool(jobvr))
    a[...] = np.nan
    w = _vector(W, n, _CUDA_TYPES[dataTypeW])
    w[:] = values[0] + 1j * values[1] if len(values) == 2 else values[0]
    if jobvr:
        _matrix(VR, n, n, ldvr, kind)[...] = right
    _vector(info, 1, np.int32)[0] = failed


# -- cuBLAS


def trsm(
    t: Any, handle: int, side: int, uplo: int, trans: int, diag: int, m: int, n: int, alpha: int, Aarray: int,
    lda: int, Barray: int, ldb: int,
) -> None:  # fmt: skip
    assert handle == _HANDLES["blas"]
    order = n if side else m
    a, b = _matrix(Aarray, order, order, lda, t), _matrix(Barray, m, n, ldb, t)
    options = {"side": side, "lower": uplo == 0, "trans_a": trans, "diag": diag}
    b[...] = getattr(blas, f"{_LETTERS[np.dtype(t)]}trsm")(_vector(alpha, 1, t)[0], a, b, **options)


def trsmBatched(
    t: Any, handle: int, side: int, uplo: int, trans: int, diag: int, m: int, n: int, alpha: int, Aarray: int,
    lda: int, Barray: int, ldb: int, batchCount: int,
) -> None:  # fmt: skip
    places = (_vector(address, batchCount, np.uintp).tolist() for address in (Aarray, Barray))
    for a, b in zip(*places, strict=True):
        trsm(t, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)


def getrfBatched(
    t: Any, handle: int, n: int, Aarray: int, lda: int, PivotArray: int, infoArray: int, batchSize: int
) -> None:
    work = np.zeros(_WORK, t)
    for k, a in enumerate(_vector(Aarray, batchSize, np.uintp).tolist()):
        getrf(t, handle, n, n, a, lda, work.ctypes.data, PivotArray + 4 * k * n, infoArray + 4 * k)


# -- the libraries


_SOLVER: tuple[Callable[..., Any], ...] = (
    potrf_bufferSize, potrf, potrfBatched, getrf_bufferSize, getrf, geqrf_bufferSize, geqrf, orgqr_bufferSize, orgqr,
    ormqr_bufferSize, ormqr, gesvd_bufferSize, gesvd, gesvdj_bufferSize, gesvdj, gesvdjBatched_bufferSize,
    gesvdjBatched, syevd_bufferSize, syevd, syevjBatched_bufferSize, syevjBatched,
)  # fmt: skip
_BLAS: tuple[Callable[..., Any], ...] = (trsm, trsmBatched, getrfBatched)
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syev": "heev"}


def _typed(functions: tuple[Callable[..., Any], ...]) -> dict[str, Callable[..., Any]]:
    """Every function for every type, under CuPy's name of it."""
    found = dict[str, Callable[..., Any]]()
    for letter, kind in _TYPES.items():
        for function in functions:
            name = function.__name__
            for real, of_complex in _OF_COMPLEX.items():
                name = name.replace(real, of_complex) if letter in "cz" else name
            found[letter + name] = partial(function, kind)
    return found


SOLVER: Mapping[str, Callable[..., Any]] = {
    **_typed(_SOLVER), "xgeev": xgeev, "xgeev_bufferSize": xgeev_bufferSize,
}  # fmt: skip
BLAS: Mapping[str, Callable[..., Any]] = _typed(_BLAS)


class RawKernel:
    """`cupy.RawKernel`, on the emulator."""

    def __init__(self, code: str, name: str) -> None:
        self.code, self.name = code, name

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        arrays: list[Array] = [x for x in arguments if isinstance(x, DeviceArray)]
        assert all(isinstance(x, DeviceArray) or type(x) is np.int64 for x in arguments), (
            "CuPy passes numbers as they are typed"
        )
        plain: list[Array | int] = [np.asarray(x) if isinstance(x, DeviceArray) else int(x) for x in arguments]
        found = launch(self.code, self.name, grid[0], block[0], plain)
        for array, values in zip(arrays, found, strict=True):
            array[...] = values


def _destroy(mark: int) -> None:
    assert mark == _MARK


def stub_libraries(*, has_geev: bool = True) -> CupyLibraries:
    """CuPy and its bindings, for memory of the host."""

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: on_device(function(*given, **named))

    device = SimpleNamespace(get_cusolver_handle=lambda: _HANDLES["solver"], get_cublas_handle=lambda: _HANDLES["blas"])
    same = {name: getattr(np, name) for name in ("isnan", "isfinite", "diagonal", "tri", "eye", "roll")}
    fresh = {name: made(getattr(np, name)) for name in ("empty", "arange", "where")}
    cupy = SimpleNamespace(**same, **fresh, cuda=SimpleNamespace(device=device), RawKernel=RawKernel)
    marks = {name: lambda: _MARK for name in ("createGesvdjInfo", "createSyevjInfo", "createParams")}
    ends = dict.fromkeys(("destroyGesvdjInfo", "destroySyevjInfo", "destroyParams"), _destroy)
    solver = SimpleNamespace(**SOLVER, **marks, **ends)
    checks = SimpleNamespace(check_availability={"geev": has_geev}.__getitem__)
    return CupyLibraries(cupy, solver, SimpleNamespace(**BLAS), checks)
