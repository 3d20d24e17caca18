"""Faults in element rules and in the evaluator's table, one at a time, and whether the samples of an op see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, cast

import numpy as np

from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.expr.dim import const
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Binary,
    Compare,
    Const,
    Fold,
    FromDim,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.facets import Array, Rule, agree, by_reference, formula, value
from tests.dynamic_ops.samples import SAMPLES
from tests.dynamic_ops.sampling import Sample

OTHER_DIRECTION = {
    Direction.EQ: Direction.NE,
    Direction.NE: Direction.EQ,
    Direction.LT: Direction.GE,
    Direction.GE: Direction.LT,
    Direction.GT: Direction.LE,
    Direction.LE: Direction.GT,
}
OTHER_FUNCTION = {
    BinaryFn.ADD: BinaryFn.SUBTRACT,
    BinaryFn.SUBTRACT: BinaryFn.ADD,
    BinaryFn.MULTIPLY: BinaryFn.ADD,
    BinaryFn.MAXIMUM: BinaryFn.MINIMUM,
    BinaryFn.MINIMUM: BinaryFn.MAXIMUM,
    BinaryFn.AND: BinaryFn.OR,
    BinaryFn.OR: BinaryFn.AND,
    BinaryFn.XOR: BinaryFn.OR,
    BinaryFn.SHIFT_LEFT: BinaryFn.SHIFT_RIGHT_LOGICAL,
    BinaryFn.SHIFT_RIGHT_LOGICAL: BinaryFn.SHIFT_LEFT,
    BinaryFn.SHIFT_RIGHT_ARITHMETIC: BinaryFn.SHIFT_RIGHT_LOGICAL,
}


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a sample's result: what it is by the reference, its formula, and the formula's faults."""

    sample: Sample
    wanted: Array
    formula: Scalar
    faults: Mapping[str, tuple[Node, Node]]

    def is_seen(self, fault: str) -> bool:
        """Whether this element is another one with a fault."""
        return _differs(self.sample, self.wanted, lambda: _replaced(self.formula, *self.faults[fault]))


@cache
def samples_of(name: str) -> tuple[tuple[Sample, Arrays], ...]:
    """The samples of an op with their results by the reference, the small ones first."""
    found = [(sample, by_reference(sample)) for sample in SAMPLES if sample.op.name == name]
    return tuple(sorted(found, key=lambda one: one[1][0].size))


def unseen_faults(name: str) -> list[str]:
    """The faults of the formulas of an op's samples that none of their elements shows."""
    elements = dict[str, list[Element]]()
    for sample, results in samples_of(name):
        for k, wanted in enumerate(results):
            for at in np.ndindex(wanted.shape):
                scalar = formula(sample, k, at)
                element = Element(sample, wanted[at], scalar, dict(_edits(sample, scalar)))
                for fault in element.faults:
                    elements.setdefault(fault, []).append(element)
    return [fault for fault, shown in elements.items() if not any(one.is_seen(fault) for one in shown)]


def is_seen(name: str, rule: Rule | None = None, kind: Callable[[DType], bool] = lambda _: True) -> bool:
    """Whether the samples of an op tell another rule from its own, or the evaluator from what it was.

    Those are asked whose first operand is of a `kind`.
    """
    return any(
        _differs(sample, wanted[at], lambda: formula(sample, k, at, rule))  # noqa: B023  # called at once
        for sample, results in samples_of(name)
        if kind(sample.op.operands[0].dtype)
        for k, wanted in enumerate(results)
        for at in np.ndindex(wanted.shape)
    )


def _differs(sample: Sample, wanted: Array, made: Callable[[], Scalar]) -> bool:
    try:
        return not agree(value(sample, made()), wanted, sample.op)
    except (IndexError, TypeError, ValueError, KeyError, OverflowError, np.exceptions.ComplexWarning):
        return True  # a rule for operands of another kind or number, or an index out of range


def _edits(sample: Sample, scalar: Scalar) -> Iterator[tuple[str, tuple[Node, Node]]]:
    """All faults of a formula: what it is called, a node, and what is in its place."""
    numbers = Counter[str]()
    for node in _nodes(scalar):
        for what, other in (*_faults(sample, node), *_faults_of_leaves(node)):
            yield f"{what} {numbers[what]}", (node, other)
            numbers[what] += 1


def _faults(sample: Sample, node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case Load(source, index):
            for axis, at in enumerate(index):
                size = sample.op.operands[int(source.name[1:])].shape[axis]
                other = (*index[:axis], (at + 1) % size, *index[axis + 1 :])
                yield f"neighbour along {axis} of {source.name}", replace(node, index=other)
        case Unary(_, x, dtype) if x.dtype is dtype:
            yield f"no {node.fn.value.name}", x
        case Binary(fn, a, _, dtype):
            if fn in OTHER_FUNCTION and not (dtype.is_bool and fn not in (BinaryFn.AND, BinaryFn.OR)):
                yield f"{OTHER_FUNCTION[fn].value.name} for {fn.value.name}", replace(node, fn=OTHER_FUNCTION[fn])
            if a.dtype is dtype:
                yield f"no second operand of {fn.value.name}", a
        case Compare():
            yield f"not {node.direction.value}", replace(node, direction=OTHER_DIRECTION[node.direction])
        case Select(_, then, other):
            yield "other choice", replace(node, then=other, other=then)
        case Fold(axes):
            for number, (axis, extent) in enumerate(axes):
                other = (*axes[:number], (axis, extent - 1), *axes[number + 1 :])
                yield "last turn left out", replace(node, axes=other)
        case _:
            pass


def _faults_of_leaves(node: Node) -> Iterator[tuple[str, Node]]:
    match node:
        case InRange(_, lower, upper):
            yield "first index outside", replace(node, lower=lower + 1)
            yield "last index outside", replace(node, upper=upper - 1)
        case Const(bool(known), _):
            yield "other truth", replace(node, value=not known)
        case Const(known, _):
            yield "other constant", replace(node, value=known + 1 if np.isfinite(known) else 0.0)
        case FromDim(dim, _):
            yield "dim + 1", replace(node, dim=dim + const(1))
        case ReducePrecision():
            yield "one bit more", replace(node, mantissa_bits=node.mantissa_bits + 1)
        case _:
            pass


def _members(node: Node, name: str) -> tuple[Any, ...]:
    """What a field holds, or several of it."""
    member: Any = getattr(node, name)
    return cast("tuple[Any, ...]", member) if isinstance(member, tuple) else (member,)


def _children(node: Node) -> Iterator[Node]:
    for part in fields(node):
        if part.init:
            yield from (one for one in _members(node, part.name) if isinstance(one, Scalar | Fold))


def _nodes(root: Node) -> list[Node]:
    """Every node once, those that use it first."""
    found, waiting = dict[int, Node](), list[Node]([root])
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(_children(node))
    return list(found.values())


def _replaced(root: Any, old: Node, new: Node) -> Any:
    """The same graph with one node in another's place."""
    known = dict[int, Any]({id(old): new})

    def made(node: Any) -> Any:
        if not isinstance(node, Scalar | Fold):
            return node
        if id(node) not in known:
            changed = dict[str, Any]()
            for name in (part.name for part in fields(node) if part.init):
                before = _members(node, name)
                after = tuple(made(one) for one in before)
                if any(a is not b for a, b in zip(after, before, strict=True)):
                    changed[name] = after if isinstance(getattr(node, name), tuple) else after[0]
            known[id(node)] = replace(node, **changed) if changed else node
        return known[id(node)]

    return made(root)
