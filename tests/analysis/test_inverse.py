"""Inverses of index maps: each element is found where NumPy puts it; what repeats or leaves out has none."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from shlo_disc.analysis.access import index_symbols
from shlo_disc.analysis.inverse import inverse
from shlo_disc.dynamic_ops.indexing import reshaped
from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index

pytestmark = pytest.mark.quick

B, S, H = (of(Sym(name)) for name in "bsh")
SIZES = {Sym("b"): 2, Sym("s"): 5, Sym("h"): 3}
D = const(4)


def found(shape: Shape, source: Shape, read: Callable[[Index], Index]) -> tuple[Index | None, tuple[Sym, ...]]:
    """The inverse of `read`, and the symbols it is written in."""
    facts = Facts()
    symbols, here = index_symbols(shape, facts, "o")
    targets, there = index_symbols(source, facts, "t")
    index = tuple(map(here.canonical, read(tuple(here.canonical(of(s)) for s in symbols))))
    target = tuple(there.canonical(of(s)) for s in targets)
    return inverse(symbols, shape, index, target, source, there), targets


def merged(shape: Shape, middle: Shape, order: tuple[int, ...]) -> Callable[[Index], Index]:
    """How `x.transpose(...).reshape(shape)` reads: `middle` is what is reshaped, `order` its dims in x."""

    def read(index: Index) -> Index:
        inside = reshaped(index, shape, middle)
        return tuple(inside[order.index(d)] for d in range(len(order)))

    return read


CASES: dict[str, tuple[Shape, Shape, Callable[[Index], Index]]] = {
    "permutation": ((S, B, D), (B, S, D), merged((S, B, D), (S, B, D), (1, 0, 2))),
    "reshape": ((B * S, D), (B, S, D), merged((B * S, D), (B, S, D), (0, 1, 2))),
    "heads joined": ((B, S, H * D), (B, H, S, D), merged((B, S, H * D), (B, S, H, D), (0, 2, 1, 3))),
    "all joined": ((B * S, H * D), (B, H, S, D), merged((B * S, H * D), (B, S, H, D), (0, 2, 1, 3))),
    "a dim of size 1": ((S, const(1), B), (B, const(1), S), merged((S, const(1), B), (S, const(1), B), (2, 1, 0))),
    "heads split": ((B, H, S, D), (B * S, H * D), lambda i: (i[0] * S + i[2], i[1] * D + i[3])),
    "three digits": ((S * H * D, B), (D, B, H, S), merged((S * H * D, B), (S, H, D, B), (3, 2, 0, 1))),
}


@pytest.mark.parametrize("name", CASES)
def test_an_inverse_finds_every_element(name: str) -> None:
    shape, source, read = CASES[name]
    root, targets = found(shape, source, read)
    assert root is not None
    extents, places = [[d.evaluate(SIZES) for d in dims] for dims in (source, shape)]
    reader: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = np.full(places, -1)
    for number, element in enumerate(itertools.product(*map(range, extents))):
        where = {**SIZES, **dict(zip(targets, element, strict=True))}
        at = tuple(dim.evaluate(where) for dim in root)
        assert reader[at] == -1
        reader[at] = number
        symbols = tuple(Sym(f"%o{k}") for k in range(len(shape)))
        back = read(tuple(map(of, symbols)))
        assert tuple(d.evaluate({**SIZES, **dict(zip(symbols, at, strict=True))}) for d in back) == element
    assert (reader >= 0).all()


NOT_ONCE: dict[str, tuple[Shape, Shape, Callable[[Index], Index]]] = {
    "one column": ((B, S), (B, S), lambda i: (i[0], const(0))),
    "halves": ((B, S), (B, S), lambda i: (i[0], i[1] // 2)),
    "a part": ((B, S), (B, S + 1), lambda i: i),
    "repeated": ((B, S, H), (B, S), lambda i: i[:2]),
    "a diagonal": ((B, S), (S, S), lambda i: (i[1], i[1])),
}


@pytest.mark.parametrize("name", NOT_ONCE)
def test_what_is_not_read_once_has_none(name: str) -> None:
    shape, source, read = NOT_ONCE[name]
    assert found(shape, source, read)[0] is None
