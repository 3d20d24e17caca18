"""Turns a product with one element into a reduction, which is parallel and fuses with other readers of its operands.

A product kernel is parallel over its results, and here there is only one. A reduction is split into parts of fixed
size, so its bits do not depend on threads (`kernels/split_reduction.py`). Narrow types accumulate in wider ones, so
they stay products.
"""

from __future__ import annotations

from typing import Any

from shlo_disc.dynamic_ops import create, reduce
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.create import ConstantAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.scalar import Const
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite

_TYPES = {DType.F32, DType.F64, DType.I32, DType.I64, DType.UI32, DType.UI64}


def add_up_inner_products(program: Program) -> Program:
    """Replace full contractions of two tensors by `multiply` and `d_reduce`."""

    def change(op: Op[Any], _producers: Producers) -> Changed:
        return _sum(op) if isinstance(op.attrs, DotAttrs) and _is_inner(op) else op

    return rewrite(program, change)


def _is_inner(op: Op[DotAttrs]) -> bool:
    """Whether all dims of both operands are contracted, each with the dim of the same number."""
    left, right = op.operands
    same_type = left.dtype is right.dtype is op.results[0].dtype
    is_whole = len(op.attrs.lhs_contract) == len(left.shape) == len(right.shape) > 0
    return same_type and left.dtype in _TYPES and is_whole and op.attrs.lhs_contract == op.attrs.rhs_contract


def _sum(op: Op[DotAttrs]) -> tuple[Op[Any], ...]:
    left, (result,), span = op.operands[0], op.results, op.span

    def tensor(of: str, shape: tuple[Any, ...] = ()) -> Tensor:
        return Tensor(f"{result.name}_{of}", shape, result.dtype, span)

    products, zero, carry, element, added = (
        tensor("products", left.shape),
        tensor("zero"),
        tensor("carry"),
        tensor("element"),
        tensor("added"),
    )
    start = Const(0.0 if result.dtype.is_float else 0, result.dtype)
    add = Op(BinaryFn.ADD.value.name, (carry, element), NoAttrs(), (added,), (), span)
    adder = Body((carry, element), (add,), (added,))
    dims = ReduceAttrs(tuple(range(len(left.shape))))
    return (
        Op(BinaryFn.MULTIPLY.value.name, op.operands, NoAttrs(), (products,), (), span),
        create.CONSTANT.op((), ConstantAttrs(start), (zero,), span),
        reduce.REDUCE.op((products, zero), dims, (result,), span, (adder,)),
    )


DOT_TO_REDUCE = Pass("dot_to_reduce", add_up_inner_products)
