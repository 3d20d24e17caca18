"""StableHLO to DHLO: ops that rearrange, read and write parts of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from shlo_disc.diagnostics import Span, VerifyError
from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.move import (
    BroadcastAttrs,
    ConcatenateAttrs,
    PadAttrs,
    ReverseAttrs,
    TransposeAttrs,
)
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ONE, ZERO, Dim, const, maximum, product, total
from shlo_disc.ir import core as ir
from shlo_disc.legalize.attribute_values import Fields, integer, integers
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.limits import MOST_JOINED


def stated(frame: Frame, op: ir.Op, shape: Sequence[Dim], k: int = 0) -> Shape:
    """Demand that a result's computed shape agrees with the text."""
    return frame.build.declared(shape, op.results[k].type, f"the result of {op.name}", op.span)


def broadcast(frame: Frame, x: Tensor, dims: tuple[int, ...], shape: Shape, span: Span) -> Tensor:
    """Broadcast; decide per dim whether a size 1 is expanded."""
    build = frame.build
    shape = tuple(map(build.facts.canonical, shape))
    if x.shape == shape and dims == tuple(range(len(shape))):
        return x
    expand = tuple(_expands(frame, size, shape[dim], span) for size, dim in zip(x.shape, dims, strict=True))
    return build.one("d_broadcast", (x,), BroadcastAttrs(dims, expand), shape, x.dtype, span)


def _expands(frame: Frame, size: Dim, target: Dim, span: Span) -> bool | None:
    if size == ONE:
        return True
    facts = frame.build.facts
    if facts.equal(size, target).is_true:
        return False
    if facts.equal(size, ONE).is_false or target == ONE:
        frame.build.demand_equal(size, target, "a broadcast keeps sizes that are not 1", span)
        return False
    frame.build.demand_one_or(size, target, "a broadcast keeps sizes that are not 1", span)
    return None


def _broadcast_in_dim(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x = frame.tensor(op.operands[0])
    shape = _shape_operand(frame, op)
    return [broadcast(frame, x, integers(op, "broadcast_dimensions"), shape, op.span)]


def _shape_operand(frame: Frame, op: ir.Op) -> Shape:
    """The result's shape: from the second operand if there is one, else from the text."""
    return asked_shape(frame, op, op.operands[1]) if len(op.operands) > 1 else static_shape(op)


def asked_shape(frame: Frame, op: ir.Op, sizes: ir.Value, k: int = 0) -> Shape:
    """The shape that a shape operand gives."""
    shape = stated(frame, op, frame.dims(sizes, op), k)
    for size in shape:
        frame.build.demand_at_least(size, 0, f"the result of {op.name} has no negative sizes", op.span)
    return shape


def static_shape(op: ir.Op, k: int = 0) -> Shape:
    """The shape of a result that the text states in full."""
    type_ = tensor_type(op.results[k].type, op.span)
    sizes = tuple(size for size in type_.shape if size is not None)
    if len(sizes) < len(type_.shape):
        raise VerifyError(f"expected {op.name} to have a static result shape, found a '?'", op.span)
    return tuple(map(const, sizes))


def _broadcast(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, sizes = frame.tensor(op.operands[0]), integers(op, "broadcast_sizes")
    shape = (*map(const, sizes), *x.shape)
    dims = tuple(range(len(sizes), len(shape)))
    return [broadcast(frame, x, dims, shape, op.span)]


def reshape(frame: Frame, x: Tensor, shape: Shape, span: Span) -> Tensor:
    """Reshape; demand that the number of elements is kept."""
    build = frame.build
    shape = tuple(map(build.facts.canonical, shape))
    if x.shape == shape:
        return x
    build.demand_equal(product(x.shape), product(shape), "a reshape keeps the number of elements", span)
    return build.one("d_reshape", (x,), NoAttrs(), shape, x.dtype, span)


def _reshape(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x = frame.tensor(op.operands[0])
    shape = _shape_operand(frame, op)
    return [reshape(frame, x, shape, op.span)]


def _transpose(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, permutation = frame.tensor(op.operands[0]), integers(op, "permutation")
    if permutation == tuple(range(len(permutation))):
        return [x]
    shape = stated(frame, op, [x.shape[k] for k in permutation])
    return [frame.build.one("d_transpose", (x,), TransposeAttrs(permutation), shape, x.dtype, op.span)]


def _reverse(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, dims = frame.tensor(op.operands[0]), integers(op, "dimensions")
    return [frame.build.one("d_reverse", (x,), ReverseAttrs(dims), x.shape, x.dtype, op.span)]


def _iota(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    shape = asked_shape(frame, op, op.operands[0]) if op.operands else static_shape(op)
    return [frame.build.iota(integer(op, "iota_dimension"), shape, result_dtype(op), op.span)]


def _concatenate(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    tensors, dim = frame.tensors(op.operands), integer(op, "dimension")
    if len(tensors) == 1:
        return [tensors[0]]
    around = [(*x.shape[:dim], ONE, *x.shape[dim + 1 :]) for x in tensors]
    shape = list(frame.build.same_shape(around, "concatenate keeps the other sizes", op.span))
    attrs, dtype = ConcatenateAttrs(dim), tensors[0].dtype
    while len(tensors) > MOST_JOINED:  # each element selects among all operands, whose starts are sums of sizes
        width = ceil(len(tensors) / ceil(len(tensors) / MOST_JOINED))
        parts = [tensors[first : first + width] for first in range(0, len(tensors), width)]
        shapes = [(*shape[:dim], total(x.shape[dim] for x in part), *shape[dim + 1 :]) for part in parts]
        pairs = zip(parts, shapes, strict=True)
        tensors = tuple([frame.build.one("d_concatenate", part, attrs, size, dtype, op.span) for part, size in pairs])
    shape[dim] = total(x.shape[dim] for x in tensors)
    return [frame.build.one("d_concatenate", tensors, attrs, stated(frame, op, shape), dtype, op.span)]


def _dims_of(values: Sequence[int]) -> tuple[Dim, ...]:
    return tuple(map(const, values))


def _slice(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    starts, limits = (_dims_of(integers(op, f"{name}_indices")) for name in ("start", "limit"))
    strides = _dims_of(integers(op, "strides", (1,) * len(starts)))
    return [_sliced(frame, op, starts, limits, strides)]


def _real_dynamic_slice(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    if isinstance(starts := frame.bound(op.operands[1]), Tensor):
        limits, strides = frame.producer(op.operands[2]), frame.dims(op.operands[3], op)
        apart = limits is not None and limits.name == "stablehlo.add" and limits.operands[0] is op.operands[1]
        if limits is not None and apart and all(stride == ONE for stride in strides):
            return [_computed_slice(frame, op, starts, frame.dims(limits.operands[1], op))]
    first, limits, strides = (frame.dims(x, op) for x in op.operands[1:])
    return [_sliced(frame, op, first, limits, strides)]


def _computed_slice(frame: Frame, op: ir.Op, starts: Tensor, sizes: Sequence[Dim]) -> Tensor:
    """A slice from a data-dependent start; JAX writes its limits as the starts plus known sizes."""
    x = frame.tensor(op.operands[0])
    scalars = tuple(_element_of(frame, starts, k, op.span) for k in range(len(x.shape)))
    shape = stated(frame, op, sizes)
    _fits(frame, op, shape, x.shape)
    return frame.build.one("d_dynamic_slice", (x, *scalars), NoAttrs(), shape, x.dtype, op.span)


def _element_of(frame: Frame, vector: Tensor, k: int, span: Span) -> Tensor:
    one = frame.build.one("d_slice", (vector,), SliceAttrs((const(k),), (ONE,)), (ONE,), vector.dtype, span)
    return reshape(frame, one, (), span)


def _sliced(frame: Frame, op: ir.Op, starts: Sequence[Dim], limits: Sequence[Dim], strides: Sequence[Dim]) -> Tensor:
    x = frame.tensor(op.operands[0])
    for start, limit, size in zip(starts, limits, x.shape, strict=True):
        frame.build.demand_at_least(start, 0, "a slice starts within its operand", op.span)
        frame.build.demand_at_least(limit, start, "a slice ends after its start", op.span)
        frame.build.demand_at_least(size, limit, "a slice ends within its operand", op.span)
    for stride in strides:
        frame.build.demand_at_least(stride, 1, "the step of a slice is at least 1", op.span)
    facts = frame.build.facts
    shape = stated(frame, op, [_count(b - a, d) for a, b, d in zip(starts, limits, strides, strict=True)])
    first = tuple(map(facts.canonical, starts))
    steps = tuple(map(facts.canonical, strides))
    shape = tuple(map(facts.canonical, shape))
    if shape == x.shape and all(a == ZERO for a in first) and all(d == ONE for d in steps):
        return x
    return frame.build.one("d_slice", (x,), SliceAttrs(first, steps), shape, x.dtype, op.span)


def _count(length: Dim, stride: Dim) -> Dim:
    """How many elements a slice takes: the length over the stride, rounded up."""
    return length if stride == ONE else (length + stride - 1) // stride


def _set_dimension_size(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Keep the first elements along a dim; the others are no part of the result."""
    x, dim = frame.tensor(op.operands[0]), integer(op, "dimension")
    (count,) = frame.dims(op.operands[1], op)
    limits = [count if k == dim else size for k, size in enumerate(x.shape)]
    return [_sliced(frame, op, (ZERO,) * len(limits), limits, (ONE,) * len(limits))]


def _dynamic_slice(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, *starts = frame.tensors(op.operands)
    shape = stated(frame, op, _dims_of(integers(op, "slice_sizes")))
    _fits(frame, op, shape, x.shape)
    return [frame.build.one("d_dynamic_slice", (x, *starts), NoAttrs(), shape, x.dtype, op.span)]


def _dynamic_update_slice(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    tensors = frame.tensors(op.operands)
    x = tensors[0]
    _fits(frame, op, tensors[1].shape, x.shape)
    return [frame.build.one("d_dynamic_update_slice", tensors, NoAttrs(), x.shape, x.dtype, op.span)]


def demand_indexed(
    frame: Frame,
    op: ir.Op,
    shape: Shape,
    indices: Shape,
    numbers: tuple[int, int],
    batches: Iterable[tuple[int, int]],
) -> None:
    """Demand what a gather or a scatter needs of the sizes of its indices.

    `numbers`: the index vector dim, and the size it needs. `batches`: batch dims, as (dim of the tensor, dim of the
    indices).
    """
    place, count = numbers
    if place < len(indices):
        frame.build.demand_equal(
            indices[place], const(count), f"{op.name} has one index for each dim of its map", op.span
        )
    for dim, k in batches:
        frame.build.demand_equal(
            shape[dim], indices[k], f"{op.name} has as many batches of indices as of data", op.span
        )


def _fits(frame: Frame, op: ir.Op, window: Sequence[Dim], shape: Sequence[Dim]) -> None:
    """Demand that a window at a computed place is not larger than the tensor."""
    for part, size in zip(window, shape, strict=True):
        frame.build.demand_at_least(part, 0, f"the window of {op.name} has no negative sizes", op.span)
        frame.build.demand_at_least(size, part, f"the window of {op.name} is at most its operand", op.span)


def _pad(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    low, high, interior = (
        _dims_of(integers(op, name)) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return [_padded(frame, op, low, high, interior)]


def _dynamic_pad(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    low, high, interior = (frame.dims(x, op) for x in op.operands[2:])
    return [_padded(frame, op, low, high, interior)]


def _padded(frame: Frame, op: ir.Op, low: Sequence[Dim], high: Sequence[Dim], interior: Sequence[Dim]) -> Tensor:
    x, value = frame.tensors(op.operands[:2])
    for between in interior:
        frame.build.demand_at_least(between, 0, "there is no negative padding between elements", op.span)
    shape = stated(
        frame,
        op,
        [
            a + size + b + (maximum(size - 1, 0) * c if c != ZERO else ZERO)
            for a, size, b, c in zip(low, x.shape, high, interior, strict=True)
        ],
    )
    for size in shape:
        frame.build.demand_at_least(size, 0, "a padded size is not negative", op.span)
    canonical = frame.build.facts.canonical
    attrs = PadAttrs(tuple(map(canonical, low)), tuple(map(canonical, interior)))
    return frame.build.one("d_pad", (x, value), attrs, shape, x.dtype, op.span)


def _gather(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    if op.name == "stablehlo.gather":
        sizes = _dims_of(integers(op, "slice_sizes"))
    else:
        sizes = tuple(map(frame.build.facts.canonical, frame.dims(op.operands[2], op)))
    fields = Fields(op, "dimension_numbers")
    attrs = GatherAttrs(
        offset_dims=fields.integers("offset_dims"),
        collapsed_slice_dims=fields.integers("collapsed_slice_dims"),
        operand_batching_dims=fields.integers("operand_batching_dims"),
        start_indices_batching_dims=fields.integers("start_indices_batching_dims"),
        start_index_map=fields.integers("start_index_map"),
        index_vector_dim=fields.integer("index_vector_dim"),
        slice_sizes=sizes,
    )
    return [_gathered(frame, op, attrs)]


def _gathered(frame: Frame, op: ir.Op, attrs: GatherAttrs) -> Tensor:
    x, indices = frame.tensors(op.operands[:2])
    batch = iter([n for k, n in enumerate(indices.shape) if k != attrs.index_vector_dim])
    dropped = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    kept = iter([size for k, size in enumerate(attrs.slice_sizes) if k not in dropped])
    rank = len(indices.shape) - (attrs.index_vector_dim < len(indices.shape)) + len(attrs.offset_dims)
    shape = [next(kept) if k in attrs.offset_dims else next(batch) for k in range(rank)]
    # Batching dims have windows of 1, or of 0 if the batch is empty; they need not fit into the operand's size.
    window = [ZERO if k in attrs.operand_batching_dims else size for k, size in enumerate(attrs.slice_sizes)]
    _fits(frame, op, window, x.shape)
    batches = zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True)
    demand_indexed(frame, op, x.shape, indices.shape, (attrs.index_vector_dim, len(attrs.start_index_map)), batches)
    return frame.build.one("d_gather", (x, indices), attrs, stated(frame, op, shape), x.dtype, op.span)


def _torch_index_select(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """x[…, index[…], …]: a gather of whole slices along `dim`, row by row of the batch dims."""
    x, indices = frame.tensors(op.operands)
    dim, batch = integer(op, "dim"), integer(op, "batch_dims")
    count = len(indices.shape)
    result_rank = len(x.shape) + count - batch - 1
    taken = set(range(batch)) | set(range(dim, dim + count - batch))
    attrs = GatherAttrs(
        offset_dims=tuple(k for k in range(result_rank) if k not in taken),
        collapsed_slice_dims=(dim,),
        operand_batching_dims=tuple(range(batch)),
        start_indices_batching_dims=tuple(range(batch)),
        start_index_map=(dim,),
        index_vector_dim=count,
        slice_sizes=tuple(ONE if k < batch or k == dim else size for k, size in enumerate(x.shape)),
    )
    return [_gathered(frame, op, attrs)]


RULES: Mapping[str, Rule] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.reshape": _reshape,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.reverse": _reverse,
    "stablehlo.iota": _iota,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.slice": _slice,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.set_dimension_size": _set_dimension_size,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.pad": _pad,
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.gather": _gather,
    "stablehlo.dynamic_gather": _gather,
    "stablehlo.torch_index_select": _torch_index_select,
}
