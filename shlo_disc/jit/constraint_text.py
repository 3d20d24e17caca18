"""Constraints on sizes in the language of `jax.export.SymbolicScope`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.jit.shape_specs import RESERVED
from shlo_disc.legalize.constraints import read_constraints
from shlo_disc.size_expr import SizeExpr, SizeOp

_NAME = re.compile(r"[^\W\d]\w*")
_HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_FUNCTIONS = {"//": "floordiv", "%": "mod", "min": "min", "max": "max"}


def names_in(constraint: str) -> frozenset[str]:
    """The names of sizes in a constraint."""
    return frozenset(_NAME.findall(constraint)) - RESERVED


def first_broken(constraints: Sequence[str], values: Mapping[str, int]) -> str | None:
    """The first constraint that sizes do not keep. Raises `ParseError`, also for a name without value.

    >>> first_broken(["b >= 9", "b == 8*k"], {"b": 16}), first_broken(["b >= 9", "b == 8*k"], {"b": 12})
    (None, 'b == 8*k')
    """
    found = read_constraints(constraints, {name: const(value) for name, value in values.items()})
    for text, one in zip(constraints, found, strict=True):
        difference = (one.assumption.lhs - one.assumption.rhs).constant
        assert difference is not None, "all names have values"
        if not _HOLDS[one.assumption.relation.value](difference, 0):
            return text
    return None


def for_jax(constraints: Sequence[str]) -> list[str]:
    """The constraints as JAX reads them, which knows `>=`, `<=` and `==` alone. Raises `ParseError`.

    >>> for_jax(["b % 8 == 0", "s < 2*t"])
    ['mod(b, 8) == 0', 's + 1 <= 2*t']
    """
    names = {name: symbol(name) for text in constraints for name in names_in(text)}
    found = list[str]()
    for one in read_constraints(constraints, names):
        lhs, relation, rhs = one.assumption.lhs, one.assumption.relation.value, one.assumption.rhs
        match relation:
            case "<":
                lhs, relation = lhs + 1, "<="
            case ">":
                rhs, relation = rhs + 1, ">="
            case _:
                pass
        found.append(f"{text_of(lhs)} {relation} {text_of(rhs)}")
    return found


def text_of(size: Dim) -> str:
    """A size as JAX reads it.

    >>> text_of((symbol("n") + 1) // 2)
    'floordiv(n + 1, 2)'
    """
    return _text(size.size_expr())


def _text(size: SizeExpr) -> str:
    if not isinstance(size, SizeOp):
        return str(size)
    operands = [_text(one) for one in size.operands]
    if size.fn in _FUNCTIONS:
        return f"{_FUNCTIONS[size.fn]}({', '.join(operands)})"
    if size.fn == "*":
        pairs = zip(size.operands, operands, strict=True)
        return "*".join(f"({text})" if isinstance(one, SizeOp) and one.fn == "+" else text for one, text in pairs)
    return " + ".join(operands)
