"""LAPACK's routines on batches of NumPy arrays, by NumPy and SciPy: the semantics of the linear algebra ops.

The reference interpreter uses them, and so do programs for devices whose libraries lack a routine. A routine is NumPy's
function where that is the same, written out where that is short, else SciPy's wrapper, one matrix at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.records import record

Arrays: TypeAlias = tuple[NDArray[Any], ...]


@record
class Routine:
    """A routine, by LAPACK's name for real numbers, and its arguments other than arrays.

    `options` are letters, in LAPACK's order; `numbers` the bounds of gehrd.
    """

    name: str
    options: str = ""
    numbers: tuple[int, ...] = ()

    @property
    def is_in_python(self) -> bool:
        """Whether SciPy computes it on every device: LAPACK has no such routine."""
        return self.name == "sparse_solve"

    def run(self, operands: Sequence[NDArray[Any]], results: Sequence[NDArray[Any]]) -> None:
        """Fill the results, matrix by matrix."""
        if self.name == _PERMUTATION:
            _permute(*operands, *results)
            return
        of_one, rank = _ROUTINES[self.name]
        for at in np.ndindex(operands[0].shape[: operands[0].ndim - rank]):
            for result, value in zip(results, of_one(self, tuple(x[at] for x in operands)), strict=True):
                result[at] = value


_Values: TypeAlias = tuple[Any, ...]  # arrays and numbers
_Matrices: TypeAlias = Callable[[Routine, Arrays], _Values]  # computes a routine for one matrix of every operand


def _routine(name: str, x: NDArray[Any]) -> Any:
    """SciPy's wrapper of a routine, for the type of `x`; complex types have their own names for some."""
    # programs without linear algebra need no SciPy
    from scipy.linalg import lapack  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    of_complex = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}
    letter = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[x.dtype.str[1:]]
    return getattr(lapack, letter + (of_complex.get(name, name) if x.dtype.kind == "c" else name))


def _triangle(x: NDArray[Any], uplo: str) -> NDArray[Any]:
    return np.tril(x) if uplo == "L" else np.triu(x)


def _potrf(call: Routine, inputs: Arrays) -> _Values:
    (a,), uplo = inputs, call.options
    if not a.size:
        return a, np.int32(0)
    factor, info = _routine("potrf", a)(a, lower=uplo == "L", clean=False)
    return factor, info


def _cholesky(call: Routine, inputs: Arrays) -> _Values:
    """Factorize by NumPy, which reads the lower triangle; all NaN if there is no factor, or NaN on its diagonal."""
    (a,), uplo = inputs, call.options
    lower = a if uplo == "L" else a.conj().T
    try:
        factor = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        factor = np.full_like(a, np.nan)
    if np.isnan(np.diag(factor)).any():
        return (np.full_like(a, np.nan),)
    return (factor if uplo == "L" else factor.conj().T,)


def _trsm(call: Routine, inputs: Arrays) -> _Values:
    """Substitution, one unknown row after the other."""
    (a, b), (side, uplo, trans, diag) = inputs, call.options
    matrix = _triangle(a, uplo)
    if diag == "U":
        np.fill_diagonal(matrix, 1)
    matrix = {"N": matrix, "T": matrix.T, "C": matrix.conj().T}[trans]
    if side == "R":  # x a = b is a^T x^T = b^T
        matrix, b = matrix.T, b.T
    x, is_lower = b.copy(), ((uplo == "L") + (trans != "N") + (side == "R")) % 2 == 1
    order = range(len(x)) if is_lower else range(len(x) - 1, -1, -1)
    for i in order:
        known = slice(0, i) if is_lower else slice(i + 1, None)
        x[i] = (x[i] - matrix[i, known] @ x[known]) / matrix[i, i]
    return (x if side == "L" else x.T,)


def _getrf(_: Routine, inputs: Arrays) -> _Values:
    """Eliminate column by column, with the largest remaining element on the diagonal."""
    a = inputs[0].copy()
    pivots, info = np.zeros(min(a.shape), np.int32), 0
    for k in range(len(pivots)):
        sizes = np.abs(np.real(a[k:, k])) + np.abs(np.imag(a[k:, k]))
        pivot = k + int(np.argmax(sizes))
        pivots[k] = pivot + 1
        if a[pivot, k] == 0:
            info = info or k + 1
            continue
        a[[k, pivot]] = a[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, pivots, np.int32(info)


def _geqrf(_: Routine, inputs: Arrays) -> _Values:
    (a,) = inputs
    if not a.size:
        return a, np.zeros(0, a.dtype)
    factors, tau, _, _ = _routine("geqrf", a)(a)
    return factors, tau


def _geqp3(_: Routine, inputs: Arrays) -> _Values:
    """Factorize with free columns only: SciPy's wrapper takes no `jpvt` for columns that stay in front."""
    a, first = inputs
    assert not first.any(), "the reference has free columns only"
    if not a.size:
        return a, np.arange(1, a.shape[1] + 1, dtype=np.int32), np.zeros(0, a.dtype)
    factors, pivots, tau, _, _ = _routine("geqp3", a)(a)
    return factors, pivots, tau


def _reflectors(a: NDArray[Any], tau: NDArray[Any]) -> NDArray[Any]:
    """The product of the elementary reflectors `I - tau v v^H`."""
    found = np.eye(len(a), dtype=a.dtype)
    for k, scale in enumerate(tau):
        v = np.concatenate([np.zeros(k), [1], a[k + 1 :, k]]).astype(a.dtype)
        found = found - scale * np.outer(found @ v, v.conj())
    return found


def _orgqr(_: Routine, inputs: Arrays) -> _Values:
    a, tau = inputs
    return (_reflectors(a, tau)[:, : a.shape[1]],)


def _ormqr(call: Routine, inputs: Arrays) -> _Values:
    (a, tau, c), (side, trans) = inputs, call.options
    q = _reflectors(a, tau)
    q = q if trans == "N" else q.conj().T
    return (q @ c if side == "L" else c @ q,)


def _decomposed(routine: str) -> _Matrices:
    """A singular value decomposition with all vectors, with as many as values, or without any."""

    def of_one(call: Routine, inputs: Arrays) -> _Values:
        (a,), job = inputs, call.options
        m, n = a.shape
        if not np.isfinite(a).all():  # LAPACK may not terminate; info is that of newer versions for NaN
            rows, columns = (m, n) if job == "A" else (min(m, n),) * 2
            shapes = (m, rows), (min(m, n),), (columns, n)
            u, s, v, info = *(np.full(shape, np.nan) for shape in shapes), -4
        elif a.size:
            u, s, v, info = _routine(routine, a)(a, compute_uv=job != "N", full_matrices=job == "A")
        else:
            rows, columns = (m, n) if job == "A" else (0, 0)
            u, s, v, info = np.eye(m, rows), np.zeros(0), np.eye(columns, n), 0
        return (s, np.int32(info)) if job == "N" else (s, u, v, np.int32(info))

    return of_one


def _syevd(call: Routine, inputs: Arrays) -> _Values:
    (a,), (job, uplo) = inputs, call.options
    if not a.size:
        values, vectors, info = np.zeros(0), a, 0
    else:
        values, vectors, info = _routine("syevd", a)(a, compute_v=job == "V", lower=uplo == "L")
    return (vectors, values, np.int32(info)) if job == "V" else (values, np.int32(info))


def _sytrd(call: Routine, inputs: Arrays) -> _Values:
    (a,), uplo = inputs, call.options
    if not a.size:
        real, empty = np.zeros(0, np.real(a).dtype), np.zeros(0, a.dtype)
        return a, real, real, empty, np.int32(0)
    reduced, d, e, tau, info = _routine("sytrd", a)(a, lower=uplo == "L")
    return reduced, d, e, tau, info


def _geev(call: Routine, inputs: Arrays) -> _Values:
    """Eigenvalues; for matrices that are not finite, info is -4 as in jaxlib, and all results are NaN."""
    (a,), jobs = inputs, call.options
    n, is_complex = len(a), a.dtype.kind == "c"
    to_complex = np.result_type(a.dtype, np.complex64)
    wanted = [job == "V" for job in jobs]
    if not np.isfinite(a).all() or not a.size:
        empty = np.full(n, np.nan, a.dtype)
        vectors = [np.full((n, n), np.nan, to_complex)] * sum(wanted)
        return (*([empty] * (1 if is_complex else 2)), *vectors, np.int32(-4 if a.size else 0))
    *values, left, right, info = _routine("geev", a)(a, compute_vl=wanted[0], compute_vr=wanted[1])
    sides = [x for x, is_wanted in zip((left, right), wanted, strict=True) if is_wanted]
    if not is_complex:
        sides = [_unpacked(x, values[1]) for x in sides]
    return (*values, *sides, np.int32(info))


def _unpacked(columns: NDArray[Any], imaginary: NDArray[Any]) -> NDArray[Any]:
    """Unpack conjugate pairs of eigenvectors: two columns hold the real and the imaginary part of the first."""
    found = columns.astype(np.result_type(columns.dtype, np.complex64))
    for k in np.flatnonzero(imaginary > 0):
        found[:, k] = columns[:, k] + 1j * columns[:, k + 1]
        found[:, k + 1] = found[:, k].conj()
    return found


def _none(*_: object) -> bool:
    return False


def _gees(call: Routine, inputs: Arrays) -> _Values:
    (a,), job = inputs, call.options
    if not a.size:
        values, form, vectors = [np.zeros(0)] * (1 if a.dtype.kind == "c" else 2), a, a
        count = info = 0
    else:
        form, count, *values, vectors, _, info = _routine("gees", a)(_none, a, compute_v=job == "V")
    return (form, *([vectors] if job == "V" else []), *values, np.int32(count), np.int32(info))


def _gehrd(call: Routine, inputs: Arrays) -> _Values:
    (a,), (low, high) = inputs, call.numbers
    if not a.size:
        return a, np.zeros(0, a.dtype), np.int32(0)
    reduced, tau, info = _routine("gehrd", a)(a, lo=low - 1, hi=high - 1)
    return reduced, tau, info


def _gtsv(_: Routine, inputs: Arrays) -> _Values:
    """Solve; the first element of the lower diagonal and the last of the upper one are unused, and stay."""
    lower, diagonal, upper, b = inputs
    if not b.size:
        return lower, diagonal, upper, b, np.int32(0)
    found = _routine("gtsv", b)(lower[1:], diagonal, upper[:-1], b)
    return np.append(lower[:1], found[0]), found[1], np.append(found[2], upper[-1:]), found[3], np.int32(found[4])


def _gtsv_perturbed(_: Routine, inputs: Arrays) -> _Values:
    """Eliminate with interchanges of adjacent rows, as LAPACK's lagtf; a pivot too small to divide by is perturbed."""
    lower, diagonal, upper, x = (np.array(one) for one in inputs)
    n, tiny = len(x), float(np.finfo(x.dtype).tiny)
    bands = np.stack([diagonal, upper, np.zeros_like(upper)], -1)  # the rows of the triangular factor
    bands[n - 1 :, 1] = 0
    scale = np.abs(bands[:1, :2]).sum()
    for k in range(n - 1):
        below = lower[k + 1]
        size = np.abs([below, *bands[k + 1, :2]]).sum()
        if below == 0:
            scale = size
        elif np.abs(below) / size <= (np.abs(bands[k, 0]) / scale if bands[k, 0] else 0):
            factor, scale = below / bands[k, 0], size
            bands[k + 1, 0] -= factor * bands[k, 1]
            x[k + 1] -= factor * x[k]
        else:
            factor = bands[k, 0] / below
            first, second = bands[k].copy(), bands[k + 1].copy()
            bands[k] = below, second[0], second[1]
            bands[k + 1] = first[1] - factor * second[0], -factor * second[1], 0
            x[k], x[k + 1] = x[k + 1].copy(), x[k] - factor * x[k + 1]
            scale = np.abs(bands[k + 1, :2]).sum()
    step = max(tiny, float(np.finfo(x.dtype).eps * np.abs(bands).max(initial=0)))
    for k in range(n - 1, -1, -1):
        for band, known in enumerate(x[k + 1 : k + 3], start=1):
            x[k] -= bands[k, band] * known
        pivot = bands[k, 0]
        move = step if pivot.real >= 0 else -step
        while (np.abs(pivot) < 1 and np.abs(x[k]).max(initial=0) * tiny > np.abs(pivot)) or pivot == 0:
            pivot, move = pivot + move, 2 * move
        x[k] /= pivot
    return (x,)


def _cholesky_update(_: Routine, inputs: Arrays) -> _Values:
    """Apply one Givens rotation per row, which zeroes an element of the vector (LINPACK's `chud`)."""
    factor, w = (np.array(one) for one in inputs)
    for k in range(len(w)):
        length = np.hypot(factor[k, k], w[k])
        c, s = (factor[k, k] / length, w[k] / length) if w[k] else (1, 0)
        factor[k], w = c * factor[k] + s * w, c * w - s * factor[k]
    return factor, w


def _sparse_solve(_: Routine, inputs: Arrays) -> _Values:
    """Solve by SuperLU; NaN where the matrix is singular. Raises `ShloDiscError` for an invalid CSR matrix."""
    from scipy import sparse  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    data, columns, starts, b = inputs
    if not b.size:
        return (b,)
    count = int(starts[-1])
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or not 0 <= count <= data.size:
        raise ShloDiscError(f"expected starts of rows that rise from 0 to at most {data.size}, found {starts}")
    data, columns = data[:count], columns[:count]
    if ((columns < 0) | (columns >= b.size)).any():
        raise ShloDiscError(f"expected columns from 0 to {b.size - 1} in a sparse system, found {columns}")
    scipy: Any = sparse
    matrix = scipy.csr_matrix((data, columns, starts), shape=(b.size, b.size)).tocsc()
    try:
        return (scipy.linalg.splu(matrix).solve(b),)
    except RuntimeError:
        return (np.full_like(b, np.nan),)


def _permute(pivots: NDArray[Any], rows: NDArray[Any]) -> None:
    """Convert row interchanges, numbered from 0, to the permutation that they result in."""
    rows[...] = np.arange(rows.shape[-1])
    for at in np.ndindex(pivots.shape[:-1]):
        for k, other in enumerate(pivots[at]):
            rows[at][[k, other]] = rows[at][[other, k]]


_PERMUTATION = "pivots_to_permutation"  # not a routine of LAPACK
# The function for one matrix, and the rank of its first operand.
_ROUTINES: Mapping[str, tuple[_Matrices, int]] = {
    "potrf": (_potrf, 2),
    "cholesky": (_cholesky, 2),
    "trsm": (_trsm, 2),
    "getrf": (_getrf, 2),
    "geqrf": (_geqrf, 2),
    "geqp3": (_geqp3, 2),
    "orgqr": (_orgqr, 2),
    "ormqr": (_ormqr, 2),
    "gesdd": (_decomposed("gesdd"), 2),
    "gesvd": (_decomposed("gesvd"), 2),
    "syevd": (_syevd, 2),
    "sytrd": (_sytrd, 2),
    "geev": (_geev, 2),
    "gees": (_gees, 2),
    "gehrd": (_gehrd, 2),
    "gtsv": (_gtsv, 1),
    "gtsv_perturbed": (_gtsv_perturbed, 1),
    "cholesky_update": (_cholesky_update, 2),
    "sparse_solve": (_sparse_solve, 1),
}
