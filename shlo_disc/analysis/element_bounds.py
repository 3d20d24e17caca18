"""Bounds of the integers that an op computes, from its element rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from shlo_disc.dynamic_ops.order import SortAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.bounds import bounds
from shlo_disc.expr.dim import ONE, Data, Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import NO_BOUNDS, Bounds, Index, Load, Scalar
from shlo_disc.expr.simplify import simplify
from shlo_disc.limits import MOST_LOOKED_THROUGH


def element_bounds(op: Op[Any], k: int, facts: Facts, formulas: Mapping[Tensor, Op[Any]]) -> Bounds:
    """Lower and upper bound of all elements of result number `k`, as dims of sizes only.

    `formulas`: ops to inline: those of conditions, and of values with tighter bounds on one side of a selection.
    """
    result = op.results[k]
    if not result.dtype.is_integer:
        return NO_BOUNDS
    if isinstance(op.attrs, SortAttrs):
        return op.operands[k].bounds
    rule = definition(op).element
    if rule is None:
        return NO_BOUNDS
    index = tuple(Sym(f"%{number}") for number in range(len(result.shape)))
    inside = facts
    for symbol, size in zip(index, result.shape, strict=True):
        inside = inside.with_index(symbol, size)
    formula = simplify(rule(op, _Elements(formulas, inside), k, tuple(map(of, index))), inside)
    low, high = bounds(formula, inside.judge)
    least, greatest = result.dtype.integer_bounds
    return (
        None if low == const(least) else _beyond(low, index, result.shape, facts, sign=1),
        None if high == const(greatest) else _beyond(high, index, result.shape, facts, sign=-1),
    )


def formula_of(tensor: Tensor, formulas: Mapping[Tensor, Op[Any]], facts: Facts) -> Scalar:
    """The formula of a rank-0 tensor's element, with `formulas` inlined."""
    return _Elements(formulas, facts).at(tensor, ())


def _beyond(dim: Dim | None, index: tuple[Sym, ...], shape: Shape, facts: Facts, sign: int) -> Dim | None:
    """Minimum (sign 1) or maximum (sign -1) of a dim over all indices, if linear in each with a known slope sign."""
    for symbol, size in zip(index, shape, strict=True):
        if dim is None or symbol not in dim.symbols():
            continue
        if (split := dim.linear(symbol)) is None:
            return None
        slope, rest = split
        if facts.at_least(slope * sign, 0).is_true:
            dim = rest
        elif facts.at_least(-slope * sign, 0).is_true:
            dim = slope * (size - ONE) + rest
        else:
            return None
    return None if dim is None or any(isinstance(atom, Data) for atom in dim.atoms()) else facts.canonical(dim)


@dataclass(slots=True, eq=False)
class _Elements:
    """The element query that inlines `formulas` and loads everything else."""

    formulas: Mapping[Tensor, Op[Any]]
    facts: Facts
    numbers: Iterator[int] = field(default_factory=lambda: iter(count(1)))
    known: dict[Tensor, Scalar] = field(default_factory=dict[Tensor, Scalar])
    left: int = MOST_LOOKED_THROUGH  # budget of inlined ops; shared ones count once per read, as they do for bounds

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        if (known := self.known.get(tensor)) is not None:
            return known
        made = self.formulas.get(tensor)
        rule = None if made is None else definition(made).element
        if made is None or rule is None or made.bodies or tensor.dtype.is_float or not self.left:
            return Load(tensor, index)
        self.left -= 1
        return simplify(rule(made, self, 0, index), self.facts)

    def symbol(self, hint: str, /) -> Sym:
        return Sym(f"%{hint}{next(self.numbers)}")

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        self.known.update(zip(body.arguments, arguments, strict=True))
        for op in body.ops:
            rule = definition(op).element
            assert rule is not None, f"{op.name} has no element rule, so it cannot be in a region of scalars"
            for k, result in enumerate(op.results):
                self.known[result] = simplify(rule(op, self, k, ()), self.facts)
        return tuple(self.at(result, ()) for result in body.results)
