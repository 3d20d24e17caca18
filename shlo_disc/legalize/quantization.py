"""Quantized tensors: after legalization there are only the integers that they store.

A tensor of `!quant.uniform<…>` is bound to the tensor of its storage type; the parameters stay in the type that the
text states. Ops that move elements move stored integers. Ops that compute are, in the words of the specification,
`dequantize_op_quantize` (section "Quantization computations"): stored integers become numbers of the expressed type,
the op is the plain one, and its results are stored again. A float operand beside a quantized one (hybrid forms of
`dot_general` and `convolution`) stays as it is. Regions of reductions hold quantized ops of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import const
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import QuantizedElement, QuantizedTensorType
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_move import broadcast

_STORED = frozenset({  # ops that read and write stored integers
    *(
        f"stablehlo.{name}"
        for name in (
            "all_gather", "all_reduce", "all_to_all", "bitcast_convert", "broadcast", "broadcast_in_dim", "case",
            "collective_broadcast", "collective_permute", "composite", "concatenate", "constant", "custom_call",
            "dynamic_broadcast_in_dim", "dynamic_gather", "dynamic_pad", "dynamic_reshape", "dynamic_slice",
            "dynamic_update_slice", "gather", "get_dimension_size", "get_tuple_element", "if", "map",
            "optimization_barrier", "pad", "real_dynamic_slice", "reduce_scatter", "reshape", "reverse",
            "set_dimension_size", "slice", "sort", "torch_index_select", "transpose", "tuple", "while",
        )
    ),
    "func.call",
})  # fmt: skip
_COMBINED = frozenset({
    "stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.select_and_scatter",
})  # fmt: skip


def is_quantized(op: ir.Op) -> bool:
    """Whether an op takes or gives a quantized tensor."""
    return any(isinstance(x.type, QuantizedTensorType) for x in (*op.operands, *op.results))


def with_quantized(rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
    """Extend rules for plain tensors to quantized ones."""
    extended = {name: rule if name in _STORED else _extended(name, rule) for name, rule in rules.items()}
    return {**extended, "stablehlo.uniform_quantize": _quantize, "stablehlo.uniform_dequantize": _dequantize}


def _extended(name: str, plain: Rule) -> Rule:
    def rule(frame: Frame, op: ir.Op) -> Sequence[Bound]:
        if not is_quantized(op):
            return plain(frame, op)
        return plain(frame, _as_combined(frame, op)) if name in _COMBINED else _in_expressed(frame, op, plain)

    return rule


def _quantize(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return [_stored(frame, _expressed(frame, op.operands[0], op), op.results[0], op)]


def _dequantize(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return [_expressed(frame, op.operands[0], op)]


def _in_expressed(frame: Frame, op: ir.Op, plain: Rule) -> Sequence[Bound]:
    """`dequantize_op_quantize`: the op on dequantized operands, with its results quantized again."""
    operands = [_meant(x) for x in op.operands]
    for value, meant in zip(op.operands, operands, strict=True):
        if meant is not value:
            frame.bind(meant, _expressed(frame, value, op))
    found = plain(frame, replace(op, operands=tuple(operands), results=tuple(map(_meant, op.results))))
    return [
        _stored(frame, frame.build.materialized(x, op.span), value, op) if _is_stored(value) else x
        for x, value in zip(found, op.results, strict=True)
    ]


def _as_combined(frame: Frame, op: ir.Op) -> ir.Op:
    """Requantize the operands of a reduction to the types of its region's arguments."""
    taken = op.regions[-1].block.arguments
    half = len(taken) // 2
    match op.name:
        case "stablehlo.scatter":
            wanted = (*taken[:half], op.operands[half], *taken[half:])
        case "stablehlo.select_and_scatter":
            wanted = (op.operands[0], taken[0], taken[0])
        case _:
            wanted = taken
    return replace(op, operands=tuple(_stored_as(frame, x, y, op) for x, y in zip(op.operands, wanted, strict=True)))


def _stored_as(frame: Frame, value: ir.Value, wanted: ir.Value, op: ir.Op) -> ir.Value:
    if not _is_stored(wanted) or _parameters(value) == _parameters(wanted):
        return value
    fresh = ir.Value(value.name, replace(_quantized_type(value), element=_parameters(wanted)), value.span)
    frame.bind(fresh, _stored(frame, _expressed(frame, value, op), fresh, op))
    return fresh


def _is_stored(value: ir.Value) -> bool:
    return isinstance(value.type, QuantizedTensorType)


def _quantized_type(value: ir.Value) -> QuantizedTensorType:
    assert isinstance(value.type, QuantizedTensorType), "asked for quantized values only"
    return value.type


def _parameters(value: ir.Value) -> QuantizedElement:
    return _quantized_type(value).element


def _meant(value: ir.Value) -> ir.Value:
    """A value of the expressed type in the place of a quantized one."""
    if not isinstance(value.type, QuantizedTensorType):
        return value
    return ir.Value(value.name, ir.TensorType(value.type.shape, value.type.element.expressed), value.span)


def _expressed(frame: Frame, value: ir.Value, op: ir.Op) -> Tensor:
    """`dequantize`: (stored - zero point) * scale. The difference is exact, in an integer type that holds it."""
    x = frame.tensor(value)
    if not _is_stored(value):
        return x
    element, build, span = _parameters(value), frame.build, op.span
    exact = DType.I32 if element.storage.bits < DType.I32.bits else DType.I64
    whole = _converted(frame, x, exact, op)
    if any(element.zero_points):
        zero = _along_axis(frame, element, element.zero_points, exact, x.shape, op)
        whole = build.one("subtract", (whole, zero), NoAttrs(), x.shape, exact, span)
    scale = _along_axis(frame, element, element.scales, element.expressed, x.shape, op)
    number = _converted(frame, whole, element.expressed, op)
    return build.one("multiply", (number, scale), NoAttrs(), x.shape, element.expressed, span)


def _stored(frame: Frame, x: Tensor, value: ir.Value, op: ir.Op) -> Tensor:
    """`quantize`: x / scale + zero point, clamped to the storage range, rounded to even. A NaN is stored as 0."""
    element, build, span, dtype = _parameters(value), frame.build, op.span, x.dtype
    scale = _along_axis(frame, element, element.scales, dtype, x.shape, op)
    x = build.one("divide", (x, scale), NoAttrs(), x.shape, dtype, span)
    if any(element.zero_points):
        zero = _along_axis(frame, element, element.zero_points, dtype, x.shape, op)
        x = build.one("add", (x, zero), NoAttrs(), x.shape, dtype, span)
    least, most = (build.constant(_rounded(limit, dtype), (), dtype, span) for limit in (element.least, element.most))
    x = build.one("clamp", (least, x, most), NoAttrs(), x.shape, dtype, span)
    x = build.one("round_nearest_even", (x,), NoAttrs(), x.shape, dtype, span)
    return _converted(frame, x, element.storage, op)


def _converted(frame: Frame, x: Tensor, dtype: DType, op: ir.Op) -> Tensor:
    return x if x.dtype is dtype else frame.build.one("convert", (x,), NoAttrs(), x.shape, dtype, op.span)


def _along_axis(
    frame: Frame,
    element: QuantizedElement,
    parameters: Sequence[float],
    dtype: DType,
    shape: Shape,
    op: ir.Op,
) -> Tensor:
    """Scales or zero points in the shape of a tensor: one for all of it, or one per index of its quantized axis."""
    if element.axis is None:
        return frame.build.constant(_rounded(parameters[0], dtype), shape, dtype, op.span)
    values = np.array(parameters).astype(numpy_dtype(dtype))
    what = "a tensor that is quantized along an axis has one scale per index"
    frame.build.demand_equal(shape[element.axis], const(len(parameters)), what, op.span)
    return broadcast(frame, frame.build.literal(values, dtype, op.span), (element.axis,), shape, op.span)


def _rounded(value: float, dtype: DType) -> float:
    """Round a number to a type."""
    return np.asarray(value).astype(numpy_dtype(dtype)).item()
