"""Ops of packed programs: how each op that may be is computed within the lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops import contract, move, reduce, slices
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.move import BroadcastAttrs, ConcatenateAttrs, PadAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.scalar import neutral
from shlo_disc.ragged.pairs import PackedLayout, Pair
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.reductions import fold_of
from shlo_disc.ragged.states import Known, is_number
from shlo_disc.ragged.steps import OpAnalysis
from shlo_disc.ragged.storage import PackedValue, Storage
from shlo_disc.ragged.values import Places, single_position


@dataclass(frozen=True, slots=True)
class PackedStep:
    """An op that is being packed: the layout of its result, and for each operand whether it is aligned with it."""

    op: Op[Any]
    analysis: OpAnalysis
    layout: PackedLayout
    aligned: tuple[bool, ...]


Rule: TypeAlias = Callable[["PackedOps", PackedStep], Tensor | None]
SumRule: TypeAlias = Callable[["PackedOps", Op[Any], int, Pair], bool]  # of an operand, along a pair


@dataclass(slots=True)
class PackedOps:
    """Adds ops on packed tensors."""

    analysis: ProgramAnalysis
    storage: Storage

    def is_aligned(self, tensor: Tensor, places: Places | None, pair: Pair) -> bool:
        """Whether a packed operand's rows and positions are those of a pair of the op's space."""
        own = self.storage.packed.get(tensor)
        if own is None or places is None or own.layout.pair.source != pair.source:
            return False
        theirs = own.layout.pair
        return place_of(places, theirs.row) == pair.row and place_of(places, theirs.position) == pair.position

    def operand(self, step: PackedStep, number: int) -> Tensor:
        """An operand that has the result's shape, packed; one of rank 0 as it is."""
        x = step.op.operands[number]
        if not x.shape:
            return self.storage.as_padded(x)
        return self.storage.as_packed(x, step.layout, step.op.span, is_aligned=step.aligned[number])

    def made(self, op: Op[Any], operands: Sequence[Tensor], attrs: Any, layout: PackedLayout) -> Tensor:
        """Add an op on packed tensors."""
        result = self.storage.ops.tensor(layout.shape, op.results[0].dtype, op.span)
        return self.storage.ops.add(Op(op.name, tuple(operands), attrs, (result,), op.bodies, op.span))

    def packed_operand(self, op: Op[Any], number: int, pair: Pair) -> PackedValue | None:
        """An operand, packed along a pair of the op's space; None if it has not these rows and positions."""
        x, places = op.operands[number], self.analysis.context.steps[op].reading.places[number]
        if self.is_aligned(x, places, pair):
            return self.storage.packed[x]
        found = [] if places is None else [place_of(places, k) for k in range(len(places))]
        if found.count(pair.row) != 1 or found.count(pair.position) != 1:
            return None
        layout = self.storage.layout(x, Pair(pair.source, found.index(pair.row), found.index(pair.position)))
        return PackedValue(self.storage.as_packed(x, layout, op.span, is_aligned=False), layout)


def place_of(places: Places, factor: int) -> int | None:
    """The factor of an op's space along which a factor of an operand is read."""
    form = places[factor]
    return None if form is None else single_position(form)


def elementwise_op(packing: PackedOps, step: PackedStep) -> Tensor | None:
    """An elementwise op."""
    operands = [packing.operand(step, k) for k in range(len(step.op.operands))]
    return packing.made(step.op, operands, step.op.attrs, step.layout)


def _broadcast(packing: PackedOps, step: PackedStep) -> Tensor | None:
    """A broadcast: of a packed operand, or of one that has rows, positions, or neither."""
    (x,), attrs, layout = step.op.operands, step.op.attrs, step.layout
    assert isinstance(attrs, BroadcastAttrs)
    axes, span = layout.axes, step.op.span
    if step.aligned[0]:
        own = packing.storage.packed[x]
        kept = [(axes[attrs.dims[dim]], attrs.expand[dim]) for dim in own.layout.dims]
        new = BroadcastAttrs(tuple([k for k, _ in kept]), tuple([expand for _, expand in kept]))
        return packing.made(step.op, (own.tensor,), new, layout)
    x = packing.storage.as_padded(x)
    places, value = step.analysis.reading.places[0], packing.storage.context.of(x)
    if places is None:
        return None
    pair, taken = layout.pair, dict[int, int]()
    for dim, to in enumerate(attrs.dims):
        if attrs.expand[dim] is True:
            continue
        if to not in axes or to == layout.dims[layout.rows]:  # the dim of rows, or that of positions
            numbers = value.numbers(dim)
            at = place_of(places, numbers[0]) if len(numbers) == 1 else None
            if at not in (pair.row, pair.position) or at in taken.values():
                return None
            taken[dim] = at
    kept = [dim for dim in range(len(x.shape)) if dim not in taken and attrs.dims[dim] in axes]
    dropped = [dim for dim in range(len(x.shape)) if dim not in taken and dim not in kept]  # of size 1
    if dropped:
        remaining = [dim for dim in range(len(x.shape)) if dim not in dropped]
        x = packing.storage.ops.reshape(x, tuple([x.shape[dim] for dim in remaining]), span)
        taken = {remaining.index(dim): at for dim, at in taken.items()}
    if not taken:
        new = BroadcastAttrs(tuple([axes[attrs.dims[dim]] for dim in kept]), tuple([attrs.expand[dim] for dim in kept]))
        return packing.made(step.op, (x,), new, layout)
    rows = packing.storage.rows[pair.source]
    if len(taken) == 2:
        indices = rows.places
        dims = sorted(taken, key=lambda dim: taken[dim] != pair.row)
    else:
        dims = list(taken)
        indices = rows.part_of_places(int(taken[dims[0]] == pair.position))
    gathered = packing.storage.ops.gather(x, indices, dims, (0,), span)
    new = BroadcastAttrs(
        (layout.rows, *(axes[attrs.dims[dim]] for dim in kept)), (False, *(attrs.expand[dim] for dim in kept))
    )
    return packing.made(step.op, (gathered,), new, layout)


def _transpose(packing: PackedOps, step: PackedStep) -> Tensor | None:
    own = packing.packed_operand(step.op, 0, step.layout.pair)
    if own is None:
        return None
    attrs = step.op.attrs
    assert isinstance(attrs, TransposeAttrs)
    axes = own.layout.axes
    order = tuple([axes[attrs.permutation[dim]] for dim in step.layout.dims])
    return packing.made(step.op, (own.tensor,), TransposeAttrs(order), step.layout)


def _reshape(packing: PackedOps, step: PackedStep) -> Tensor | None:
    own = packing.packed_operand(step.op, 0, step.layout.pair)
    return None if own is None else packing.made(step.op, (own.tensor,), NoAttrs(), step.layout)


def _slice(packing: PackedOps, step: PackedStep) -> Tensor | None:
    own, attrs = packing.packed_operand(step.op, 0, step.layout.pair), step.op.attrs
    if own is None or own.layout.dims != step.layout.dims:
        return None
    assert isinstance(attrs, SliceAttrs)
    dims = own.layout.dims
    new = SliceAttrs(tuple([attrs.starts[dim] for dim in dims]), tuple([attrs.strides[dim] for dim in dims]))
    return packing.made(step.op, (own.tensor,), new, step.layout)


def _pad(packing: PackedOps, step: PackedStep) -> Tensor | None:
    own, attrs = packing.packed_operand(step.op, 0, step.layout.pair), step.op.attrs
    if own is None or own.layout.dims != step.layout.dims:
        return None
    assert isinstance(attrs, PadAttrs)
    dims = own.layout.dims
    new = PadAttrs(tuple([attrs.low[dim] for dim in dims]), tuple([attrs.interior[dim] for dim in dims]))
    value = packing.storage.as_padded(step.op.operands[1])
    return packing.made(step.op, (own.tensor, value), new, step.layout)


def _concatenate(packing: PackedOps, step: PackedStep) -> Tensor | None:
    attrs = step.op.attrs
    assert isinstance(attrs, ConcatenateAttrs)
    if attrs.dim not in step.layout.axes or attrs.dim == step.layout.dims[step.layout.rows]:
        return None
    parts = [packing.packed_operand(step.op, k, step.layout.pair) for k in range(len(step.op.operands))]
    found = [part for part in parts if part is not None and part.layout.dims == step.layout.dims]
    if len(found) < len(parts):
        return None
    new = ConcatenateAttrs(step.layout.axes[attrs.dim])
    return packing.made(step.op, [part.tensor for part in found], new, step.layout)


def _reduce(packing: PackedOps, step: PackedStep) -> Tensor | None:
    """A reduction of dims that are neither rows nor positions."""
    attrs = step.op.attrs
    assert isinstance(attrs, ReduceAttrs)
    if len(step.op.operands) != 2:
        return None
    own = packing.packed_operand(step.op, 0, step.layout.pair)
    if own is None or any(dim not in own.layout.axes or dim == own.layout.dims[own.layout.rows] for dim in attrs.dims):
        return None
    new = ReduceAttrs(tuple([own.layout.axes[dim] for dim in attrs.dims]))
    start = packing.storage.as_padded(step.op.operands[1])
    return packing.made(step.op, (own.tensor, start), new, step.layout)


def _dot(packing: PackedOps, step: PackedStep) -> Tensor | None:
    """A product of rows with a matrix that all rows share."""
    op, attrs, pair = step.op, step.op.attrs, step.layout.pair
    assert isinstance(attrs, DotAttrs)
    places = step.analysis.reading.places
    sides = [
        None if each is None else {place_of(each, k) for k in range(len(each))} & {pair.row, pair.position}
        for each in places
    ]
    if sides not in ([{pair.row, pair.position}, set()], [set(), {pair.row, pair.position}]):
        return None
    mine = 0 if sides[0] else 1
    own = packing.packed_operand(op, mine, pair)
    if own is None:
        return None
    axes, (batch, contracted) = own.layout.axes, _sides(attrs)[mine]
    if not all(dim in axes for dim in (*batch, *contracted)):
        return None
    renamed = tuple([tuple([axes[dim] for dim in dims]) for dims in (batch, contracted)])
    other = packing.storage.as_padded(op.operands[1 - mine])
    others = _sides(attrs)[1 - mine]
    (lhs, rhs), operands = (
        ((renamed, others), (own.tensor, other)) if mine == 0 else ((others, renamed), (other, own.tensor))
    )
    new = DotAttrs(lhs[0], rhs[0], lhs[1], rhs[1], attrs.precision)
    return packing.made(op, operands, new, step.layout)


def _sides(attrs: DotAttrs) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The batching and the contracted dims of each operand."""
    return (attrs.lhs_batch, attrs.lhs_contract), (attrs.rhs_batch, attrs.rhs_contract)


RULES: Mapping[str, Rule] = {
    move.BROADCAST.name: _broadcast,
    move.TRANSPOSE.name: _transpose,
    move.RESHAPE.name: _reshape,
    move.CONCATENATE.name: _concatenate,
    move.PAD.name: _pad,
    slices.SLICE.name: _slice,
    reduce.REDUCE.name: _reduce,
    contract.DOT.name: _dot,
}


def _contracted(packing: PackedOps, op: Op[Any], _number: int, pair: Pair) -> bool:
    """A product that sums over all positions, as in the gradient of a matrix that all rows share."""
    attrs = op.attrs
    assert isinstance(attrs, DotAttrs)
    sides = [packing.packed_operand(op, k, pair) for k in (0, 1)]
    found = [side for side in sides if side is not None]
    if len(found) < len(sides):
        return False
    axes = [side.layout.axes for side in found]
    kept = [
        dims
        for dims in zip(attrs.lhs_contract, attrs.rhs_contract, strict=True)
        if any(dim in own for dim, own in zip(dims, axes, strict=True))
    ]
    if not all(dim in own for dims in kept for dim, own in zip(dims, axes, strict=True)):
        return False
    batch = [tuple([own[dim] for dim in dims]) for own, (dims, _) in zip(axes, _sides(attrs), strict=True)]
    contracted = [tuple([own[dims[k]] for dims in kept]) for k, own in enumerate(axes)]
    new = DotAttrs(batch[0], batch[1], contracted[0], contracted[1], attrs.precision)
    packing.storage.ops.add(replace(op, operands=tuple([side.tensor for side in found]), attrs=new))
    return True


def _added(packing: PackedOps, op: Op[Any], number: int, pair: Pair) -> bool:
    """A reduction over all positions, where those beyond the lengths are the neutral element."""
    attrs, fold = op.attrs, fold_of(op.bodies[0])
    assert isinstance(attrs, ReduceAttrs)
    own = packing.packed_operand(op, 0, pair) if op.operands[0] in packing.storage.packed else None
    if number != 0 or own is None or fold is None or len(op.operands) != 2:
        return False
    x = op.operands[0]
    fill = packing.storage.pairs.fill(x, own.layout.pair)
    if fill is None or not is_number(Known(fill), neutral(fold, x.dtype)):
        return False
    new = ReduceAttrs(tuple([own.layout.axes[dim] for dim in attrs.dims if dim in own.layout.axes]))
    start = packing.storage.as_padded(op.operands[1])
    packing.storage.ops.add(replace(op, operands=(own.tensor, start), attrs=new))
    return True


SUMS: Mapping[str, SumRule] = {contract.DOT.name: _contracted, reduce.REDUCE.name: _added}
