"""What a program demands of sizes: find the demand that a call breaks, and say so."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from shlo_disc.artifact import Artifact, CheckText, Formula
from shlo_disc.diagnostics import InternalError, RuntimeShapeError
from shlo_disc.runtime.formulas import Symbols, evaluate

_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


def holds(check: CheckText, symbols: Mapping[str, int]) -> bool:
    """Whether the sizes meet a demand."""
    relation = _RELATIONS.get(check.relation)
    if relation is None:
        raise InternalError(f"relation {check.relation!r} in a check, expected one of {', '.join(_RELATIONS)}")
    return relation(evaluate(check.lhs, symbols), evaluate(check.rhs, symbols))


def verify(artifact: Artifact, symbols: Symbols) -> None:
    """Raise for the first demand that is not met, in the order of the program."""
    for check in artifact.checks:
        if not holds(check, symbols):
            raise broken(check, symbols)


def broken(check: CheckText, symbols: Mapping[str, int]) -> RuntimeShapeError:
    """The error for a demand that is not met: its message with the values, and its line."""
    values = [_show(value, symbols) for value in check.values]

    def fill(hole: re.Match[str]) -> str:
        number = int(hole[1])
        return values[number] if number < len(values) else hole[0]

    message = re.sub(r"\{(\d+)\}", fill, check.message)
    found = _equation(check.lhs, symbols)
    wanted = _equation(check.rhs, symbols)
    lines = [message, f"  found {found}, expected {check.relation} {wanted}"]
    if check.where:
        lines.append(f"  demanded at {check.where}")
    return RuntimeShapeError("\n".join(lines))


def _equation(formula: Formula, symbols: Mapping[str, int]) -> str:
    value = _show(formula, symbols)
    return value if formula.strip() == value else f"{formula} = {value}"


def _show(formula: Formula, symbols: Mapping[str, int]) -> str:
    try:
        return str(evaluate(formula, symbols))
    except (
        KeyError,
        NameError,
        ZeroDivisionError,
    ):  # it builds on a size that this very check guards
        return "?"
