"""Custom calls that functions registered by users compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from shlo_disc.custom_calls import CustomCall, Entries, decoded
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.opdef import Arrays, OpDef, Template, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.records import record
from shlo_disc.target_names import HOST


@record
class CustomCallAttrs:
    """The op's attributes. `aliases`: results that start as a copy of an operand, as (result, operand).

    `takes` and `returns`: the numbers of operands and results of the function. Those behind them are tokens, or one
    empty result of an op without any, since every op has a value.
    """

    target: str
    entries: Entries
    aliases: tuple[tuple[int, int], ...]
    has_side_effect: bool
    takes: int
    returns: int


def has_side_effect(op: Op[object]) -> bool:
    """Whether an op has side effects: it runs as often as the text states, even if its results are unused."""
    if isinstance(op.attrs, CustomCallAttrs):
        return op.attrs.has_side_effect
    if isinstance(op.attrs, OutlinedAttrs):
        return any(has_side_effect(inner) for program in op.attrs.programs for inner in program.body.ops)
    return any(has_side_effect(inner) for body in op.bodies for inner in body.ops)


_DTYPES = {dtype.numpy: dtype for dtype in DType}


def _named(name: str) -> np.dtype[Any]:
    return numpy_dtype(_DTYPES[name])


def _custom_call_reference(op: Op[CustomCallAttrs], inputs: Arrays) -> Arrays:
    """Call the function that is registered for the host."""
    found = tuple(np.empty(concrete_shape(result.shape), numpy_dtype(result.dtype)) for result in op.results)
    call = CustomCall(op.attrs.target, decoded(op.attrs.entries, _named), op.attrs.aliases)
    call.run(HOST, inputs[: op.attrs.takes], found[: op.attrs.returns])
    return found


CUSTOM_CALL = OpDef(
    name="d_custom_call",
    attrs=CustomCallAttrs,
    template=Template.LIBRARY,
    element=None,
    reference=plain(_custom_call_reference),
)
OPS = (CUSTOM_CALL,)
