"""Inverses of index maps: which element of a result reads a given source element, if each is read exactly once."""

from __future__ import annotations

from collections.abc import Iterable

from shlo_disc.dynamic_ops.indexing import delinearize, linear
from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import Dim, FloorDiv, Mod, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index


def inverse(
    symbols: tuple[Sym, ...], shape: Shape, read: Index, target: Index, source: Shape, facts: Facts
) -> Index | None:
    """The index of a result of `shape` that reads element `target` of a tensor of shape `source`.

    The result's element at `symbols` reads the source element at `read`. Returns None unless every source element is
    read exactly once: by a permutation of dims, a reshape, or both. `facts` bound the symbols of `target`.
    """
    for candidate in _candidates(symbols, shape, read, target, source):
        found = tuple(map(facts.canonical, candidate))
        back = dict(zip(symbols, found, strict=True))
        if tuple(facts.canonical(dim.substitute(back)) for dim in read) == target:
            return found
    return None


def _candidates(symbols: tuple[Sym, ...], shape: Shape, read: Index, target: Index, source: Shape) -> Iterable[Index]:
    """Candidate inverses; a right inverse is an inverse, as both shapes have the same number of elements."""
    if product(shape) != product(source):
        return
    parts = [_part(symbol, size, read, target, source) for symbol, size in zip(symbols, shape, strict=True)]
    found = tuple(part for part in parts if part is not None)
    if len(found) == len(parts):
        yield found
    yield delinearize(linear(target, source), shape)


def _part(symbol: Sym, size: Dim, read: Index, target: Index, source: Shape) -> Dim | None:
    """One dim of the inverse: taken from one dim of the read index, or assembled from digits in several."""
    places = [place for place, dim in enumerate(read) if symbol in dim.symbols()]
    if len(places) == 1 and (split := read[places[0]].linear(symbol)) is not None:
        step, at = split[0], places[0]
        above = target[at] // step
        return above if step * size == source[at] else above % size
    whole, most = const(0), const(0)
    for place in places:
        if (weight := _weight(read[place], of(symbol))) is None:
            return None
        whole, most = whole + target[place] * weight, most + (source[place] - 1) * weight
    return whole if most == size - 1 else None


def _weight(digit: Dim, number: Dim) -> Dim | None:
    """The place value of `digit` in `number`, if it is a digit of it: `n % m`, `n // w` or `n // w % m`."""
    if digit == number:
        return const(1)
    match digit.atom:
        case Mod(numerator, _):
            return _weight(numerator, number)
        case FloorDiv(numerator, denominator):
            weight = _weight(numerator, number)
            return None if weight is None else weight * denominator
        case _:
            return None
