"""The algebra of indices: towers of quotients and remainders become simple."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shlo_disc.expr.dim import ZERO, Dim, Sym, const, maximum, minimum, product, symbol
from shlo_disc.expr.facts import Facts, Truth
from tests.expr.sizes import A, B, H, S, T, sizes

pytestmark = pytest.mark.quick

AT, J, K = (symbol(name) for name in ("i", "j", "k"))


def inside(*extents: Dim | int) -> tuple[Facts, tuple[Dim, ...]]:
    """Enter a loop nest; the index variables are i, j, k …."""
    facts = sizes()
    indices = tuple(symbol(name) for name in "ijkl"[: len(extents)])
    for index, extent in zip(indices, extents, strict=True):
        facts = facts.with_index(Sym(str(index)), extent * const(1))
    return facts, indices


def linearize(index: tuple[Dim, ...], shape: tuple[Dim | int, ...]) -> Dim:
    """The offset of an element in a dense row-major tensor."""
    offset = ZERO
    for at, extent in zip(index, shape, strict=True):
        offset = offset * extent + at
    return offset


def delinearize(offset: Dim, shape: tuple[Dim | int, ...]) -> tuple[Dim, ...]:
    """The index of an element, from its offset."""
    inner = [product(n * const(1) for n in shape[k + 1 :]) for k in range(len(shape))]
    parts = [offset // each for each in inner]
    return (parts[0], *(part % n for part, n in zip(parts[1:], shape[1:], strict=True)))


RESHAPES: list[tuple[tuple[Dim | int, ...], tuple[Dim | int, ...], tuple[Dim, ...]]] = [
    ((B, S), (B * S,), (AT * S + J,)),
    ((B, S), (B, S, 1), (AT, J, ZERO)),
    ((B, S), (1, B, S), (ZERO, AT, J)),
    ((B, 1, S), (B, S), (AT, K)),
    ((B * S,), (B, S), (AT // S, AT % S)),
    ((B, S, T), (B * S, T), (AT * S + J, K)),
    ((B, S, T), (B, S * T), (AT, J * T + K)),
    ((B, S, T), (B * S * T,), ((AT * S + J) * T + K,)),
    ((B, S, 4, H), (B, S, 4 * H), (AT, J, K * H + symbol("l"))),
    ((B, S, 4, H), (B * S * 4, H), ((AT * S + J) * 4 + K, symbol("l"))),
    ((B, S, T, H), (B * S, T * H), (AT * S + J, K * H + symbol("l"))),
    ((B, S * T), (B, S, T), (AT, J // T, J % T)),
    ((B * S, T), (B, S, T), (AT // S, AT % S, J)),
    ((B * S, T * H), (B, S, T, H), (AT // S, AT % S, J // H, J % H)),
    ((B, S * 8), (B, S, 4, 2), (AT, J // 8, J // 2 % 4, J % 2)),
    ((B, S + 1), (B * (S + 1),), (AT * (S + 1) + J,)),
    ((B, S + 1, T), (B, (S + 1) * T), (AT, J * T + K)),
    ((B, S + T, H), (B * (S + T), H), (AT * (S + T) + J, K)),
    ((B, S + 1, 4), (B, 2 * (S + 1), 2), (AT, 2 * J + K // 2, K % 2)),
    ((B, 6), (B, 2, 3), (AT, J // 3, J % 3)),
    ((B, 2, 3), (B, 3, 2), (AT, (3 * J + K) // 2, (3 * J + K) % 2)),
    ((A, B, S), (A * B, S), (AT * B + J, K)),
]


@pytest.mark.parametrize(("shape", "other", "wanted"), RESHAPES)
def test_reshapes_become_simple(
    shape: tuple[Dim | int, ...], other: tuple[Dim | int, ...], wanted: tuple[Dim, ...]
) -> None:
    facts, index = inside(*shape)
    found = tuple(facts.canonical(each) for each in delinearize(linearize(index, shape), other))
    assert found == wanted
    # and back again
    offset = facts.canonical(linearize(found, other))
    assert offset == facts.canonical(linearize(index, shape))
    again = tuple(facts.canonical(each) for each in delinearize(offset, shape))
    plain = tuple(ZERO if n == 1 else at for at, n in zip(index, shape, strict=True))
    assert again == plain


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        (((B, S, T), (B * S, T), (B, S * T), (B, S, T)), (AT, J, K)),
        (((B, S, 4), (B, 2, 2 * S), (B * 4, S), (B, S, 4)), (AT, J, K)),
        (((B * S * T,), (B, S * T), (B * S, T), (B, S, T), (B * S * T,)), (AT,)),
        (((B * S,), (B, S), (B, S, 1), (B * S, 1)), (AT, ZERO)),
    ],
)
def test_chains_of_reshapes_become_one(shapes: tuple[tuple[Dim | int, ...], ...], wanted: tuple[Dim, ...]) -> None:
    facts, index = inside(*shapes[0])
    for shape, other in pairwise(shapes):
        index = tuple(facts.canonical(n) for n in delinearize(linearize(index, shape), other))
    assert index == wanted


@pytest.mark.parametrize(
    ("dim", "wanted"),
    [
        ((AT * T + J) // T, AT),
        ((AT * T + J) % T, J),
        ((AT * T + J) // (T * S), AT // S),
        (((AT * S + K) * T + J) // T, AT * S + K),
        ((2 * AT + 3) // 2 - 1, AT),  # a slice with stride 2
        ((2 * J + 1) % 2, const(1)),
        ((2 * J + 1) // 2, J),
        ((J + 2 - 2) // 1, J),  # padded, then sliced
        ((3 * J + 3) // 3 - 1, J),  # interior padding
        ((3 * J) % 3, ZERO),
        (T - 1 - (T - 1 - J), J),  # reversed twice
        (minimum(maximum(J, 0), T - 1), J),  # a clamped index that is in range
        (maximum(minimum(J, B), J), J),
        (maximum(J - T, 0), ZERO),
        (minimum(J + 1, T), J + 1),
        (J % (T + 1), J),
        ((J + T) // T, const(1)),
        ((J - T) // T, const(-1)),
        ((J - T) % T, J),
        ((J + T) % T, J),
        (4 * (AT // 4) + AT % 4, AT),
        (AT - 4 * (AT // 4), AT % 4),
        (T * (AT // T) + AT % T, AT),
        (B * 5 * (AT // 5) + B * (AT % 5), B * AT),
        (AT // 2 // S, AT // (2 * S)),
        (((S + 3) // 4 * 4) - S, 3 - (S + 3) % 4),
        (S * T * 4 // (T * 2), 2 * S),
        (K // 8, ZERO),
        (K % 8, K),
        ((8 * AT + K) // 16, AT // 2),
        ((8 * AT + K) % 16, 8 * (AT % 2) + K),
        ((T * AT - J - 1) // (T * S), (AT - 1) // S),  # counted from the end
        ((T * AT - J - 1) % (T * S), T * ((AT - 1) % S) + T - J - 1),
    ],
)
def test_index_identities(dim: Dim, wanted: Dim) -> None:
    facts = sizes(T).with_index(Sym("i"), B * S).with_index(Sym("j"), T).with_index(Sym("k"), const(8))
    assert facts.canonical(dim) == wanted


@pytest.mark.parametrize(
    "dim",
    [J % T, maximum(S, 0), minimum(S, 2 * S), (8 * AT + K) // 16, (4 * AT + 1) // (4 * T), J // T],
)
def test_nothing_is_simplified_without_knowing_signs(dim: Dim) -> None:
    assert Facts.empty().canonical(dim) == dim


def test_common_factors_cancel_whatever_their_sign() -> None:
    assert Facts.empty().canonical(S * J // (S * T)) == J // T
    assert Facts.empty().canonical(S * J % (S * T)) == S * (J % T)


def test_an_index_of_extent_one_is_zero() -> None:
    facts = sizes().with_index(Sym("i"), const(1)).with_range(Sym("j"), S, S)
    assert facts.canonical(AT * S + J) == S


def test_the_body_of_a_loop_knows_that_extents_are_not_zero() -> None:
    outside = sizes()
    assert outside.at_least(S, 1) is Truth.UNKNOWN
    body = outside.with_index(Sym("i"), B * S)
    assert body.at_least(S, 1) is Truth.TRUE
    assert body.equal(B, 0) is Truth.FALSE
    assert outside.at_least(S, 1) is Truth.UNKNOWN
    assert body.facts == outside.facts
