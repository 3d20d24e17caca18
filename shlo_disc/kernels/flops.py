"""How many floating-point operations an op is, as a formula of sizes: what profiles and reports show.

A multiply-add of a product counts as two. A function of elements counts as the additions that take as long, such as 10
for `exp`. What only moves or converts elements counts as none; sorts, library calls and integers are not counted.
"""

from __future__ import annotations

from shlo_disc.dynamic_ops import create, gather, move, slices
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.elementwise import BITCAST_CONVERT, CONVERT
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.order import SCATTER
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, const, product

_MOVES = frozenset(
    one.name for family in (create.OPS, gather.OPS, move.OPS, slices.OPS, (CONVERT, BITCAST_CONVERT)) for one in family
)


def flops(op: Op[object]) -> Dim:
    """The floating-point operations of an op."""
    match op.attrs:
        case DotAttrs(lhs_contract=dims):
            depth = product(tuple([op.operands[0].shape[k] for k in dims]))
            return _multiply_adds(op) * product(op.results[0].shape) * depth
        case GroupedDotAttrs():  # as if all rows belonged to groups: how many do is known in a call alone
            return _multiply_adds(op) * product(op.operands[0].shape) * op.operands[1].shape[-1]
        case ConvAttrs(kernel=kernel):
            window = tuple([size for k, size in enumerate(op.operands[1].shape) if k != kernel.output_feature])
            return _multiply_adds(op) * product(op.results[0].shape) * product(window)
        case ReduceAttrs():
            return product(op.operands[0].shape) * _combining(op)
        case ReduceWindowAttrs(window=window):
            return product(op.results[0].shape) * product(window) * _combining(op)
        case _:
            return _of_elements(op)


def _of_elements(op: Op[object]) -> Dim:
    if not any(map(_is_float, (*op.operands, *op.results))):
        return const(0)
    if op.name == SCATTER.name:
        return product(op.operands[-1].shape) * _combining(op)
    found = definition(op)
    if found.template is not Template.ELEMENT or op.name in _MOVES:
        return const(0)
    return product(op.results[0].shape) * round(found.cost)


def _multiply_adds(op: Op[object]) -> int:
    """The operations of a multiplication and an addition: of complex numbers, four and four."""
    return 8 if op.results[0].dtype.is_complex else 2


def _combining(op: Op[object]) -> int:
    """The operations of the body that combines two elements."""
    return sum(1 for one in op.bodies[0].ops if any(map(_is_float, one.results)))


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.is_float or tensor.dtype.is_complex
