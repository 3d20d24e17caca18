"""References of linear algebra: what they give has the properties that its routine's name promises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.linear_algebra import HessenbergAttrs, LapackAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.facets import run_body
from tests.dynamic_ops.sampling import DTYPES, Array

KINDS = [np.float64, np.complex64]
SQUARES = [(0, 3), (2, 0), (1, 1), (2, 5)]  # of a batch, and how large


def run(name: str, attrs: Any, inputs: Sequence[Array], *results: tuple[tuple[int, ...], Any]) -> list[Array]:
    def tensor(shape: tuple[int, ...], dtype: Any) -> Tensor:
        return Tensor("x", tuple(map(const, shape)), DTYPES[np.dtype(dtype)], NOWHERE)

    operands = tuple(tensor(x.shape, x.dtype) for x in inputs)
    op: Op[Any] = Op(name, operands, attrs, tuple(tensor(*one) for one in results), (), NOWHERE)
    return list(definition(op).reference(op, tuple(inputs), run_body))


def matrices(b: int, m: int, n: int, kind: Any) -> Array:
    rng = np.random.default_rng([b, m, n])
    x = rng.standard_normal((b, m, n))
    return (x + 1j * rng.standard_normal(x.shape)).astype(kind) if np.dtype(kind).kind == "c" else x.astype(kind)


def adjoint(x: Array) -> Array:
    return np.swapaxes(x, -1, -2).conj()


def same(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 if wanted.dtype.itemsize == 8 else 1e-10)


@pytest.mark.parametrize(("kind", "sizes"), [*product(KINDS, SQUARES)])
def test_factors(kind: Any, sizes: tuple[int, int]) -> None:
    b, n = sizes
    a, real, info = matrices(b, n, n, kind), np.zeros(0, kind).real.dtype, ((b,), np.int32)
    same_type, line = ((b, n, n), kind), ((b, n), kind)
    s = a @ adjoint(a) + np.eye(n, dtype=kind)
    for uplo in "LU":
        (factor,) = run("d_cholesky", LapackAttrs(uplo), [s], same_type)
        raw, failed = run("d_potrf", LapackAttrs(uplo), [s], same_type, info)
        same(factor @ adjoint(factor) if uplo == "L" else adjoint(factor) @ factor, s)
        same(np.tril(raw) if uplo == "L" else np.triu(raw), factor)
        assert not failed.any()
        vectors, values, _ = run("d_syevd", LapackAttrs("V" + uplo), [s], same_type, ((b, n), real), info)
        same(s @ vectors, vectors * values[..., None, :])
        off = max(n - 1, 0)
        shapes = [((b, n), real), ((b, off), real), ((b, off), kind), info]
        _, d, e, *_ = run("d_sytrd", LapackAttrs(uplo), [s], same_type, *shapes)
        squares = (np.abs(d) ** 2).sum(-1) + 2 * (np.abs(e) ** 2).sum(-1)
        np.testing.assert_allclose(squares, (np.abs(s) ** 2).sum((-1, -2)), rtol=1e-4)
    lu, pivots, _ = run("d_getrf", LapackAttrs(), [a], same_type, ((b, n), np.int32), info)
    (rows,) = run("d_pivots_to_permutation", NoAttrs(), [pivots - 1], ((b, n), np.int32))
    same((np.tril(lu, -1) + np.eye(n)) @ np.triu(lu), np.take_along_axis(a, rows[..., None].astype(np.int64), -2))
    form, vectors, *_ = run(
        "d_gees", LapackAttrs("V"), [a], same_type, same_type, *[line] * (1 if a.dtype.kind == "c" else 2), info, info
    )
    same(vectors @ form @ adjoint(vectors), a)
    reduced, *_ = run("d_gehrd", HessenbergAttrs(1, n), [a], same_type, ((b, max(n - 1, 0)), kind), info)
    same(np.trace(reduced, axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (0, 3), (4, 1)])
def test_reflections_and_singular_values(kind: Any, m: int, n: int) -> None:
    a, k, real = matrices(2, m, n, kind), min(m, n), np.zeros(0, kind).real.dtype
    factors, tau = run("d_geqrf", LapackAttrs(), [a], (a.shape, kind), ((2, k), kind))
    thin = factors[..., :k]
    (q,) = run("d_orgqr", LapackAttrs(), [thin, tau], (thin.shape, kind))
    same(q @ np.triu(factors[..., :k, :]), a)
    trans = "C" if a.dtype.kind == "c" else "T"
    (r,) = run("d_ormqr", LapackAttrs("L" + trans), [thin, tau, a], (a.shape, kind))
    same(r, np.triu(factors))
    free = np.zeros((2, n), np.int32)
    factors, order, tau = run("d_geqp3", LapackAttrs(), [a, free], (a.shape, kind), ((2, n), np.int32), ((2, k), kind))
    (q,) = run("d_orgqr", LapackAttrs(), [factors[..., :k], tau], ((2, m, k), kind))
    same(q @ np.triu(factors[..., :k, :]), np.take_along_axis(a, order[:, None, :].astype(np.int64) - 1, -1))
    for name, job in product(("d_gesdd", "d_gesvd"), "AS"):
        columns, rows = (m, n) if job == "A" else (k, k)
        shapes = [((2, k), real), ((2, m, columns), kind), ((2, rows, n), kind), ((2,), np.int32)]
        s, u, v, _ = run(name, LapackAttrs(job), [a], *shapes)
        same((u[..., :k] * s[..., None, :]) @ v[..., :k, :], a)
        same(adjoint(u) @ u, np.broadcast_to(np.eye(columns), (2, columns, columns)).astype(kind))


@pytest.mark.parametrize(("kind", "options"), [*product(KINDS, map("".join, product("LR", "LU", "NTC", "NU")))])
def test_triangular_solve(kind: Any, options: str) -> None:
    side, uplo, trans, diag = options
    a, b = matrices(2, 4, 4, kind) + 3 * np.eye(4, dtype=kind), matrices(2, *((4, 3) if side == "L" else (3, 4)), kind)
    (x,) = run("d_trsm", LapackAttrs(options), [a, b], (b.shape, kind))
    matrix = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        matrix[..., range(4), range(4)] = 1
    matrix = {"N": matrix, "T": np.swapaxes(matrix, -1, -2), "C": adjoint(matrix)}[trans]
    same(matrix @ x if side == "L" else x @ matrix, b)


@pytest.mark.parametrize("kind", KINDS)
def test_eigenvectors_of_general_matrices(kind: Any) -> None:
    a, wide = matrices(3, 5, 5, kind), np.result_type(kind, np.complex64)
    a[2, 1, 1] = np.nan
    values = [((3, 5), kind)] * (1 if a.dtype.kind == "c" else 2)
    *w, left, right, info = run("d_geev", LapackAttrs("VV"), [a], *values, *[((3, 5, 5), wide)] * 2, ((3,), np.int32))
    value = (w[0] if len(w) == 1 else w[0] + 1j * w[1])[:2]
    same(a[:2] @ right[:2], right[:2] * value[:, None, :])
    same(adjoint(left[:2]) @ a[:2], value[:, :, None] * adjoint(left[:2]))
    assert info.tolist() == [0, 0, -4]
    assert np.isnan(right[2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_tridiagonal_systems(kind: Any) -> None:
    lower, diagonal, upper = (matrices(2, 1, 4, kind)[:, 0] + k for k in (1, 9, 2))
    b = matrices(2, 4, 3, kind)
    shapes = [((2, 4), kind)] * 3
    *_, x, info = run("d_gtsv", LapackAttrs(), [lower, diagonal, upper, b], *shapes, (b.shape, kind), ((2,), np.int32))
    for k in range(2):
        matrix = np.diag(diagonal[k]) + np.diag(lower[k, 1:], -1) + np.diag(upper[k, :-1], 1)
        same(matrix @ x[k], b[k])
    assert not info.any()


@pytest.mark.parametrize("kind", KINDS)
def test_tridiagonal_systems_that_may_be_singular(kind: Any) -> None:
    """Small pivots in front of large elements below; and inverse iteration, which finds an eigenvector."""
    lower, diagonal, upper = (matrices(2, 1, 5, kind)[:, 0] * scale for scale in (9, 0.1, 1))
    b = matrices(2, 5, 3, kind)
    (x,) = run("d_gtsv_perturbed", LapackAttrs(), [lower, diagonal, upper, b], (b.shape, kind))
    symmetric = np.diag(np.arange(5.0)) + np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    value = np.linalg.eigvalsh(symmetric)[2]
    ones = np.ones((1, 5), kind)
    singular = [ones, np.diag(symmetric - value * np.eye(5)).astype(kind)[None], ones, matrices(1, 5, 1, kind)]
    (v,) = run("d_gtsv_perturbed", LapackAttrs(), singular, ((1, 5, 1), kind))
    v = v[0] / np.abs(v[0]).max()
    same((symmetric @ v).astype(kind), (value * v).astype(kind))
    for k in range(2):
        matrix = np.diag(diagonal[k]) + np.diag(lower[k, 1:], -1) + np.diag(upper[k, :-1], 1)
        size = np.abs(matrix).max() * np.abs(x[k]).max()
        same(matrix @ x[k] / size, b[k] / size)


def test_updates_of_factors() -> None:
    factor, w = np.triu(matrices(2, 4, 4, np.float64)), matrices(2, 4, 1, np.float64)[..., 0]
    updated, _ = run("d_cholesky_update", LapackAttrs(), [factor, w], (factor.shape, np.float64), (w.shape, np.float64))
    same(adjoint(updated) @ updated, adjoint(factor) @ factor + w[:, :, None] * w[:, None, :])
    same(np.tril(updated, -1), np.zeros_like(updated))


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_systems(kind: Any) -> None:
    """A row without the diagonal, and elements after the last row."""
    values, b = np.array([2, 3, 4, 5, 99], kind), np.array([1, 2, 3], kind)
    places = [np.array(x, np.int32) for x in ((1, 0, 2, 2, 0), (0, 1, 3, 4))]
    (x,) = run("d_sparse_solve", LapackAttrs(), [values, *places, b], (b.shape, kind))
    same(np.array([[0, 2, 0], [3, 0, 4], [0, 0, 5]]) @ x, b)
    (x,) = run("d_sparse_solve", LapackAttrs(), [values * 0, *places, b], (b.shape, kind))
    assert np.isnan(x).all()


def test_without_a_factor_all_is_nan() -> None:
    a = np.stack([-np.eye(3), np.diag([1, np.nan, 1])])
    (factor,) = run("d_cholesky", LapackAttrs("L"), [a], (a.shape, np.float64))
    assert np.isnan(factor).all()
    assert DTYPES[factor.dtype] is DType.F64
