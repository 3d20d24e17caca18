"""How much work one element of an op is, in units of one addition."""

from __future__ import annotations

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.elementwise import CONVERT, names_of
from shlo_disc.dynamic_ops.opdef import LOOP, Template
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn

_COUNTING = names_of(BinaryFn.ADD, BinaryFn.SUBTRACT, BinaryFn.MULTIPLY, UnaryFn.NEGATE) | {CONVERT.name}


def element_cost(op: Op[object]) -> float:
    """The cost of one element of `op`; 0 for free ops, large for elements that are folds."""
    if is_free(op):
        return 0.0
    found = definition(op)
    return found.cost if found.template is Template.ELEMENT else LOOP


def is_counting(op: Op[object], producers: Producers, known: dict[Op[object], bool]) -> bool:
    """Whether the elements of `op` are sums and products of indices and literals, which kernels compute as indices.

    `known` memoizes the answer per op.
    """
    waiting = [op]
    while op not in known:
        current = waiting.pop()
        counts = current.name in _COUNTING and all(t.dtype.is_integer for t in current.operands)
        made = [producers.get(t) for t in current.operands]
        if None in made or not (counts or is_free(current)):
            known[current] = False
        elif missing := [each[0] for each in made if each is not None and each[0] not in known]:
            waiting += [current, *missing]
        else:
            known[current] = all(known[each[0]] for each in made if each is not None)
    return known[op]
