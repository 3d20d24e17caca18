"""StableHLO to DHLO: top-k, in all forms that JAX exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.order import SortAttrs
from shlo_disc.dynamic_ops.program import Body, Tensor
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ONE, ZERO, Dim, const
from shlo_disc.functions.direction import Direction
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoolAttr, IntegerAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import dictionary, integer
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.known_calls import takes
from shlo_disc.legalize.rules_move import stated


def _sorted(frame: Frame, op: ir.Op, operands: Sequence[Tensor], attrs: SortAttrs, body: Body) -> tuple[Tensor, ...]:
    types = [(x.shape, x.dtype) for x in operands]
    return frame.build.emit("d_sort", operands, attrs, types, op.span, (body,))


def _ranked(frame: Frame, op: ir.Op, k: Dim, before: Direction = Direction.GT) -> Sequence[Bound]:
    """top_k: sort along the last dim with the positions, descending or ascending, and keep the first k."""
    build, x = frame.build, frame.tensor(op.operands[0])
    last = len(x.shape) - 1
    positions = build.iota(last, x.shape, DType.I32, op.span)
    build.begin()
    arguments = [build.tensor((), dtype, op.span) for dtype in (x.dtype,) * 2 + (DType.I32,) * 2]
    attrs = CompareAttrs(before, total=x.dtype.is_float)
    comes_first = build.one("compare", arguments[:2], attrs, (), DType.I1, op.span)
    body = build.end(arguments, [comes_first])
    return _first(frame, op, _sorted(frame, op, (x, positions), SortAttrs(last, stable=True), body), last, k)


def _first(frame: Frame, op: ir.Op, tensors: Sequence[Tensor], dim: int, count: Dim) -> Sequence[Bound]:
    """Keep the first `count` along `dim`."""
    frame.build.demand_at_least(count, 0, "top-k returns no negative number of elements", op.span)
    frame.build.demand_at_least(tensors[0].shape[dim], count, "top-k returns at most all elements", op.span)
    found: list[Bound] = []
    for i, x in enumerate(tensors):
        shape = stated(frame, op, [count if k == dim else size for k, size in enumerate(x.shape)], i)
        attrs = SliceAttrs((ZERO,) * len(shape), (ONE,) * len(shape))
        found.append(frame.build.one("d_slice", (x,), attrs, shape, x.dtype, op.span))
    return found


def _top_k(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return _ranked(frame, op, const(integer(op, "k")))


def _dynamic_top_k(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return _ranked(frame, op, frame.dims(op.operands[1], op)[0])


def _approx_top_k(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Exact top-k: sort and keep the first elements, as on every device that has no approximation."""
    dim = dictionary(op, "mhlo.backend_config").get("reduction_dim")
    if not isinstance(dim, IntegerAttr):
        raise VerifyError("expected an integer 'reduction_dim' in the backend configuration", op.span)
    tensors, span = frame.tensors(op.operands[:2]), op.span
    rank, dtypes = len(tensors[0].shape), [x.dtype for x in tensors]
    frame.build.same_shape([x.shape for x in tensors], "top-k takes numbers, and a position for each", span)
    if not -rank <= dim.value < rank:
        raise VerifyError(f"expected a 'reduction_dim' below {rank}, found {dim.value}", span)
    body = frame.function_combiner(op, [dtype for dtype in dtypes for _ in range(2)], [DType.I1])
    where = dim.value % rank
    count = _approximate_count(frame, op, where)
    in_order = _sorted(frame, op, tensors, SortAttrs(where, stable=False), body)
    return _first(frame, op, in_order, where, count)


def _approximate_count(frame: Frame, op: ir.Op, dim: int) -> Dim:
    """The number of results: from the text, or from the operand that gives it."""
    shape = tensor_type(op.results[0].type, op.span).shape
    if len(shape) > dim and (size := shape[dim]) is not None:
        return const(size)
    if len(op.operands) > 4:  # after the tensors and their initial values
        sizes = frame.dims(op.operands[4], op)
        where = dim if len(sizes) == len(shape) else 0
        if where < len(sizes):
            return sizes[where]
    raise VerifyError("expected the number of results of top-k, found none", op.span)


def _mhlo_top_k(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`chlo.top_k` as older versions of JAX wrote it; it may ask for the smallest instead."""
    attributes = dictionary(op, "mhlo.attributes")
    k = attributes.get("k")
    if not isinstance(k, IntegerAttr):
        raise VerifyError("expected an integer 'k' in 'mhlo.attributes'", op.span)
    is_smallest = attributes.get("largest") == BoolAttr(value=False)
    return _ranked(frame, op, const(k.value), Direction.LT if is_smallest else Direction.GT)


CUSTOM: Mapping[str, Rule] = {
    "stablehlo.dynamic_top_k": takes(_dynamic_top_k, (2,), 2, -1, 0, whole=(1,)),
    "ApproxTopK": takes(_approx_top_k, (4,), 2, whole=(1,)),
    "stablehlo.dynamic_approx_top_k": takes(_approx_top_k, (5,), 2, whole=(1, 4)),
    "mhlo.topk": takes(_mhlo_top_k, (1,), 2),
}

RULES: Mapping[str, Rule] = {"chlo.top_k": _top_k}
