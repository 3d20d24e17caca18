"""Check the ops of a module against their records: `verify_ops`."""

from __future__ import annotations

from shlo_disc.diagnostics import Note, VerifyError
from shlo_disc.dialects.record import OpRecord
from shlo_disc.dialects.table import OPS, OTHER_OPS
from shlo_disc.dialects.view import OpView
from shlo_disc.ir.core import Module, Op
from shlo_disc.ir.depth import with_room
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.verify import verify_module
from shlo_disc.parse.origins import naming_origins
from shlo_disc.verify.slots import Broken, Slots
from shlo_disc.verify.value_types import verify_signatures, verify_type
from shlo_disc.verify.walk import Walk


def verify(module: Module) -> None:
    """Check a module against the StableHLO specification: first how it is connected, then op by op.

    Args:
        module: a module from `parse` or `rewrite`.

    Raises:
        VerifyError: at the first op that breaks a rule, with the rule, what was found, and the place in the text.
    """
    with naming_origins(module):
        verify_module(module, spell_type)
    verify_ops(module)


@with_room
def verify_ops(module: Module) -> None:
    """Raise `VerifyError` at the first op that breaks a constraint of the StableHLO specification.

    Of other dialects, those ops that compute sizes are checked.
    """
    walk, slots = Walk(module), Slots()
    with naming_origins(module):
        verify_signatures(module)
        for op in walk.ops():
            for value in op.results:
                verify_type(value.type, value.span)
            record = OPS.get(op.name) or OTHER_OPS.get(op.name)
            broken = None if record is None else _broken(record, op, walk, slots)
            if broken is not None:
                raise _error(op, broken)
            for region in op.regions:
                for block in region.blocks:
                    for value in block.arguments:
                        verify_type(value.type, value.span)


def _broken(record: OpRecord, op: Op, walk: Walk, slots: Slots) -> Broken | None:
    """Return the label of the first constraint that an op breaks, and why."""
    filled = slots.fill(record, op)
    if isinstance(filled, Broken):
        return filled
    if filled.open:
        return None
    view = OpView(op, walk.module, filled.values, record.defaults, walk.constants)
    for label, check in record.constraints.items():
        refusal = check(view)
        if refusal is not None:
            return Broken(label, refusal)
    return None


def _error(op: Op, broken: Broken) -> VerifyError:
    label, refusal = broken.label, broken.refusal
    dialect, _, name = op.name.partition(".")
    known = f"{label} of {name}" if dialect == "stablehlo" else f"{label} of {op.name}"
    notes = ()
    if refusal.at is not None and all(value is not refusal.at for value in op.results):
        notes = (Note(f"'%{refusal.at.name}' is defined here", refusal.at.span),)
    message = f"expected {refusal.expected}, found {refusal.found}" + (f" ({known})" if label else "")
    return VerifyError(message, op.span, notes=notes)
