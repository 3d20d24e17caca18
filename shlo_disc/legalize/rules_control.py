"""StableHLO to DHLO: calls, loops and branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Shape, Tensor
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import ZERO, Dim, maximum, minimum
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import dictionary, integer, string
from shlo_disc.legalize.builder import Bound, Learned
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.outline import NeedsGuard, NeedsOutlining
from shlo_disc.legalize.rules_contract import RAGGED_DOT, ragged_dot_attributes
from shlo_disc.legalize.rules_move import stated
from shlo_disc.legalize.rules_outlined import outlined_case, outlined_while


def _call(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return frame.call(string(op, "callee"), [frame.bound(x) for x in op.operands], op.span)


# Composites as which JAX exports CHLO ops, at version 1, which JAX 0.10 writes; later versions may differ in meaning.
_RECOMPOSED = frozenset({
    "chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atanh", "chlo.cosh", "chlo.erf", "chlo.sinh",
    "chlo.top_k", RAGGED_DOT,
})  # fmt: skip


def _composite(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Take the op of CHLO that a composite stands for, as XLA does, else its decomposition.

    Decompositions are less accurate (sinh in f32 by 13 units in the last place) and many ops long.
    """
    name, attributes = string(op, "name"), dictionary(op, "composite_attributes")
    if name in _RECOMPOSED and integer(op, "version", 0) == 1:
        if name == RAGGED_DOT:
            attributes = ragged_dot_attributes(attributes)
        return frame.legalizer.rules[name](frame, replace(op, name=name, attributes=attributes))
    return frame.call(string(op, "decomposition"), [frame.bound(x) for x in op.operands], op.span)


def _while(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    condition, body = op.regions
    returned = body.block.ops[-1].operands
    varies = [x is not argument for x, argument in zip(returned, body.block.arguments, strict=True)]
    initial = [frame.bound(x) for x in op.operands]
    outliner = frame.legalizer.outliner
    if op in outliner.guards and op not in outliner.ops and op is not frame.legalizer.around:
        first = _first_condition(frame, op)
        if not _is_true(first):
            return _guarded_while(frame, op, first)
    for region in (condition, body):
        for value, bound, changes in zip(region.block.arguments, initial, varies, strict=True):
            if not changes:  # loop-invariant
                frame.bind(value, bound)
    made = outlined_while if op in outliner.ops else _inline_while
    results = iter(made(frame, op, varies))
    return [next(results) if changes else bound for bound, changes in zip(initial, varies, strict=True)]


def _inline_while(frame: Frame, op: ir.Op, varies: Sequence[bool]) -> tuple[Tensor, ...]:
    """The varying results of a loop whose sizes are all known. Raises `NeedsOutlining` if they are not."""
    condition, body = op.regions
    carries = [frame.tensor(x) for x, changes in zip(op.operands, varies, strict=True) if changes]
    types = [(x.shape, x.dtype) for x in carries]
    before = frame.build.learned
    with frame.build.within(op):
        asks = _loop_body(frame, condition, varies, types, None)
        asked = frame.build.learned
        again = _loop_body(frame, body, varies, types, varies)
        demands = len(frame.build.checks) > len(asked.checks) or _may_be_negative(frame, again)
        if demands and op is not frame.legalizer.around and not _has_a_turn(frame, op, before):
            raise NeedsGuard(op)  # the demands of an iteration apply only if there is one
    if not all(map(partial(_same_shape, frame), again.arguments, again.results)):
        raise NeedsOutlining(op)
    return frame.build.emit("d_while", carries, NoAttrs(), types, op.span, (asks, again))


def _has_a_turn(frame: Frame, op: ir.Op, before: Learned) -> bool:
    """Whether the facts known `before` the loop prove that it has an iteration."""
    build, after = frame.build, frame.build.learned
    build.go_back(before)
    build.begin()
    first = _first_condition(frame, op)
    build.end((), ())
    build.go_back(after)
    return _is_true(first)


def _is_true(value: Bound) -> bool:
    return isinstance(value, KnownElements) and value.constants == (1,)


def _first_condition(frame: Frame, op: ir.Op) -> Bound:
    """The condition of a loop on its initial values: whether it has an iteration."""
    block = op.regions[0].block
    for value, operand in zip(block.arguments, op.operands, strict=True):
        frame.bind(value, frame.bound(operand))
    return frame.run(block)[0]


def _guarded_while(frame: Frame, op: ir.Op, first: Bound) -> Sequence[Bound]:
    """The results of a loop guarded by its `first` condition: its demands apply only if it has an iteration."""
    build, guard = frame.build, frame.legalizer.outliner.guards[op]
    selector = build.one("convert", (build.materialized(first, op.span),), NoAttrs(), (), DType.I32, op.span)
    return outlined_case(frame, op, selector, guard, is_guard=True)


def _loop_body(
    frame: Frame,
    region: ir.Region,
    varies: Sequence[bool],
    types: Sequence[tuple[Shape, DType]],
    returned: Sequence[bool] | None,
) -> Body:
    """The condition (`returned` is None: return everything) or the body of a loop."""
    build, block = frame.build, region.block
    build.begin()
    values = [x for x, changes in zip(block.arguments, varies, strict=True) if changes]
    arguments = [build.tensor(shape, dtype, value.span) for value, (shape, dtype) in zip(values, types, strict=True)]
    for value, tensor in zip(values, arguments, strict=True):
        frame.bind(value, tensor)
    frame.legalizer.unbacked_dims.bound(arguments)
    results = frame.run(block)
    if returned is not None:
        results = tuple(x for x, changes in zip(results, returned, strict=True) if changes)
    span = block.ops[-1].span
    return build.end(arguments, [build.materialized(x, span) for x in results])


def keep_shapes(frame: Frame, op: ir.Op, body: Body) -> None:
    """Refuse a loop whose carries change their shapes."""
    for k, (before, after) in enumerate(zip(body.arguments, body.results, strict=True)):
        if not _same_shape(frame, before, after):
            raise UnsupportedOpError(
                f"a loop whose carried value {k} changes its shape is not supported: {before!r} becomes {after!r}",
                op.span,
            )


def _same_shape(frame: Frame, before: Tensor, after: Tensor) -> bool:
    return all(frame.build.facts.equal(a, b).is_true for a, b in zip(before.shape, after.shape, strict=True))


def _case(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    chosen = frame.bound(op.operands[0])
    if isinstance(chosen, KnownElements) and chosen.constants is not None:
        (index,) = chosen.constants
        regions = op.regions if op.name == "stablehlo.case" else op.regions[::-1]
        inside = 0 <= index < len(regions)
        return frame.run(regions[index if inside else -1].block)
    selector = frame.tensor(op.operands[0])
    regions = op.regions
    if op.name == "stablehlo.if":
        selector = frame.build.one("convert", (selector,), NoAttrs(), (), DType.I32, op.span)
        regions = op.regions[::-1]
    if op in frame.legalizer.outliner.ops:
        return outlined_case(frame, op, selector, regions)
    before = frame.build.learned
    with frame.build.within(op):
        bodies = tuple(frame.body(region, ()) for region in regions)
        if _demands_differ(frame, regions, bodies, before):
            raise NeedsOutlining(op)  # only the demands of the branch that runs apply
    columns = zip(*(body.results for body in bodies), strict=True)
    types = [(_shape_of_branches(frame, op, k, branch), branch[0].dtype) for k, branch in enumerate(columns)]
    return frame.build.emit("d_case", (selector,), NoAttrs(), types, op.span, bodies)


def _demands_differ(frame: Frame, regions: Sequence[ir.Region], bodies: Sequence[Body], before: Learned) -> bool:
    """Whether a branch has a demand on sizes that another branch lacks and that was not made before."""
    build, after = frame.build, frame.build.learned
    if any(map(partial(_may_be_negative, frame), bodies)):
        return True
    if len(after.checks) == len(before.checks):
        return False
    found = set[frozenset[object]]()
    for region in regions:
        build.go_back(before)
        frame.body(region, ())
        found.add(frozenset(build.checks.keys() - before.checks.keys()))
    build.go_back(after)
    return len(found) > 1


def _may_be_negative(frame: Frame, body: Body) -> bool:
    """Whether a size in a body may be negative; then the body has to demand that it is not."""
    sizes = {size for op in body.walk() for x in op.results for size in x.shape if size.constant is None}
    return not all(frame.build.facts.at_least(size, 0).is_true for size in sizes)


def _shape_of_branches(frame: Frame, op: ir.Op, number: int, branches: Sequence[Tensor]) -> Shape:
    """The shape of a result. Where a size differs between branches, the branch index is read as a dim."""
    facts, first = frame.build.facts, branches[0].shape
    shape = list[Dim]()
    for axis, size in enumerate(first):
        sizes = [x.shape[axis] for x in branches]
        if all(facts.equal(size, other).is_true for other in sizes):
            shape.append(size)
        else:
            found = sum((runs * each for runs, each in zip(_running(frame, op), sizes, strict=True)), ZERO)
            frame.build.demand_at_least(found, 0, f"the result of {op.name} has no negative sizes", op.span)
            shape.append(found)
    return stated(frame, op, shape, number)


def _running(frame: Frame, op: ir.Op) -> Sequence[Dim]:
    """For each branch by its number, 1 if it runs, else 0."""
    (chosen,) = frame.dims(op.operands[0], op)
    others = [maximum(0, minimum(1 - (chosen - k), 1 + (chosen - k))) for k in range(len(op.regions) - 1)]
    return [*others, 1 - sum(others, ZERO)]


RULES: Mapping[str, Rule] = {
    "func.call": _call,
    "stablehlo.composite": _composite,
    "stablehlo.while": _while,
    "stablehlo.case": _case,
    "stablehlo.if": _case,
}
