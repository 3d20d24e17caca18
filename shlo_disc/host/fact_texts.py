"""Report texts on what is known of sizes and why: assumptions, then every value's shape and what it derives from.

A shape derives from the operands of its op; if the program computes it (`dynamic_reshape`), from that arithmetic, back
to the arguments. The arithmetic of one line of the user's source is one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.size_values import Computed, KnownElements
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.legalize.shape_value_folding import is_arithmetic, moved_from
from shlo_disc.report_model import FactText, ShapeText

Place: TypeAlias = Callable[[Span], str]
_Reasons: TypeAlias = tuple[tuple[int, int], ...]
_Element: TypeAlias = tuple[KnownElements, int]


def fact_texts(program: Program, where: Place, origin: Place) -> tuple[FactText, ...]:
    """Every assumption, in the order and with the numbers of the program's facts."""
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


def size_spans(program: Program) -> frozenset[Span]:
    """The spans of the arithmetic that computes sizes."""
    seen, waiting = dict[Computed, None](), [x.made for taken in program.sized.values() for x in taken]
    while waiting:
        made = waiting.pop()
        if made is not None and made not in seen:
            seen[made] = None
            waiting += [x.made for x in made.operands]
    return frozenset(made.op.span for made in seen if made.operands and is_arithmetic(made.op))


def shape_texts(program: Program, name: Callable[[Tensor], str], where: Place, origin: Place) -> tuple[ShapeText, ...]:
    """The shape of every argument and op result with a dynamic dim, after those that it derives from."""
    shapes = _Shapes(program, name, where, origin)
    shapes.add_all()
    return tuple(shapes.found)


class _Shapes:
    """Numbers every tensor with a dynamic dim, and every size that the program computes for one."""

    def __init__(self, program: Program, name: Callable[[Tensor], str], where: Place, origin: Place) -> None:
        self.found = list[ShapeText]()
        self._program, self._name, self._where, self._origin = program, name, where, origin
        self._numbers = dict[Tensor, int]()
        self._by_name = dict[str, int]()  # of the tensors: size arithmetic refers to tensors that passes have replaced
        self._computed = dict[Computed, int]()
        self._texts = dict[Dim, str]()

    def add_all(self) -> None:
        """Go through the program in order."""
        for parameter in self._program.parameters:
            raw = parameter.raw_shape
            because = tuple(tuple((-1, number) for number in self._solved(size)) for size in raw)
            self._add(parameter.tensor, "it is an argument", because)
        for op in self._program.body.walk():
            for body in op.bodies:
                for argument in body.arguments:
                    self._add(argument, f"it enters the body of {op.name}", self._because(argument, op))
            for result in op.results:
                self._add(result, op.name.removeprefix("d_"), self._because(result, op))

    def _add(self, tensor: Tensor, reason: str, because: tuple[_Reasons, ...]) -> None:
        if any(size.constant is None for size in tensor.shape):
            self._numbers[tensor] = self._by_name[tensor.name] = len(self.found)
            self.found.append(self._shape(self._name(tensor), tensor.shape, reason, tensor.span, because))

    def _shape(
        self, value: str, dims: Iterable[Dim], reason: str, span: Span, because: tuple[_Reasons, ...]
    ) -> ShapeText:
        return ShapeText(value, tuple(map(self._text, dims)), reason, self._where(span), self._origin(span), because)

    def _text(self, dim: Dim) -> str:
        if (known := self._texts.get(dim)) is None:
            known = self._texts[dim] = str(self._program.facts.readable(dim))
        return known

    def _solved(self, raw: Dim) -> tuple[int, ...]:
        """The facts that express a raw size by other sizes."""
        return self._program.facts.solved_by(raw)

    def _because(self, result: Tensor, op: Op[object]) -> tuple[_Reasons, ...]:
        operands = [x for x in op.operands if x in self._numbers]
        return tuple(
            () if size.constant is not None else self._asked(result, axis) or self._derived(result, axis, operands)
            for axis, size in enumerate(result.shape)
        )

    def _derived(self, result: Tensor, axis: int, operands: list[Tensor]) -> _Reasons:
        """The operands' dims that a size derives from, and what is computed for it: padding, starts, limits."""
        found = dict.fromkeys(self._source(result.shape[axis], axis, operands))
        for x in self._program.sized.get(result, ()):
            if x.shape == (len(result.shape),):
                found |= dict.fromkeys(self._reasons(self._sources([(x, axis)], "")))
        return tuple(found)

    def _asked(self, result: Tensor, axis: int) -> _Reasons:
        """The sources of a size that a shape operand gives, if the result has exactly that size."""
        taken = self._program.sized.get(result, ())
        if len(taken) != 1 or taken[0].shape != (len(result.shape),):
            return ()
        (shape,) = taken
        is_asked = self._program.facts.named(shape.dims[axis]) == result.shape[axis]
        return self._reasons(self._sources([(shape, axis)], "")) if is_asked else ()

    def _sources(self, elements: Iterable[_Element], line: str) -> Iterator[_Element]:
        """The computed integers that elements are, or derive from by arithmetic of `line` of the user's source."""
        waiting, seen = list(elements)[::-1], set[tuple[Computed, int]]()
        while waiting:
            x, element = waiting.pop()
            if x.made is None or x.dims[element].constant is not None or (x.made, element) in seen:
                continue
            seen.add((x.made, element))
            operands = x.made.operands
            if (place := moved_from(x.made.op, operands, element)) is not None:
                waiting.append((operands[place[0]], place[1]))
            elif line and operands and self._origin(x.made.op.span) == line:
                waiting += reversed(_operands(x.made, element))
            else:
                yield x, element

    def _reasons(self, sources: Iterable[_Element]) -> _Reasons:
        found = dict[tuple[int, int], None]()
        for x, element in sources:
            assert x.made is not None, "it was computed"
            if x.made.read is None:
                found[self._arithmetic(x, x.made), element] = None
            elif (number := self._by_name.get(x.made.read[0])) is not None:
                found[number, x.made.read[1]] = None
        return tuple(found)

    def _arithmetic(self, x: KnownElements, made: Computed) -> int:
        """The number of a computed integer tensor; what it is computed from gets its number first."""
        waiting = [(x, made)]
        while waiting:
            x, current = waiting[-1]
            if current in self._computed:
                waiting.pop()
                continue
            line = self._origin(current.op.span)
            sources = [list(self._sources(_operands(current, k), line)) for k in range(len(x.dims))]
            below = [(s, s.made) for each in sources for s, _ in each if s.made is not None and s.made.read is None]
            if missing := [each for each in below if each[1] not in self._computed]:
                waiting += reversed(missing)
                continue
            because = tuple(map(self._reasons, sources))
            reason, dims = current.op.name.removeprefix("stablehlo."), map(self._program.facts.canonical, x.dims)
            text = self._shape(f"%{current.op.results[0].name}", dims, reason, current.op.span, because)
            self._computed[current] = len(self.found)
            self.found.append(replace(text, is_integer=True))
        return self._computed[made]

    def _source(self, size: Dim, axis: int, operands: list[Tensor]) -> _Reasons:
        """An equal dim of an operand, preferably on the same axis; else dims that contain its symbols."""
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


def _operands(made: Computed, element: int) -> list[_Element]:
    """The operands' elements that an element of elementwise arithmetic is computed from."""
    return [(operand, element if operand.shape else 0) for operand in made.operands]
