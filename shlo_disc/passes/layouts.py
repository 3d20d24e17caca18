"""Layout assignment: convolutions compute with features last if that cancels more transposes than it adds.

A convolution whose result has its features elsewhere (NCHW) computes them last, and a transpose after it restores the
order. Transposes sink through elementwise ops, padding, concatenation and windows; convolutions, reductions and inverse
transposes absorb them. One left after a chain becomes part of the last kernel's stores, as before. One of a value that
is also read with features last is a kernel of its own: these are the cost of the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shlo_disc.dynamic_ops import create, move
from shlo_disc.dynamic_ops.contract import ConvAttrs, DataDims, KernelDims
from shlo_disc.dynamic_ops.elementwise import BITCAST_CONVERT
from shlo_disc.dynamic_ops.elementwise import OPS as ELEMENTWISE
from shlo_disc.dynamic_ops.move import BroadcastAttrs, ConcatenateAttrs, PadAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.order import SelectAndScatterAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.passes.dce import DCE
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite

_ELEMENTWISE = frozenset(one.name for one in ELEMENTWISE) - {BITCAST_CONVERT.name}
_T = TypeVar("_T")


def choose_layouts(program: Program) -> Program:
    """Compute with features last where that pays; a note on the program records the decision and its reason."""
    program = DCE.run(program)
    moves = _Moves()
    changed = DCE.run(rewrite(program, moves.change))
    if not moves.convolutions:
        return program
    uses = Counter(x for op in changed.body.walk() for x in op.operands)
    uses.update(x for body in _bodies(changed) for x in body)
    left = [op for op in changed.body.walk() if op.results and op.results[0] in moves.moved]
    apart = sum(uses[op.operands[0]] > 1 for op in left)
    count = f"{moves.convolutions} convolution{'s' * (moves.convolutions != 1)} with features elsewhere"
    because = f"{moves.cancelled} transposes would cancel, {apart} be kernels of their own"
    if moves.cancelled > apart:
        return replace(changed, notes=(*changed.notes, f"{count} computed with features last: {because}"))
    return replace(program, notes=(*program.notes, f"{count} computed as they are: {because}"))


def _bodies(program: Program) -> Iterable[tuple[Tensor, ...]]:
    yield program.body.results
    for op in program.body.walk():
        yield from (body.results for body in op.bodies)


@dataclass(slots=True)
class _Moves:
    """The sources of moved tensors: dim k of a moved tensor is dim `permutation[k]` of its source."""

    moved: dict[Tensor, tuple[Tensor, tuple[int, ...]]] = field(
        default_factory=dict[Tensor, tuple[Tensor, tuple[int, ...]]]
    )
    convolutions: int = 0
    cancelled: int = 0

    def change(self, op: Op[Any], producers: Producers) -> Changed:
        """The op on the sources of its operands, and a transpose of its result."""
        match op.attrs:
            case ConvAttrs():
                return self._convolution(op)
            case TransposeAttrs() if op.operands[0] in self.moved:
                return self._transpose(op)
            case _:
                pass
        operands = _tensors(op)
        orders = {self.moved[x][1] for x in operands if x in self.moved}
        if len(orders) != 1:
            return op
        (order,) = orders
        if op.name in _ELEMENTWISE:
            return self._elementwise(op, order, producers)
        if any(x not in self.moved for x in operands):
            return op
        sources = tuple(self.moved[x][0] for x in operands)
        permuted = replace(op, operands=(*sources, *op.operands[len(sources) :]))
        return self._structural(op, permuted, order)

    def _structural(self, op: Op[Any], permuted: Op[Any], order: tuple[int, ...]) -> Changed:
        """Permute the attributes of an op that name dims; its tensors are all in this order."""
        match op.attrs:
            case ReduceAttrs(dims):
                kept = [order[d] for d in range(len(order)) if d not in dims]
                if kept != sorted(kept):
                    return op
                self.cancelled += 1
                return replace(permuted, attrs=ReduceAttrs(tuple(sorted(order[d] for d in dims))))
            case PadAttrs(low, interior):
                attrs: object = PadAttrs(_placed(low, order), _placed(interior, order))
            case ConcatenateAttrs(dim):
                attrs = ConcatenateAttrs(order[dim])
            case ReduceWindowAttrs() if len(op.results) == 1:
                attrs = _permuted_window(op.attrs, order)
                self.cancelled += 1
            case SelectAndScatterAttrs(window, strides, low):
                attrs = SelectAndScatterAttrs(*(_placed(values, order) for values in (window, strides, low)))
                self.cancelled += 1
            case _:
                return op
        return self._restored(replace(permuted, attrs=attrs), order)

    def _convolution(self, op: Op[ConvAttrs]) -> Changed:
        attrs, (image, taps) = op.attrs, op.operands
        if image in self.moved:
            image, order = self.moved[image]
            attrs = replace(attrs, input=_permuted_data(attrs.input, order))
            self.cancelled += 1
        if taps in self.moved:
            taps, order = self.moved[taps]
            attrs = replace(attrs, kernel=_permuted_kernel(attrs.kernel, order))
            self.cancelled += 1
        out = attrs.output
        order = _inverse((out.batch, *out.spatial, out.feature))
        permuted = replace(op, operands=(image, taps), attrs=attrs)
        if out.feature == len(order) - 1:
            return permuted
        self.convolutions += 1
        return self._restored(replace(permuted, attrs=replace(attrs, output=_permuted_data(out, order))), order)

    def _transpose(self, op: Op[TransposeAttrs]) -> Changed:
        source, order = self.moved[op.operands[0]]
        composed = tuple(order[d] for d in op.attrs.permutation)
        if composed == tuple(range(len(composed))):
            self.cancelled += 1
            return source
        self.moved[op.results[0]] = source, composed
        return replace(op, operands=(source,), attrs=TransposeAttrs(composed))

    def _elementwise(self, op: Op[Any], order: tuple[int, ...], producers: Producers) -> Changed:
        made, operands = list[Op[Any]](), list[Tensor]()
        for operand in op.operands:
            if operand in self.moved:
                operands.append(self.moved[operand][0])
            elif not operand.shape:
                operands.append(operand)
            else:
                producer = producers.get(operand)
                if producer is None or not (move.BROADCAST.defines(producer) or create.CONSTANT.defines(producer)):
                    return op  # it would be read across its rows
                made.append(_permuted_filler(producer, order))
                operands.append(made[-1].results[0])
        return [*made, *self._restored(replace(op, operands=tuple(operands)), order)]

    def _restored(self, op: Op[Any], order: tuple[int, ...]) -> list[Op[Any]]:
        """The op with a result in the new order, and its old result as a transpose of that."""
        (result,) = op.results
        source = _permuted_tensor(result, order)
        self.moved[result] = source, order
        back = move.TRANSPOSE.op((source,), TransposeAttrs(order), (result,), op.span)
        return [replace(op, results=(source,)), back]


def _tensors(op: Op[Any]) -> tuple[Tensor, ...]:
    """The operands that share dims with the result: all but initial values."""
    match op.attrs:
        case ReduceAttrs() | ReduceWindowAttrs():
            return op.operands[: len(op.operands) // 2]
        case SelectAndScatterAttrs():
            return op.operands[:2]
        case PadAttrs():
            return op.operands[:1]
        case _:
            return op.operands


def _placed(values: Sequence[_T], order: Sequence[int]) -> tuple[_T, ...]:
    """Values per dim, in the new order of the dims."""
    return tuple(values[d] for d in _inverse(order))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _permuted_tensor(tensor: Tensor, order: Sequence[int]) -> Tensor:
    return replace(tensor, name=f"{tensor.name}_last", shape=_placed(tensor.shape, order))


def _permuted_filler(op: Op[Any], order: Sequence[int]) -> Op[Any]:
    """A broadcast or a constant in the new order."""
    attrs = op.attrs
    if isinstance(attrs, BroadcastAttrs):
        attrs = replace(attrs, dims=tuple(order[d] for d in attrs.dims))
    return replace(op, attrs=attrs, results=(_permuted_tensor(op.results[0], order),))


def _permuted_data(dims: DataDims, order: Sequence[int]) -> DataDims:
    return DataDims(order[dims.batch], order[dims.feature], tuple(order[d] for d in dims.spatial))


def _permuted_kernel(dims: KernelDims, order: Sequence[int]) -> KernelDims:
    spatial = tuple(order[d] for d in dims.spatial)
    return KernelDims(order[dims.input_feature], order[dims.output_feature], spatial)


def _permuted_window(attrs: ReduceWindowAttrs, order: Sequence[int]) -> ReduceWindowAttrs:
    return ReduceWindowAttrs(
        window=_placed(attrs.window, order),
        strides=_placed(attrs.strides, order),
        base_dilations=_placed(attrs.base_dilations, order),
        window_dilations=_placed(attrs.window_dilations, order),
        low=_placed(attrs.low, order),
        inside=frozenset(order[d] for d in attrs.inside),
    )


LAYOUTS = Pass("layouts", choose_layouts)
