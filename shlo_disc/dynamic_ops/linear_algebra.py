"""Ops that LAPACK computes, on batches of matrices in the last two dims. Named after its routines for real numbers.

The references call SciPy's wrappers, one matrix at a time; layouts, workspaces and failures are SciPy's matter there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.opdef import Arrays, NoAttrs, OpDef, Template, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.numpy_math import numpy_dtype


@dataclass(frozen=True, slots=True)
class LapackAttrs:
    """The routine's arguments of one letter, in LAPACK's order; `LUNN` are side, uplo, trans and diag of trsm."""

    options: str = ""


@dataclass(frozen=True, slots=True)
class HessenbergAttrs:
    """The rows and columns from `low` to `high`, counted from 1, are reduced; the others are triangular already."""

    low: Dim
    high: Dim


_Values: TypeAlias = tuple[Any, ...]  # arrays and numbers
_Matrices: TypeAlias = Callable[[Op[Any], Arrays], _Values]  # what a routine makes of one matrix of every operand


def _batched(of_one: _Matrices, ranks: Sequence[int]) -> Callable[[Op[Any], Arrays], Arrays]:
    """Apply a function of single matrices to a batch; `ranks` are those of an operand without the batch's dims."""

    def reference(op: Op[Any], inputs: Arrays) -> Arrays:
        batch = inputs[0].shape[: inputs[0].ndim - ranks[0]]
        results = tuple(np.zeros(concrete_shape(x.shape), numpy_dtype(x.dtype)) for x in op.results)
        for at in np.ndindex(batch):
            for result, value in zip(results, of_one(op, tuple(x[at] for x in inputs)), strict=True):
                result[at] = value
        return results

    return reference


def _routine(name: str, x: NDArray[Any]) -> Any:
    """SciPy's wrapper of a routine, for the type of `x`; complex types have their own names for some."""
    # programs without linear algebra need no SciPy
    from scipy.linalg import lapack  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    of_complex = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}
    letter = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[x.dtype.str[1:]]
    return getattr(lapack, letter + (of_complex.get(name, name) if x.dtype.kind == "c" else name))


def _triangle(x: NDArray[Any], uplo: str) -> NDArray[Any]:
    return np.tril(x) if uplo == "L" else np.triu(x)


def _potrf(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a,), uplo = inputs, op.attrs.options
    if not a.size:
        return a, np.int32(0)
    factor, info = _routine("potrf", a)(a, lower=uplo == "L", clean=False)
    return factor, info


def _cholesky(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    """NumPy takes the lower triangle. Without a factor all of it is NaN; NumPy's can be one that NaN has spread in."""
    (a,), uplo = inputs, op.attrs.options
    lower = a if uplo == "L" else a.conj().T
    try:
        factor = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        factor = np.full_like(a, np.nan)
    if np.isnan(np.diag(factor)).any():
        return (np.full_like(a, np.nan),)
    return (factor if uplo == "L" else factor.conj().T,)


def _trsm(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    """Substitution, one unknown row after the other."""
    (a, b), (side, uplo, trans, diag) = inputs, op.attrs.options
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


def _getrf(_: Op[LapackAttrs], inputs: Arrays) -> _Values:
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


def _geqrf(_: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a,) = inputs
    if not a.size:
        return a, np.zeros(0, a.dtype)
    factors, tau, _, _ = _routine("geqrf", a)(a)
    return factors, tau


def _geqp3(_: Op[LapackAttrs], inputs: Arrays) -> _Values:
    """SciPy's wrapper takes no `jpvt`: columns that are to stay in front are refused."""
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


def _orgqr(_: Op[LapackAttrs], inputs: Arrays) -> _Values:
    a, tau = inputs
    return (_reflectors(a, tau)[:, : a.shape[1]],)


def _ormqr(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a, tau, c), (side, trans) = inputs, op.attrs.options
    q = _reflectors(a, tau)
    q = q if trans == "N" else q.conj().T
    return (q @ c if side == "L" else c @ q,)


def _decomposed(routine: str) -> _Matrices:
    """Singular values, and the vectors that are asked for: all, as many as values, none."""

    def of_one(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
        (a,), job = inputs, op.attrs.options
        m, n = a.shape
        if a.size:
            u, s, v, info = _routine(routine, a)(a, compute_uv=job != "N", full_matrices=job == "A")
        else:
            rows, columns = (m, n) if job == "A" else (0, 0)
            u, s, v, info = np.eye(m, rows), np.zeros(0), np.eye(columns, n), 0
        return (s, np.int32(info)) if job == "N" else (s, u, v, np.int32(info))

    return of_one


def _syevd(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a,), (job, uplo) = inputs, op.attrs.options
    if not a.size:
        values, vectors, info = np.zeros(0), a, 0
    else:
        values, vectors, info = _routine("syevd", a)(a, compute_v=job == "V", lower=uplo == "L")
    return (vectors, values, np.int32(info)) if job == "V" else (values, np.int32(info))


def _sytrd(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a,), uplo = inputs, op.attrs.options
    if not a.size:
        real, empty = np.zeros(0, np.real(a).dtype), np.zeros(0, a.dtype)
        return a, real, real, empty, np.int32(0)
    reduced, d, e, tau, info = _routine("sytrd", a)(a, lower=uplo == "L")
    return reduced, d, e, tau, info


def _geev(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    """Matrices that are not finite have the info -4 and NaN everywhere, as with jaxlib (which leaves the rest open)."""
    (a,), jobs = inputs, op.attrs.options
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
    """A pair of conjugate eigenvectors is in two columns: the real and the imaginary part of the first."""
    found = columns.astype(np.result_type(columns.dtype, np.complex64))
    for k in np.flatnonzero(imaginary > 0):
        found[:, k] = columns[:, k] + 1j * columns[:, k + 1]
        found[:, k + 1] = found[:, k].conj()
    return found


def _none(*_: object) -> bool:
    return False


def _gees(op: Op[LapackAttrs], inputs: Arrays) -> _Values:
    (a,), job = inputs, op.attrs.options
    if not a.size:
        values, form, vectors = [np.zeros(0)] * (1 if a.dtype.kind == "c" else 2), a, a
        count = info = 0
    else:
        form, count, *values, vectors, _, info = _routine("gees", a)(_none, a, compute_v=job == "V")
    return (form, *([vectors] if job == "V" else []), *values, np.int32(count), np.int32(info))


def _gehrd(op: Op[HessenbergAttrs], inputs: Arrays) -> _Values:
    (a,), low, high = inputs, op.attrs.low.constant, op.attrs.high.constant
    assert low is not None, "the interpreter evaluates dims"
    assert high is not None, "the interpreter evaluates dims"
    if not a.size:
        return a, np.zeros(0, a.dtype), np.int32(0)
    reduced, tau, info = _routine("gehrd", a)(a, lo=low - 1, hi=high - 1)
    return reduced, tau, info


def _gtsv(_: Op[LapackAttrs], inputs: Arrays) -> _Values:
    """The first element of the lower diagonal, as the last of the upper one, stands for nothing and stays."""
    lower, diagonal, upper, b = inputs
    if not b.size:
        return lower, diagonal, upper, b, np.int32(0)
    found = _routine("gtsv", b)(lower[1:], diagonal, upper[:-1], b)
    return np.append(lower[:1], found[0]), found[1], np.append(found[2], upper[-1:]), found[3], np.int32(found[4])


def _permutation(op: Op[NoAttrs], inputs: Arrays) -> _Values:
    (pivots,) = inputs
    rows = np.arange(concrete_shape(op.results[0].shape)[-1], dtype=np.int32)
    for k, other in enumerate(pivots):
        rows[[k, other]] = rows[[other, k]]
    return (rows,)


def _library(name: str, of_one: _Matrices, *ranks: int, attrs: type[Any] = LapackAttrs) -> OpDef[Any]:
    reference = plain(_batched(of_one, ranks))
    return OpDef(name=name, attrs=attrs, template=Template.LIBRARY, element=None, reference=reference)


# Operands and results are those of jaxlib's custom calls of the same names, but for results that a routine leaves
# undefined: those are no results here. Every operand comes with the rank of one of its matrices.
OPS = (
    _library("d_potrf", _potrf, 2),  # a -> factor, info; uplo; the other triangle is that of a
    _library("d_cholesky", _cholesky, 2),  # a -> factor; uplo; zeros in the other triangle, NaN if there is no factor
    _library("d_trsm", _trsm, 2, 2),  # a, b -> x; side, uplo, trans, diag
    _library("d_getrf", _getrf, 2),  # a -> l and u, pivots (from 1), info
    _library("d_geqrf", _geqrf, 2),  # a -> reflectors and r, tau
    _library("d_geqp3", _geqp3, 2, 1),  # a, jpvt -> reflectors and r, jpvt, tau
    _library("d_orgqr", _orgqr, 2, 1),  # reflectors, tau -> q
    _library("d_ormqr", _ormqr, 2, 1, 2),  # reflectors, tau, c -> product; side, trans
    _library("d_gesdd", _decomposed("gesdd"), 2),  # a -> s, u, v^H, info, or s, info; job
    _library("d_gesvd", _decomposed("gesvd"), 2),  # the same, by QR iterations
    _library("d_syevd", _syevd, 2),  # a -> vectors, values, info, or values, info; job, uplo
    _library("d_sytrd", _sytrd, 2),  # a -> reflectors, diagonal, off-diagonal, tau, info; uplo
    _library("d_geev", _geev, 2),  # a -> values (or re, im), wanted left and right vectors, info; jobvl, jobvr
    _library("d_gees", _gees, 2),  # a -> t, wanted vectors, values (or re, im), count, info; job
    _library("d_gehrd", _gehrd, 2, attrs=HessenbergAttrs),  # a -> reflectors and h, tau, info
    _library("d_gtsv", _gtsv, 1, 1, 1, 2),  # dl, d, du, b -> factors (3), x, info
    _library("d_pivots_to_permutation", _permutation, 1, attrs=NoAttrs),  # interchanges (from 0) -> rows
)
