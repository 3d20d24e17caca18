"""Numbers and types of the operands and results of known custom calls.

The specification does not define these calls, so the verifier accepts any operands.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from shlo_disc.diagnostics import VerifyError
from shlo_disc.ir import core as ir
from shlo_disc.legalize.attribute_values import integers, string
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule


def demand_count(what: str, found: int, wanted: Sequence[int], op: ir.Op) -> None:
    """Refuse a custom call with more or fewer operands or results than its target has."""
    if found not in wanted:
        target, most = string(op, "call_target_name"), wanted[-1]
        numbers = str(most) if len(wanted) == 1 else f"{wanted[0]} to {most}"
        raise VerifyError(f"expected {numbers} {what} of @{target}, found {found}", op.span)


def takes(rule: Rule, operands: Sequence[int] | None, results: int, *ranks: int, whole: Container[int] = ()) -> Rule:
    """A rule that first checks the numbers of operands and results; operands that state shapes may follow.

    `operands` is None where any number is right; `ranks` are those of the first operands, -1 for any; `whole`: which
    operands hold integers of at least 8 bits.
    """

    def apply(frame: Frame, op: ir.Op) -> Sequence[Bound]:
        given = len(op.operands)
        if operands is not None and given not in operands:
            given -= len(integers(op, "indices_of_shape_operands", ()))
            demand_count("operands", given, operands, op)
        demand_count("results", len(op.results), (results,), op)
        target = string(op, "call_target_name")
        for k, x in enumerate(op.operands):
            type_ = tensor_type(x.type, op.span)
            if k < len(ranks) and ranks[k] not in (-1, len(type_.shape)):
                message = f"expected operand {k} of @{target} to have {ranks[k]} dims, found {len(type_.shape)}"
                raise VerifyError(message, op.span)
            if k in whole and not (type_.dtype.is_integer and type_.dtype.bits >= 8):
                message = f"expected operand {k} of @{target} to hold integers, found {type_.dtype.value}"
                raise VerifyError(message, op.span)
        return rule(frame, op)

    return apply


def demand_types(found: Sequence[Bound], op: ir.Op) -> None:
    """Refuse a custom call whose results have other types than the text states."""
    demand_count("results", len(op.results), (len(found),), op)
    for k, (bound, result) in enumerate(zip(found, op.results, strict=True)):
        stated = tensor_type(result.type, op.span)
        dtype, rank = bound.dtype, len(bound.shape)
        if (dtype, rank) != (stated.dtype, len(stated.shape)):
            target = string(op, "call_target_name")
            message = f"expected result {k} of @{target} to have {rank} dims of {dtype.value}"
            raise VerifyError(f"{message}, found {len(stated.shape)} of {stated.dtype.value}", op.span)
