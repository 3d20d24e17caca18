"""All elementwise functions."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.composed import ComposedFn
from shlo_disc.functions.record import DialectOp, Elementwise
from shlo_disc.functions.unary import UnaryFn

FUNCTIONS: tuple[Elementwise, ...] = tuple([fn.value for table in (UnaryFn, BinaryFn, ComposedFn) for fn in table])
BY_NAME: Mapping[str, Elementwise] = {function.name: function for function in FUNCTIONS}
BY_OP: Mapping[str, tuple[Elementwise, DialectOp]] = {
    op.prefix + function.name: (function, op) for function in FUNCTIONS for op in function.ops
}


def operand_names(function: Elementwise, op: DialectOp) -> tuple[str, ...]:
    """The names of an op's operands in errors."""
    return op.operands or (("operand",), ("lhs", "rhs"))[function.arity - 1]
