"""The entry of one op in the table of ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shlo_disc.functions.record import Prefix
from shlo_disc.functions.table import BY_OP


@dataclass(frozen=True, slots=True)
class OpSyntax:
    """One op. Without a `form` it is written in generic form only.

    `signature` gives the numbers of operands, results and regions: "2 1", "1+ 1 1"; regions are 0 if left out.
    `attributes` names those of the op's own attributes (MLIR's properties) that its form does not name. All others are
    foreign: MLIR prints them apart. `name:i64s` marks an attribute that older texts spell in another way.
    """

    name: str
    signature: str
    form: str | None = None
    attributes: str = ""


def entries(
    dialect: str, names: str, signature: str, form: str | None = None, attributes: str = ""
) -> tuple[OpSyntax, ...]:
    """Describe ops that differ only in their names."""
    return tuple([OpSyntax(f"{dialect}.{name}", signature, form, attributes) for name in names.split()])


def elementwise(
    prefix: Prefix, form: str, own_forms: Mapping[str, str] | None = None, attributes: str = ""
) -> tuple[OpSyntax, ...]:
    """Describe the ops of elementwise functions whose names begin with a prefix; some have a form of their own."""
    return tuple(
        [
            OpSyntax(
                name,
                f"{function.arity} 1",
                (own_forms or {}).get(function.name, form),
                "result_accuracy" if op.accuracy else attributes,
            )
            for name, (function, op) in BY_OP.items()
            if op.prefix is prefix
        ]
    )


# How forms commonly end: with one type for all values, or with the types of operands and results.
SAME = " {operands}{attr-dict} : {same}"
FUNCTIONAL = " {operands}{attr-dict} : {functional}"
ARROW = " {operands}{attr-dict} : {arrow}"
