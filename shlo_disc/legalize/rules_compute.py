"""StableHLO to DHLO: reductions, contractions, sort and scatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dynamic_ops.contract import ConvAttrs, DataDims, DotAttrs, KernelDims, Precision, free_dims
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.order import ScatterAttrs, SelectAndScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Body, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.expr.dim import ONE, ZERO, Dim, const, maximum
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import ArrayAttr, ConvDimensionsAttr, EnumAttr, RecordAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import Fields, integer, integers
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import demand_indexed, stated


def _one_shape(frame: Frame, op: ir.Op, values: Sequence[ir.Value]) -> Shape:
    shapes = [x.shape for x in frame.tensors(values)]
    return frame.build.same_shape(shapes, f"the tensors of {op.name} need equal shapes", op.span)


def _results(op: ir.Op, shapes: Sequence[Shape]) -> list[tuple[Shape, DType]]:
    return [(shape, result_dtype(op, k)) for k, shape in enumerate(shapes)]


def _reduce(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    half, dims = len(op.operands) // 2, tuple(sorted(integers(op, "dimensions")))
    if not dims:  # as XLA does; the specification would combine every element with its initial value
        return frame.tensors(op.operands[:half])
    shape = _one_shape(frame, op, op.operands[:half])
    kept = tuple(size for k, size in enumerate(shape) if k not in dims)
    results = _results(op, [stated(frame, op, kept, k) for k in range(half)])
    body = frame.combiner(op.regions[0])
    return frame.build.emit("d_reduce", frame.tensors(op.operands), ReduceAttrs(dims), results, op.span, (body,))


def _dims(values: Sequence[int]) -> tuple[Dim, ...]:
    return tuple(map(const, values))


def _pairs(values: Sequence[Dim]) -> tuple[tuple[Dim, Dim], ...]:
    return tuple(zip(values[::2], values[1::2], strict=True))


def _reduce_window(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    window = _dims(integers(op, "window_dimensions"))
    rank = len(window)
    strides, base, dilations = (
        _dims(integers(op, name, (1,) * rank)) for name in ("window_strides", "base_dilations", "window_dilations")
    )
    padding = _pairs(_dims(integers(op, "padding", (0,) * 2 * rank)))
    attrs = ReduceWindowAttrs(window, strides, base, dilations, tuple(low for low, _ in padding))
    return windowed(frame, op, op.operands, attrs, padding, frame.combiner(op.regions[0]))


def windowed(
    frame: Frame,
    op: ir.Op,
    operands: Sequence[ir.Value],
    attrs: ReduceWindowAttrs,
    padding: Sequence[tuple[Dim, Dim]],
    body: Body,
) -> Sequence[Bound]:
    """A reduction over windows; `operands` are tensors, then initial values."""
    half = len(operands) // 2
    shape = _one_shape(frame, op, operands[:half])
    spread = (
        dilated(n, d) + low + high for n, d, (low, high) in zip(shape, attrs.base_dilations, padding, strict=True)
    )
    sizes = [
        window_count(n, w, d, s)
        for n, w, d, s in zip(spread, attrs.window, attrs.window_dilations, attrs.strides, strict=True)
    ]
    results = _results(op, [stated(frame, op, sizes, k) for k in range(half)])
    attrs = replace(attrs, inside=frozenset(k for k, pair in enumerate(padding) if all(map(_adds_nothing, pair))))
    return frame.build.emit("d_reduce_window", frame.tensors(operands), attrs, results, op.span, (body,))


def _adds_nothing(padding: Dim) -> bool:
    return (known := padding.constant) is not None and known <= 0


def dilated(size: Dim, step: Dim) -> Dim:
    """The size of a dim whose elements are put `step` apart; an empty dim stays empty."""
    return size if step == ONE else maximum((size - 1) * step + 1, 0)


def window_count(size: Dim, window: Dim, dilation: Dim, stride: Dim) -> Dim:
    """How many windows fit into a dim."""
    room = size - dilated(window, dilation)
    if stride == ONE:
        return room + 1 if _fits_exactly(room) else maximum(room + 1, 0)
    return maximum((room + stride) // stride, 0)


def _fits_exactly(room: Dim) -> bool:
    """Whether the room for a window is a known number that is not negative."""
    return (known := room.constant) is not None and known >= 0


def _dot_general(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    fields = Fields(op, "dot_dimension_numbers")
    attrs = DotAttrs(
        lhs_batch=fields.integers("lhs_batching_dimensions"),
        rhs_batch=fields.integers("rhs_batching_dimensions"),
        lhs_contract=fields.integers("lhs_contracting_dimensions"),
        rhs_contract=fields.integers("rhs_contracting_dimensions"),
        precision=precision_of(op),
    )
    operands = frame.tensors(op.operands)
    if (sums := _sums_of(op)) is not None:
        operands = tuple([_converted(frame, x, sums, op) for x in operands])
    return [_converted(frame, contracted(frame, op, attrs, *operands), result_dtype(op), op)]


def _sums_of(op: ir.Op) -> DType | None:
    """The accumulation type of an algorithm if it is wider than the usual one: f64."""
    match op.attributes.get("algorithm"):
        case RecordAttr(fields={"accumulation_type": EnumAttr(value="f64")}) if result_dtype(op).is_float:
            return DType.F64
        case _:
            return None


def _converted(frame: Frame, x: Tensor, dtype: DType, op: ir.Op) -> Tensor:
    return x if x.dtype is dtype else frame.build.one("convert", (x,), NoAttrs(), x.shape, dtype, op.span)


def _dot(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    lhs, rhs = frame.tensors(op.operands)
    attrs = DotAttrs((), (), (len(lhs.shape) - 1,), (0,), precision_of(op))
    return [contracted(frame, op, attrs, lhs, rhs)]


def precision_of(op: ir.Op) -> Precision:
    """The higher of both operands' precisions; an algorithm requested by name gets the highest."""
    if "algorithm" in op.attributes:
        return Precision.HIGHEST
    match op.attributes.get("precision_config"):
        case ArrayAttr(items=items):
            found = [Precision[item.value] for item in items if isinstance(item, EnumAttr)]
            return max(found, key=lambda one: one.value, default=Precision.DEFAULT)
        case _:
            return Precision.DEFAULT


def contracted(frame: Frame, op: ir.Op, attrs: DotAttrs, lhs: Tensor, rhs: Tensor, *, is_result: bool = True) -> Tensor:
    """A product of two tensors in the type that the op sums in; `is_result`: its shape has to agree with the text."""
    pairs = [*zip(attrs.lhs_batch, attrs.rhs_batch, strict=True)]
    pairs += zip(attrs.lhs_contract, attrs.rhs_contract, strict=True)
    for a, b in pairs:
        frame.build.demand_equal(lhs.shape[a], rhs.shape[b], "dims that dot pairs need equal sizes", op.span)
    shape = [
        *(lhs.shape[k] for k in attrs.lhs_batch),
        *(lhs.shape[k] for k in free_dims(len(lhs.shape), attrs.lhs_batch, attrs.lhs_contract)),
        *(rhs.shape[k] for k in free_dims(len(rhs.shape), attrs.rhs_batch, attrs.rhs_contract)),
    ]
    if is_result:
        shape = [*stated(frame, op, shape)]
    return frame.build.one("d_dot", (lhs, rhs), attrs, shape, _sums_of(op) or result_dtype(op), op.span)


def _convolution(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    numbers = op.attributes["dimension_numbers"]
    assert isinstance(numbers, ConvDimensionsAttr), "the verifier checked the attribute"
    rank = len(numbers.input) - 2
    if len(op.operands) > 2:  # dynamic_conv: the padding is an operand
        padding = _pairs(frame.dims(op.operands[2], op))
    else:
        padding = _pairs(_dims(integers(op, "padding", (0,) * 2 * rank)))
    ones = (1,) * rank
    attrs = ConvAttrs(
        input=_data_dims(numbers.input, op),
        kernel=_kernel_dims(numbers.kernel, op),
        output=_data_dims(numbers.output, op),
        strides=_dims(integers(op, "window_strides", ones)),
        padding=padding,
        lhs_dilation=_dims(integers(op, "lhs_dilation", ones)),
        rhs_dilation=_dims(integers(op, "rhs_dilation", ones)),
        reversal=tuple(map(bool, integers(op, "window_reversal", (0,) * rank))),
        feature_groups=integer(op, "feature_group_count"),
        batch_groups=integer(op, "batch_group_count"),
        precision=precision_of(op),
    )
    return [_convolved(frame, op, attrs)]


def _places(letters: Sequence[str | int], names: str, op: ir.Op) -> tuple[int, int, tuple[int, ...]]:
    spatial = sorted(x for x in letters if isinstance(x, int))
    try:
        return letters.index(names[0]), letters.index(names[1]), tuple(map(letters.index, spatial))
    except ValueError:
        raise VerifyError(f"expected '{names[0]}' and '{names[1]}' among {letters}", op.span) from None


def _data_dims(letters: Sequence[str | int], op: ir.Op) -> DataDims:
    return DataDims(*_places(letters, "bf", op))


def _kernel_dims(letters: Sequence[str | int], op: ir.Op) -> KernelDims:
    return KernelDims(*_places(letters, "io", op))


def _convolved(frame: Frame, op: ir.Op, attrs: ConvAttrs) -> Bound:
    x, kernel = frame.tensors(op.operands[:2])
    shape = [ZERO] * len(x.shape)
    shape[attrs.output.batch] = x.shape[attrs.input.batch] // attrs.batch_groups
    shape[attrs.output.feature] = kernel.shape[attrs.kernel.output_feature]
    frame.build.demand_equal(
        x.shape[attrs.input.feature],
        kernel.shape[attrs.kernel.input_feature] * attrs.feature_groups,
        "a convolution's input features are those of the kernel, times the groups",
        op.span,
    )
    for size, groups, what in (
        (x.shape[attrs.input.batch], attrs.batch_groups, "batch"),
        (kernel.shape[attrs.kernel.output_feature], attrs.batch_groups, "output features"),
        (kernel.shape[attrs.kernel.output_feature], attrs.feature_groups, "output features"),
    ):
        frame.build.demand_equal(size % groups, ZERO, f"a convolution's {what} are a multiple of its groups", op.span)
    for k, (low, high) in enumerate(attrs.padding):
        size = dilated(x.shape[attrs.input.spatial[k]], attrs.lhs_dilation[k]) + low + high
        window = kernel.shape[attrs.kernel.spatial[k]]
        shape[attrs.output.spatial[k]] = window_count(size, window, attrs.rhs_dilation[k], attrs.strides[k])
    return frame.build.one("d_convolution", (x, kernel), attrs, stated(frame, op, shape), result_dtype(op), op.span)


def _sort(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    shape = _one_shape(frame, op, op.operands)
    dim = integer(op, "dimension", -1)
    attrs = SortAttrs(dim % len(shape), bool(integer(op, "is_stable", 0)))
    body = frame.combiner(op.regions[0])
    results = _results(op, [shape] * len(op.operands))
    return frame.build.emit("d_sort", frame.tensors(op.operands), attrs, results, op.span, (body,))


def _scatter(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    fields = Fields(op, "scatter_dimension_numbers")
    attrs = ScatterAttrs(
        update_window_dims=fields.integers("update_window_dims"),
        inserted_window_dims=fields.integers("inserted_window_dims"),
        input_batching_dims=fields.integers("input_batching_dims"),
        scatter_indices_batching_dims=fields.integers("scatter_indices_batching_dims"),
        scatter_dims_to_operand_dims=fields.integers("scatter_dims_to_operand_dims"),
        index_vector_dim=fields.integer("index_vector_dim"),
        unique_indices=bool(integer(op, "unique_indices", 0)),
    )
    half = len(op.operands) // 2
    shape = _one_shape(frame, op, op.operands[:half])
    updates, indices = _one_shape(frame, op, op.operands[half + 1 :]), frame.tensor(op.operands[half])
    batch = [size for k, size in enumerate(updates) if k not in attrs.update_window_dims]
    rows = [size for k, size in enumerate(indices.shape) if k != attrs.index_vector_dim]
    for a, b in zip(batch, rows, strict=True):
        frame.build.demand_equal(a, b, "scatter has one update per index", op.span)
    batches = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    numbers = attrs.index_vector_dim, len(attrs.scatter_dims_to_operand_dims)
    demand_indexed(frame, op, shape, indices.shape, numbers, batches)
    dropped = {*attrs.inserted_window_dims, *attrs.input_batching_dims}
    kept = [size for k, size in enumerate(shape) if k not in dropped]
    for k, size in zip(attrs.update_window_dims, kept, strict=True):
        frame.build.demand_at_least(size, updates[k], "the window of a scatter is at most its operand", op.span)
    body = frame.combiner(op.regions[0])
    results = _results(op, [shape] * half)
    return frame.build.emit("d_scatter", frame.tensors(op.operands), attrs, results, op.span, (body,))


def _select_and_scatter(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, source, init = frame.tensors(op.operands)
    rank = len(x.shape)
    window = _dims(integers(op, "window_dimensions", (1,) * rank))
    strides = _dims(integers(op, "window_strides", (1,) * rank))
    padding = _pairs(_dims(integers(op, "padding", (0,) * 2 * rank)))
    for size, n, w, s, (low, high) in zip(x.shape, source.shape, window, strides, padding, strict=True):
        frame.build.demand_equal(
            window_count(size + low + high, w, ONE, s), n, "select_and_scatter has one source per window", op.span
        )
    attrs = SelectAndScatterAttrs(window, strides, tuple(low for low, _ in padding))
    bodies = tuple(map(frame.combiner, op.regions))
    results = [(x.shape, x.dtype)]
    return frame.build.emit("d_select_and_scatter", (x, source, init), attrs, results, op.span, bodies)


def _map(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    shape = _one_shape(frame, op, op.operands)
    body = frame.combiner(op.regions[0])
    results = _results(op, [shape])
    return frame.build.emit("d_map", frame.tensors(op.operands), NoAttrs(), results, op.span, (body,))


RULES: Mapping[str, Rule] = {
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dot": _dot,
    "stablehlo.convolution": _convolution,
    "stablehlo.dynamic_conv": _convolution,
    "stablehlo.sort": _sort,
    "stablehlo.scatter": _scatter,
    "stablehlo.select_and_scatter": _select_and_scatter,
    "stablehlo.map": _map,
}
