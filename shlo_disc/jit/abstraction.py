"""Shapes with symbolic sizes, the calls that they fit, and how they are learned from calls."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.expr.dim import Sym as Symbol

Shape: TypeAlias = "tuple[int, ...]"
Shapes: TypeAlias = "tuple[Shape, ...]"  # of all arrays of a call
Sizes: TypeAlias = "Mapping[Symbol, int]"


@dataclass(frozen=True)
class Abstraction:
    """The shapes of all arrays of a call, with symbols for the sizes that differ between calls."""

    shapes: tuple[tuple[Dim, ...], ...]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All symbols, in the order in which they appear."""
        return tuple(dict.fromkeys(found for dim in self._dims for found in _ordered(dim)))

    @cached_property
    def _dims(self) -> tuple[Dim, ...]:
        return tuple([dim for shape in self.shapes for dim in shape])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the symbols."""
        return tuple([one.name for one in self.symbols])

    @property
    def undefined(self) -> tuple[str, ...]:
        """The symbols that `solve` cannot find: those that are in no size alone, or linear beside known ones."""
        known = set[Symbol]()
        while new := {one for dim in self._dims for one in [_only_unknown(dim, known)] if one is not None}:
            known |= new
        return tuple([one.name for one in self.symbols if one not in known])

    def solve(self, shapes: Shapes) -> Sizes | None:
        """The values of the symbols in a call; None if the call does not fit.

        >>> one = Abstraction(((symbol("b"), 2 * symbol("s")), (symbol("b"), const(8))))
        >>> one.solve(((3, 10), (3, 8))), one.solve(((3, 10), (4, 8)))
        ({b: 3, s: 5}, None)
        """
        if list(map(len, shapes)) != list(map(len, self.shapes)):
            return None
        pairs = [*zip(self._dims, (size for shape in shapes for size in shape), strict=True)]
        values = dict[Symbol, int]()
        waiting, before = pairs, -1
        while len(values) != before:
            before = len(values)
            for dim, size in waiting:
                unknown = _only_unknown(dim, values.keys())
                if unknown is not None and not _define(values, unknown, dim, size):
                    return None
        if not values.keys() >= set(self.symbols):
            return None
        return values if all(dim.evaluate(values) == size for dim, size in pairs) else None

    def substitute(self, values: Mapping[Symbol, int]) -> Abstraction:
        """The shapes with numbers in the places of some symbols."""
        dims = {one: const(value) for one, value in values.items()}
        return Abstraction(tuple([tuple([dim.substitute(dims) for dim in shape]) for shape in self.shapes]))

    def with_equal(self, sizes: Sizes) -> Abstraction:
        """The shapes with one symbol for all that have the same value."""
        first = dict[int, Symbol]()
        same = {one: symbol(first.setdefault(sizes[one], one).name) for one in self.symbols}
        return Abstraction(tuple([tuple([dim.substitute(same) for dim in shape]) for shape in self.shapes]))

    def __str__(self) -> str:
        return ", ".join("[" + ", ".join(map(str, shape)) + "]" for shape in self.shapes)


def size_name(place: str, axis: int) -> str:
    """A name for a size that has none: `args[0]['x']`, axis 1 gives `args_0_x_1`."""
    return f"{re.sub(r'[^0-9A-Za-z]+', '_', place).strip('_') or 'size'}_{axis}"


def unused(name: str, used: Container[str]) -> str:
    """A name like this one that is not used."""
    return next(one for one in itertools.chain([name], (f"{name}_{k}" for k in itertools.count())) if one not in used)


def fixed(shapes: Shapes) -> Abstraction:
    """Shapes without symbols."""
    return Abstraction(tuple([tuple(map(const, shape)) for shape in shapes]))


def _ordered(dim: Dim) -> list[Symbol]:
    return sorted(dim.symbols(), key=lambda one: one.name)


def _only_unknown(dim: Dim, known: Container[Symbol]) -> Symbol | None:
    """The only symbol of a dim that is not known, if the dim is linear in it."""
    unknown = [one for one in dim.symbols() if one not in known]
    if len(unknown) != 1 or dim.linear(unknown[0]) is None:
        return None
    return unknown[0]


def _define(values: dict[Symbol, int], unknown: Symbol, dim: Dim, size: int) -> bool:
    """Solve `dim == size`; false if it has no solution of at least 0."""
    split = dim.linear(unknown)
    assert split is not None
    factor, rest = (part.evaluate(values) for part in split)
    if factor == 0:
        return True
    value, remainder = divmod(size - rest, factor)
    if remainder or value < 0:
        return False
    values[unknown] = value
    return True


_CALLS_KEPT = 8


class SizeHistory:
    """Which sizes of a function's calls were seen to differ, and which were always equal to each other.

    Sizes that were different in at least one call never share a symbol, and a size that changed never becomes a number
    again. So each call that does not fit the last abstraction makes a size symbolic or separates two: a function with
    n undeclared sizes has at most n + 1 abstractions, however many calls there are.
    """

    def __init__(self, names: Sequence[str], declared: Sequence[tuple[Dim, ...] | None]) -> None:
        """`names`: of all arrays. `declared`: their shapes, as far as they are declared."""
        self._names, self._declared = names, declared
        self._first: Shapes | None = None
        self._groups: list[int] = []
        self._varies: list[bool] = []
        self._calls: tuple[Shapes, ...] = ()  # some different ones, to see linear relations

    def add(self, shapes: Shapes) -> None:
        """Learn from a call."""
        sizes = _flat(shapes)
        if self._first is None:
            self._first, self._varies, self._groups = shapes, [False] * len(sizes), [0] * len(sizes)
        if len(self._calls) < _CALLS_KEPT and shapes not in self._calls:
            self._calls = (*self._calls, shapes)
        numbers = dict[tuple[int, int], int]()
        self._groups = [
            numbers.setdefault((group, size), len(numbers)) for group, size in zip(self._groups, sizes, strict=True)
        ]
        before = _flat(self._first)
        self._varies = [old or size != one for old, size, one in zip(self._varies, sizes, before, strict=True)]

    def abstraction(self, *, related: bool = False) -> Abstraction:
        """What all calls so far fit: declared sizes as they are declared, those that changed as symbols.

        `related`: sizes that were linear functions of an earlier one in all calls, such as `s + 1`, are no symbols.
        """
        assert self._first is not None
        named = dict[int, Dim]()
        columns = list(zip(*map(_flat, self._calls), strict=True))
        bases = list[tuple[Dim, tuple[int, ...]]]()
        found = list[tuple[Dim, ...]]()
        used = {one.name for dims in self._declared for dim in dims or () for one in dim.symbols()}
        at = 0
        for name, shape, declared in zip(self._names, self._first, self._declared, strict=True):
            dims = list[Dim]()
            for axis, size in enumerate(shape):
                place = at + axis
                if not self._varies[place]:
                    dims.append(const(size))
                    continue
                group = self._groups[place]
                if group not in named:
                    found_relation = _relation(bases, columns[place]) if related else None
                    named[group] = found_relation or symbol(unused(size_name(name, axis), used))
                    used |= {one.name for one in named[group].symbols()}
                    if found_relation is None:
                        bases.append((named[group], columns[place]))
                dims.append(named[group])
            at += len(shape)
            found.append(tuple(dims) if declared is None else declared)
        return Abstraction(tuple(found))


def _relation(bases: Sequence[tuple[Dim, tuple[int, ...]]], sizes: tuple[int, ...]) -> Dim | None:
    """A linear function of an earlier size that gives these sizes in all calls."""
    for base, values in bases:
        pairs = sorted(set(zip(values, sizes, strict=True)))
        if len(pairs) < 2:
            continue
        (x0, y0), (x1, y1) = pairs[0], pairs[-1]
        factor, remainder = divmod(y1 - y0, x1 - x0) if x1 != x0 else (0, 1)
        if remainder or factor <= 0 or any(y != factor * (x - x0) + y0 for x, y in pairs):
            continue
        return factor * base + (y0 - factor * x0)
    return None


def _flat(shapes: Shapes) -> list[int]:
    return [size for shape in shapes for size in shape]
