"""Checks on sizes: find the one that a call violates, and report it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from shlo_disc.artifact import Artifact, CheckText
from shlo_disc.diagnostics import InternalError, RuntimeShapeError, split_message
from shlo_disc.records import record
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import SizeExpr, evaluate, symbols_of

_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
_MIRRORED = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}


def holds(check: CheckText, symbols: Mapping[str, int]) -> bool:
    """Whether the sizes satisfy a check."""
    relation = _RELATIONS.get(check.relation)
    if relation is None:
        raise InternalError(f"relation {check.relation!r} in a check, expected one of {', '.join(_RELATIONS)}")
    return relation(evaluate(check.lhs, symbols), evaluate(check.rhs, symbols))


def verify(artifact: Artifact, symbols: Symbols) -> None:
    """Raise `RuntimeShapeError` for the first violated check, in the order of the program."""
    for check in artifact.checks:
        if not holds(check, symbols):
            raise broken(artifact, check, symbols)


def verify_layout(artifact: Artifact, symbols: Symbols) -> None:
    """Raise `InternalError` for the first condition of the memory layout that the sizes of a call violate."""
    for size in artifact.conditions:
        if evaluate(size, symbols) < 0:
            raise InternalError(
                "the layout of memory does not hold at these sizes, so that nothing was run: "
                f"found {_equation(size, symbols)}, expected at least 0\n  where {sizes_of(artifact, (size,))}"
            )


@record
class ShownSize:
    """A part of a message: the value of a size in a call."""

    size: SizeExpr


def broken(artifact: Artifact, check: CheckText, symbols: Mapping[str, int]) -> RuntimeShapeError:
    """The error for a violated check: its message with values, the sizes it depends on, and its source line."""
    parts = message_parts(artifact, check)
    return RuntimeShapeError("".join([one if isinstance(one, str) else _show(one.size, symbols) for one in parts]))


def message_parts(artifact: Artifact, check: CheckText) -> list[str | ShownSize]:
    """The message for a violated check: texts, and the sizes whose values stand between them."""
    message = split_message(check.message, len(check.values))
    parts = [part if isinstance(part, str) else ShownSize(check.values[part]) for part in message]
    lhs, relation, rhs = check.lhs, check.relation, check.rhs
    if isinstance(lhs, int) and relation in _MIRRORED:  # a constant is what is expected, not what was found
        lhs, relation, rhs = rhs, _MIRRORED[relation], lhs
    parts += ["\n  found ", *_equation_parts(lhs), f", expected {relation} ", *_equation_parts(rhs)]
    if sizes := sizes_of(artifact, (check.lhs, check.rhs)):
        parts.append(f"\n  where {sizes}")
    if check.where:
        parts.append(f"\n  demanded at {check.where}")
    return parts


def sizes_of(artifact: Artifact, sizes: Sequence[SizeExpr]) -> str:
    """Where the symbols in sizes come from: a dim or an element of an argument, or a formula."""
    names, defined = list[str](), dict(zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True))
    waiting = list(sizes)
    for size in waiting:
        new = [name for name in dict.fromkeys(symbols_of(size)) if name not in names]
        names += new
        waiting += [defined[name] for name in new if name in defined]
    dims = (f"{artifact.arguments[argument].name}, dim {axis}" for argument, axis in artifact.raw)
    places = dict(zip(artifact.symbols, (*dims, *artifact.places[len(artifact.raw) :]), strict=False))
    known = {**places, **defined}
    return ", ".join(f"{name} is {known[name]}" for name in names if name in known)


def _equation_parts(size: SizeExpr) -> list[str | ShownSize]:
    return [str(size)] if isinstance(size, int) else [f"{size} = ", ShownSize(size)]


def _equation(size: SizeExpr, symbols: Mapping[str, int]) -> str:
    return "".join([one if isinstance(one, str) else _show(one.size, symbols) for one in _equation_parts(size)])


def _show(size: SizeExpr, symbols: Mapping[str, int]) -> str:
    try:
        return str(evaluate(size, symbols))
    except KeyError:  # it depends on a size that this check guards
        return "?"
