"""What cuSOLVER's side of linear algebra has to compute: on stand-ins in the tests, on a GPU in `benchmarks.gpu`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.linear_algebra import Routine

Array: TypeAlias = NDArray[Any]
KINDS: tuple[Any, ...] = (np.float32, np.float64, np.complex64, np.complex128)
BATCHES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2), (0,))

_Shaped: TypeAlias = tuple[tuple[int, ...], Any]  # a shape and a dtype
_Judge: TypeAlias = Callable[[Sequence[Array], Sequence[Array], Sequence[Array]], None]  # inputs, found, wanted


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a routine, and who says whether its results are right."""

    routine: Routine
    inputs: tuple[Array, ...]
    results: tuple[_Shaped, ...]
    judge: _Judge

    def wanted(self) -> list[Array]:
        """What the reference computes."""
        found = [np.zeros(shape, kind) for shape, kind in self.results]
        self.routine.run(self.inputs, found)
        return found

    def blank(self) -> list[Array]:
        """Results that nothing has been written to."""
        return [np.full(shape, 99 if np.dtype(kind).kind == "i" else np.nan, kind) for shape, kind in self.results]

    def check(self, found: Sequence[Array]) -> None:
        """Raise `AssertionError` if the results are wrong."""
        self.judge(self.inputs, found, self.wanted())


def numbers(kind: Any, *shape: int) -> Array:
    """Normal numbers, the same ones for a shape."""
    rng = np.random.default_rng([len(shape), *shape])
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return x.astype(kind) if np.dtype(kind).kind == "c" else x.real.astype(kind)


def cases(kind: Any) -> Iterator[Case]:
    """All routines of one type of elements: batches of none, one and more, and sizes from 0."""
    for batch in BATCHES:
        yield from _factors(kind, batch)
        yield from _reflections(kind, batch)
        yield from _singular(kind, batch)
        yield from _eigen(kind, batch)
    yield from _failures(kind)
    pivots = np.sort(np.random.default_rng(0).integers(0, 5, (131, 3)), axis=-1).astype(np.int32)
    for one, rows in ((pivots, (131, 5)), (pivots[0], (5,))):  # more matrices than a block has threads
        yield Case(Routine("pivots_to_permutation"), (one,), ((rows, np.int32),), _same)


def _factors(kind: Any, batch: tuple[int, ...]) -> Iterator[Case]:
    for n in (0, 1, 5):
        a = numbers(kind, *batch, n, n)
        positive = a @ adjoint(a) + np.eye(n, dtype=kind) * n
        square, info = ((*batch, n, n), kind), (batch, np.int32)
        for uplo, other in (("L", np.triu(a, 1)), ("U", np.tril(a, -1))):
            yield Case(Routine("potrf", uplo), (positive + other,), (square, info), _same)
            yield Case(Routine("cholesky", uplo), (positive,), (square,), _same)
        for (side, shape), uplo, trans, diag in product(
            (("L", (n, 3)), ("R", (3, n)), ("L", (n, 0))), "LU", "NTC", "NU"
        ):
            b = numbers(kind, *batch, *shape)
            yield Case(Routine("trsm", side + uplo + trans + diag), (positive, b), ((b.shape, kind),), _same)


def _reflections(kind: Any, batch: tuple[int, ...]) -> Iterator[Case]:
    nothing = numbers(kind, *batch, 3, 2), np.zeros((*batch, 0), kind)
    yield Case(Routine("orgqr"), nothing, (((*batch, 3, 2), kind),), _same)
    for m, n in ((4, 4), (5, 3), (3, 5), (1, 1), (0, 2)):
        a, k = numbers(kind, *batch, m, n), min(m, n)
        same, line, info = (a.shape, kind), ((*batch, k), kind), (batch, np.int32)
        yield Case(Routine("getrf"), (a,), (same, ((*batch, k), np.int32), info), _are_factors)
        reflected = Case(Routine("geqrf"), (a,), (same, line), _same)
        yield reflected
        factors, tau = reflected.wanted()
        if m >= n:
            yield Case(Routine("orgqr"), (factors, tau), (same,), _same)
        for side, trans in product("LR", "NC" if _is_complex(kind) else "NT"):
            c = numbers(kind, *batch, *((m, 2) if side == "L" else (2, m)))
            yield Case(Routine("ormqr", side + trans), (factors, tau, c), ((c.shape, kind),), _same)


def _singular(kind: Any, batch: tuple[int, ...]) -> Iterator[Case]:
    for name, (m, n) in product(("gesvd", "gesdd"), ((3, 3), (5, 3), (3, 5), (6, 5), (5, 6), (40, 9), (0, 2))):
        a, k = numbers(kind, *batch, m, n), min(m, n)
        values, info = ((*batch, k), _real(kind)), (batch, np.int32)
        yield Case(Routine(name, "N"), (a,), (values, info), _same)
        for job, columns, rows in (("A", m, n), ("S", k, k)):
            vectors = ((*batch, m, columns), kind), ((*batch, rows, n), kind)
            yield Case(Routine(name, job), (a,), (values, *vectors, info), _are_singular)


def _eigen(kind: Any, batch: tuple[int, ...]) -> Iterator[Case]:
    for n in (0, 1, 3, 5):
        a = numbers(kind, *batch, n, n)
        line, square, info = (*batch, n), (*batch, n, n), (batch, np.int32)
        for uplo in "LU":
            results = ((square, kind), (line, _real(kind)), info)
            yield Case(Routine("syevd", "V" + uplo), (a,), results, partial(_are_hermitian, uplo))
            yield Case(Routine("syevd", "N" + uplo), (a,), results[1:], _same)
        values = ((line, kind),) * (1 if _is_complex(kind) else 2)
        vectors = (square, np.result_type(kind, np.complex64))
        yield Case(Routine("geev", "NN"), (a,), (*values, info), _are_values)
        yield Case(Routine("geev", "NV"), (a,), (*values, vectors, info), _are_right)
        if batch == (3,) and n:
            wild = a.copy()
            wild[1, 0, 0] = np.inf
            yield Case(Routine("geev", "NV"), (wild,), (*values, vectors, info), _are_right)


def _failures(kind: Any) -> Iterator[Case]:
    """Some of a batch have no factor, are singular, or are not finite; the others do not notice."""
    a = numbers(kind, 4, 4, 4)
    positive = a @ adjoint(a) + np.eye(4, dtype=kind)
    positive[1, 2, 2] = -1
    square, info = (a.shape, kind), ((4,), np.int32)
    yield Case(Routine("potrf", "L"), (positive,), (square, info), _fail_alike)
    positive[2, 3, 3] = np.nan
    for uplo in "LU":
        yield Case(Routine("cholesky", uplo), (positive,), (square,), _same)
        yield Case(Routine("cholesky", uplo), (positive[1],), (((4, 4), kind),), _same)
    a[..., 1] = 0
    yield Case(Routine("getrf"), (a,), (square, ((4, 4), np.int32), info), _are_factors)
    yield Case(Routine("getrf"), (a[0],), (((4, 4), kind), ((4,), np.int32), ((), np.int32)), _are_factors)


# -- judges


def adjoint(x: Array) -> Array:
    """The conjugate of the transpose."""
    return np.swapaxes(x, -1, -2).conj()


def _is_complex(kind: Any) -> bool:
    return np.dtype(kind).kind == "c"


def _real(kind: Any) -> Any:
    return np.zeros(0, kind).real.dtype


def near(found: Array, wanted: Array) -> None:
    """Within a few hundred roundings of the largest element."""
    size = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
    epsilon = 1e-4 if {found.dtype.name, wanted.dtype.name} & {"float32", "complex64"} else 1e-11
    np.testing.assert_allclose(found, wanted, rtol=0, atol=epsilon * size)


def _same(_: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    for x, y in zip(found, wanted, strict=True):
        near(x, y)


def _fail_alike(_: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """The rest of a factor that does not exist is not defined."""
    (factor, info), (right, wanted_info) = found, wanted
    np.testing.assert_array_equal(info, wanted_info)
    near(factor[info == 0], right[info == 0])


def _are_factors(inputs: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Rows are exchanged so that no factor exceeds 1; LAPACK and cuBLAS measure complex pivots in different ways.

    Behind a pivot that is 0, cuBLAS's batches do not go on as LAPACK does: there only the columns before it are judged.
    """
    (a,), (factors, pivots, info) = inputs, found
    np.testing.assert_array_equal(info, wanted[2])
    m, n = a.shape[-2:]
    for at in np.ndindex(info.shape):
        columns = n if info[at] == 0 else int(info[at]) - 1
        steps = min(m, n, columns)
        lower = np.tril(factors[at], -1)[:, :steps] + np.eye(m, steps)
        upper = np.triu(factors[at])[:steps, :columns]
        assert np.abs(lower).max(initial=0) <= np.sqrt(2) * 1.001  # 1 by |re| + |im| is sqrt(2) by the modulus
        exchanged = a[at].copy()
        for row, other in enumerate(pivots[at][:steps]):
            assert row < other <= m
            exchanged[[row, other - 1]] = exchanged[[other - 1, row]]
        rows = slice(None) if info[at] == 0 else slice(steps)  # later exchanges would move the others
        near((lower @ upper)[rows].astype(a.dtype), exchanged[rows, :columns])


def _are_units(vectors: Array) -> None:
    near(
        adjoint(vectors) @ vectors,
        np.broadcast_to(np.eye(vectors.shape[-1]), (*vectors.shape[:-2], *[vectors.shape[-1]] * 2)),
    )


def _are_singular(inputs: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Vectors may have any signs and phases."""
    (a,), (s, u, v, info) = inputs, found
    near(s, wanted[0])
    assert not info.any()
    _are_units(u)
    _are_units(adjoint(v))
    k = s.shape[-1]
    near((u[..., :k] * s[..., None, :]) @ v[..., :k, :], a)


def _are_hermitian(uplo: str, inputs: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    (a,), (vectors, values, info) = inputs, found
    near(values, wanted[1])
    assert not info.any()
    _are_units(vectors)
    half = np.tril(a, -1) if uplo == "L" else np.triu(a, 1)
    matrix = half + adjoint(half) + np.eye(a.shape[-1]) * np.real(a)
    near(matrix @ vectors, vectors * values[..., None, :])


def _together(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]


def _are_values(inputs: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """The same values in any order."""
    np.testing.assert_array_equal(found[-1], wanted[-1])
    mine, theirs = (_together(x[: 1 if inputs[0].dtype.kind == "c" else 2]) for x in (found, wanted))
    for at in np.ndindex(found[-1].shape):
        if found[-1][at]:
            assert np.isnan(mine[at]).all()
            continue
        far = np.abs(mine[at][:, None] - theirs[at][None, :])
        assert max(far.min(0, initial=9).max(initial=0), far.min(1, initial=9).max(initial=0)) < 1e-3, (mine, theirs)


def _are_right(inputs: Sequence[Array], found: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Vectors of length 1, in the order of the values."""
    _are_values(inputs, found, wanted)
    (a,), (*parts, vectors, info) = inputs, found
    is_finite = info == 0
    assert np.isnan(vectors[~is_finite]).all()
    a, values, vectors = a[is_finite], _together(parts)[is_finite], vectors[is_finite]
    near(a @ vectors, (vectors * values[..., None, :]).astype(vectors.dtype))
    near(np.linalg.norm(vectors, axis=-2), np.ones(values.shape))
