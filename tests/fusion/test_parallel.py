"""Which independent groups share a launch, and that the plan still runs in its order."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from jax import lax

from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.fusion.fuse import plan_fusion
from shlo_disc.fusion.parallel import MORE_MEMORY, MOST_BUFFERS, merge_parallel
from shlo_disc.fusion.traffic import bytes_of
from shlo_disc.kernels.groups import Context, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.pipeline.compositions import Step
from tests.pipeline.exports import In, exported
from tests.pipeline.programs import context_of
from tests.pipeline.test_random_programs import INPUTS, STEPS, function_of

pytestmark = pytest.mark.quick

X, Y = In("b, s"), In("b, s")


def program_of(function: Callable[..., Any], *inputs: In) -> tuple[Program, Context]:
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    return program, context_of(program, CpuLowering.abilities)


def merged(body: Body, context: Context) -> tuple[FusionPlan, FusionPlan]:
    """The plan without and with common launches."""
    plan = plan_fusion(body, context)
    return plan, merge_parallel(plan, body, context)


def launches(function: Callable[..., Any], *inputs: In) -> list[int]:
    """How many groups each launch of the main body has."""
    program, context = program_of(function, *inputs)
    plan = merged(program.body, context)[1]
    return [len(group.parts) or 1 for group in plan.groups]


def updated(weights: list[Any], gradients: list[Any]) -> Any:
    return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]


def scaled(x: Any, weights: Any) -> Any:
    """The loss of layers that scale and shift."""
    y = x
    for scale, shift in zip(weights[::2], weights[1::2], strict=True):
        y = jnp.tanh(y * scale + shift)
    return (y * y).sum()


def multiplied(x: Any, weights: Any) -> Any:
    """The loss of layers that multiply."""
    y = x
    for w in weights:
        y = jnp.tanh(y @ w)
    return (y * y).sum()


def trained(loss: Callable[..., Any], x: Any, *weights: Any) -> Any:
    """A step of gradient descent."""
    return updated(list(weights), jax.grad(loss, 1)(x, weights))


def clipped(loss: Callable[..., Any], x: Any, *weights: Any) -> Any:
    """A step of gradient descent in which no weight is updated before all gradients are known."""
    gradients = jax.grad(loss, 1)(x, weights)
    norm = jnp.sqrt(sum((g * g).sum() for g in gradients))
    return updated(list(weights), [g / jnp.maximum(norm, 1) for g in gradients])


SMALL = (In("16"), In("4, 8"), In("33"))

CASES: dict[str, tuple[Callable[..., Any], tuple[In, ...], list[int]]] = {
    "updates": (lambda *a: updated(list(a[:3]), list(a[3:])), SMALL * 2, [3]),
    "a map, a sum, a softmax": (
        lambda x, y, z: (x + 1, y.sum(1), jax.nn.softmax(z)),
        (In("4, 8"), In("5, 7"), In("3, 9")),
        [3],
    ),
    "one needs the other": (lambda x: jnp.sort(jnp.tanh(x)) * 2, (In("7"),), [1, 1, 1]),
    "a product between them": (
        lambda x, w, y: ((x @ w).sum(0), jnp.sin(y) * 2),
        (In("300, 300"), In("300, 16"), In("9")),
        [1, 2],
    ),
    "large at likely sizes": (lambda x, y: (x + 1, y * 2), (In("b, 4096"), In("b, 4096")), [1, 1]),
    "masks of a loop": (
        lambda x: lax.fori_loop(0, 3, lambda _, c: (c[0] * 2, c[1] + 1), (x, x[:3])),
        (In("16"),),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2]])
def test_launches(name: str) -> None:
    function, inputs, wanted = CASES[name]
    assert launches(function, *inputs) == wanted


def test_a_loop_body_is_merged_too() -> None:
    function, inputs, _ = CASES["masks of a loop"]
    program, context = program_of(function, *inputs)
    (loop,) = (op for op in program.body.ops if op.bodies)
    found = [merged(body, context)[1] for body in loop.bodies]
    assert max(len(g.parts) for plan in found for g in plan.groups) >= 2


TRAINING: dict[str, tuple[Callable[..., Any], In, list[int]]] = {
    "sums of columns, updates in them": (partial(trained, scaled), In("16"), [1]),
    # Eight short norms are one kernel; one update is computed by the kernel of their root, the others wait for it.
    "sums of columns, norms, updates": (partial(clipped, scaled), In("16"), [1, 1, 1, 7]),
    "products, updates as epilogues": (partial(trained, multiplied), In("16, 16"), [1] * 15 + [8]),
}


@pytest.mark.parametrize("name", TRAINING)
def test_a_training_step_updates_everything_at_once(name: str) -> None:
    """By one kernel where the updates join what they read, else by one launch of several."""
    function, weight, wanted = TRAINING[name]
    assert launches(function, In("b, 16"), *(weight,) * 8) == wanted


def test_a_launch_has_a_bounded_number_of_buffers() -> None:
    many = 40
    found = launches(lambda *a: updated(list(a[:many]), list(a[many:])), *(In("8"),) * (2 * many))
    assert sum(found) == many
    assert max(found) == MOST_BUFFERS // 3
    assert len(found) == 2


def sums(x: Any, w: Any) -> Any:
    """Sums of large values at both ends of a chain."""
    first = jnp.sort(x, 1)
    last = jnp.sort(jnp.sort(first @ w, 0) @ w, 1)
    return first.sum(0), last.sum(0)


def test_what_would_live_too_long_is_not_moved() -> None:
    """Both sums are small, but the first would have to wait, and with it what it reads."""
    program, context = program_of(sums, In("8, 4096"), In("4096, 4096"))
    assert context.abilities.parallel is not None
    launches = replace(context.abilities.parallel, bytes=1 << 20, work=1 << 20)
    context = replace(context, abilities=replace(context.abilities, parallel=launches))
    late = plan_fusion(program.body, context)
    first, *between, one, other = late.groups
    soon, last = (one, other) if first.roots[0] in one.ops[0].operands else (other, one)
    early = replace(late, groups=(first, soon, *between, last))
    needs(early.groups, context)
    for plan, merges in ((late, True), (early, False)):
        found = merge_parallel(plan, program.body, context)
        assert (len(found.groups) < len(plan.groups)) == merges
        assert peak(found, program.body, context) <= peak(plan, program.body, context) * (1 + MORE_MEMORY)


def test_decisions_say_why() -> None:
    function, inputs, _ = CASES["updates"]
    program, context = program_of(function, *inputs)
    plan, found = merged(program.body, context)
    added = found.decisions[len(plan.decisions) :]
    (launch,) = found.groups
    assert {d.consumer for d in added} == {launch.roots[0].name}
    assert all(d.merged and "one launch of 3 groups" in d.reason for d in added)


def peak(plan: FusionPlan, body: Body, context: Context) -> int:
    """The most bytes of temporaries that live at once, at the first likely point."""
    (point, *_) = context.points
    last = {
        t: k for k, group in enumerate(plan.groups) for t in (*group.roots, *group_inputs(group, context.producers))
    }
    made = {t: k for k, group in enumerate(plan.groups) for t in group.roots if t not in body.results}
    alive = [[t for t, k in made.items() if k <= now <= last[t]] for now in range(len(plan.groups))]
    return max((sum(bytes_of(t).evaluate(point) for t in tensors) for tensors in alive), default=0)


def needs(groups: tuple[Group, ...], context: Context) -> list[set[int]]:
    """Which groups each group needs, through others too. The order must allow it."""
    home: dict[Tensor, int] = {}
    found = list[set[int]]()
    for number, group in enumerate(groups):
        direct = {home[t] for t in group_inputs(group, context.producers) if t in home}
        found.append(direct.union(*(found[k] for k in direct)))
        home.update(dict.fromkeys(group.roots, number))
    written = {t for group in groups for t in group.roots}
    for number, group in enumerate(groups):
        before = {t for earlier in groups[:number] for t in earlier.roots}
        inside = {t for op in group.ops for t in op.results}
        assert written.intersection(group_inputs(group, context.producers)) - inside <= before, "written before read"
    return found


@settings(max_examples=15)
@given(STEPS)
def test_parts_are_independent_and_the_order_runs(steps: list[Step]) -> None:
    program, context = program_of(function_of(steps), *INPUTS)
    plan, found = merged(program.body, context)
    place = {id(group): k for k, group in enumerate(plan.groups)}
    reach = needs(plan.groups, context)
    needs(found.groups, context)
    parts = [part for group in found.groups for part in (group.parts or (group,))]
    assert sorted(place[id(part)] for part in parts) == list(range(len(plan.groups)))
    for group in found.groups:
        numbers = {place[id(part)] for part in group.parts}
        assert all(not reach[k] & numbers for k in numbers)
        assert (group.kind is GroupKind.PARALLEL) == (len(numbers) >= 2)
    assert peak(found, program.body, context) <= peak(plan, program.body, context) * (1 + MORE_MEMORY)
