"""Element formulas across ops: fusion is inlining.

`Formulas.at(tensor, index)` returns a load, or the formula of the op that computes the tensor, instantiated at that
index. Code generation, row locality and affine views all use this one query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from shlo_disc.dynamic_ops.opdef import ElementQuery
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index, Load, Scalar
from shlo_disc.expr.simplify import simplify
from shlo_disc.limits import DEEPEST_FORMULA

Producers = Mapping[Tensor, tuple[Op[object], int]]  # a tensor's op and its result number
_Element: TypeAlias = tuple[Tensor, Index]


class _TooDeep(Exception):  # noqa: N818 - a request, no error
    """Signals that an element must be computed before the one that reads it."""

    def __init__(self, element: _Element) -> None:
        super().__init__()
        self.element = element


def producers_of(body: Body) -> dict[Tensor, tuple[Op[object], int]]:
    """The op that computes each tensor of `body`, its nested bodies included."""
    return {t: (op, k) for op in body.walk() for k, t in enumerate(op.results)}


@dataclass(slots=True, eq=False)
class Formulas:
    """One inlining context: which tensors are inlined, and what replaces the others.

    `inlined` tensors are replaced by their producers' element rules. `replaced` maps a tensor to a function that reads
    its stored value (a row scalar, scratch, an accumulator), or returns None at an index that is not stored there.
    Everything else is a `load`. Indices are canonical under `facts`. `numbers` make the symbols of folds unique;
    contexts whose formulas end up in one kernel share them.
    """

    facts: Facts
    producers: Producers
    inlined: Callable[[Tensor], bool]
    replaced: Mapping[Tensor, Callable[[Index], Scalar | None]] = field(
        default_factory=dict[Tensor, Callable[[Index], Scalar | None]]
    )
    load: Callable[[Tensor, Index], Scalar] = Load
    numbers: Iterator[int] = field(default_factory=lambda: iter(count(1)))
    _memo: dict[_Element, Scalar] = field(default_factory=dict[_Element, Scalar])
    _depth: int = 0

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        """Read `tensor[index]`."""
        element = tensor, tuple(map(self.facts.canonical, index))
        if (known := self._memo.get(element)) is not None:
            return known
        if self._depth == 0:
            return self._found(element)
        if self._depth == DEEPEST_FORMULA:
            raise _TooDeep(element)
        return self._computed(element)

    def _found(self, element: _Element) -> Scalar:
        """Compute an element, too deeply nested ones first: recursion would overflow the stack in long programs."""
        waiting = [element]
        while waiting:
            try:
                self._computed(waiting[-1])
                waiting.pop()
            except _TooDeep as below:
                waiting.append(below.element)
        return self._memo[element]

    def _computed(self, element: _Element) -> Scalar:
        self._depth += 1
        try:
            known = self._memo[element] = simplify(self._formula(*element), self.facts)
        finally:
            self._depth -= 1
        return known

    def symbol(self, hint: str, /) -> Sym:
        """A fresh loop symbol; it cannot collide with a kernel's own symbols, which contain no `_`."""
        return Sym(f"%{hint}_{next(self.numbers)}")

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        """The results of a region of rank-0 ops for these arguments."""
        return inline_region(self, body, arguments, self.facts)

    def _formula(self, tensor: Tensor, index: Index) -> Scalar:
        if (reader := self.replaced.get(tensor)) is not None and (value := reader(index)) is not None:
            return value
        if not self.inlined(tensor):
            return self.load(tensor, index)
        op, k = self.producers[tensor]
        element = definition(op).element
        assert element is not None, f"{op.name} is inlined but has no element rule"
        return element(op, self, k, index)


def inline_region(outer: ElementQuery, body: Body, arguments: tuple[Scalar, ...], facts: Facts) -> tuple[Scalar, ...]:
    """Evaluate a region of rank-0 ops on scalars; tensors from outside are read through `outer`."""
    inner = _RegionFormulas(outer, producers_of(body), facts, dict(zip(body.arguments, arguments, strict=True)))
    return tuple(inner.at(result, ()) for result in body.results)


@dataclass(slots=True, eq=False)
class _RegionFormulas:
    """The element query inside a region."""

    outer: ElementQuery
    producers: Producers
    facts: Facts
    known: dict[Tensor, Scalar]

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        if index == () and (value := self.known.get(tensor)) is not None:
            return value
        if tensor not in self.producers:
            return self.outer.at(tensor, index)
        waiting = self._missing(tensor)
        while waiting:  # operands first, without recursion: a long region would overflow the stack
            current = waiting[-1]
            if current in self.known:
                waiting.pop()
            elif missing := self._missing(current):
                waiting += missing
            else:
                self.known[current] = self._computed(current, ())
        value = self._computed(tensor, index)
        if index == ():
            self.known[tensor] = value
        return value

    def _missing(self, tensor: Tensor) -> list[Tensor]:
        """The rank-0 operands from the region that are not computed yet, the last one first."""
        op, _ = self.producers[tensor]
        return [x for x in reversed(op.operands) if x in self.producers and not x.shape and x not in self.known]

    def _computed(self, tensor: Tensor, index: Index) -> Scalar:
        op, k = self.producers[tensor]
        element = definition(op).element
        assert element is not None, f"{op.name} has no element rule, so it cannot be in a region of scalars"
        return simplify(element(op, self, k, index), self.facts)

    def symbol(self, hint: str, /) -> Sym:
        return self.outer.symbol(hint)

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        return inline_region(self, body, arguments, self.facts)
