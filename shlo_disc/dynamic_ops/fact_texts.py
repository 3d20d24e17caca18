"""What is known of sizes and why, for people: assumptions, then the shape of every value and where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.overview import FactText, ShapeText

Place: TypeAlias = Callable[[Span], str]
_Reasons: TypeAlias = tuple[tuple[int, int], ...]


def fact_texts(program: Program, where: Place, origin: Place) -> tuple[FactText, ...]:
    """Every assumption, in the order in which they were learned, numbered like the program's facts."""
    return tuple(
        FactText(
            ", ".join(sorted(symbol.name for symbol in fact.symbols)),
            fact.text,
            fact.reason,
            where(fact.span),
            origin(fact.span),
            fact.because,
        )
        for fact in program.facts.facts
    )


def shape_texts(program: Program, name: Callable[[Tensor], str], where: Place, origin: Place) -> tuple[ShapeText, ...]:
    """The shape of every argument and result of an op that has a size; what it follows from comes before it."""
    return tuple(_Shapes(program, name, where, origin).texts())


class _Shapes:
    """Gives every tensor whose shape is told a number."""

    def __init__(self, program: Program, name: Callable[[Tensor], str], where: Place, origin: Place) -> None:
        self._program, self._name, self._where, self._origin = program, name, where, origin
        self._numbers = dict[Tensor, int]()
        self._texts = dict[Dim, str]()

    def texts(self) -> Iterator[ShapeText]:
        for parameter in self._program.parameters:
            raw = parameter.raw_shape
            because = tuple(tuple((-1, number) for number in self._solved(size)) for size in raw)
            yield from self._shape(parameter.tensor, "it is an argument", because)
        for op in self._program.body.walk():
            for body in op.bodies:
                for argument in body.arguments:
                    yield from self._shape(argument, f"it enters the body of {op.name}", self._because(argument, op))
            for result in op.results:
                yield from self._shape(result, op.name.removeprefix("d_"), self._because(result, op))

    def _shape(self, tensor: Tensor, reason: str, because: tuple[_Reasons, ...]) -> Iterator[ShapeText]:
        if any(size.constant is None for size in tensor.shape):
            self._numbers[tensor] = len(self._numbers)
            dims, span = tuple(map(self._text, tensor.shape)), tensor.span
            yield ShapeText(self._name(tensor), dims, reason, self._where(span), self._origin(span), because)

    def _text(self, dim: Dim) -> str:
        if (known := self._texts.get(dim)) is None:
            known = self._texts[dim] = str(self._program.facts.readable(dim))
        return known

    def _solved(self, raw: Dim) -> tuple[int, ...]:
        """The facts by which a raw size is another one."""
        return self._program.facts.solved_by(raw)

    def _because(self, result: Tensor, op: Op[object]) -> tuple[_Reasons, ...]:
        operands = [x for x in op.operands if x in self._numbers]
        return tuple(
            () if size.constant is not None else self._source(size, axis, operands)
            for axis, size in enumerate(result.shape)
        )

    def _source(self, size: Dim, axis: int, operands: list[Tensor]) -> _Reasons:
        """A dim of an operand that is equal, best at the same place; else those that it has symbols of."""
        for x in operands:
            if axis < len(x.shape) and x.shape[axis] == size:
                return ((self._numbers[x], axis),)
        for x in operands:
            if size in x.shape:
                return ((self._numbers[x], x.shape.index(size)),)
        symbols = size.symbols()
        here = [x for x in dict.fromkeys(operands) if axis < len(x.shape) and x.shape[axis].symbols() & symbols]
        found = [(self._numbers[x], axis) for x in here]
        missing = set[Sym](symbols).difference(*(x.shape[axis].symbols() for x in here))
        for x in operands:
            for k, other in enumerate(x.shape):
                if missing & other.symbols():
                    missing -= other.symbols()
                    found.append((self._numbers[x], k))
        return tuple(found)
