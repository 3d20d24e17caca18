"""What fuses, what does not and why, and that a plan can run in its order."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.expr.scalar import Unary
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.fusion.fuse import MERGED, REPEATED
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.op_cost import element_cost
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.rows import SEAMS
from shlo_disc.options import CompileOptions
from shlo_disc.report.text import explain
from tests.pipeline.exports import In
from tests.pipeline.programs import (
    LAYER,
    Planned,
    block,
    chain,
    dense,
    generated,
    launches,
    layer_norm,
    layers,
    planned,
    rms_norm,
    softmax,
)

X, W = In("b, s"), In("s, s")
SCALES = (In("s"), In("s"))


def attention_weights(q: Any, k: Any) -> Any:
    return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), -1)


def through_sort(x: Any) -> Any:
    """A diamond: exp(x) is read directly, and through a sort that needs it in memory."""
    y = jnp.exp(x)
    return y * jnp.sort(y, 1) + y.sum(1, keepdims=True)


def through_dot(x: Any, w: Any) -> Any:
    y = jnp.exp(x)
    z = y @ w
    return jnp.tanh(z) * y + z.max(1, keepdims=True), y.max(1)


def residual(x: Any, w: Any) -> Any:
    h = x + x @ w
    return jnp.sort(h), softmax(h)


def through_loop(x: Any) -> Any:
    y = jnp.exp(x)
    z = lax.fori_loop(0, 3, lambda _, c: c * 0.5 + y, x)
    return z + y, z.sum(0) * y.sum(0)


def two_row_spaces(x: Any) -> Any:
    y = jnp.exp(x)
    return y / y.sum(0) + y / y.sum(1, keepdims=True)


def several_results(x: Any) -> Any:
    largest = x.max(1)
    y = jnp.exp(x - largest[:, None])
    return largest, y, y / y.sum(1, keepdims=True)


ONE_KERNEL: dict[str, tuple[Callable[..., Any], tuple[In, ...], GroupKind]] = {
    "softmax": (softmax, (X,), GroupKind.ROWS),
    "softmax of three dims": (softmax, (In("b, s, d"),), GroupKind.ROWS),
    "log_softmax": (jax.nn.log_softmax, (X,), GroupKind.ROWS),
    "layer norm": (layer_norm, (X, *SCALES), GroupKind.ROWS),
    "rms norm": (rms_norm, (X, In("s")), GroupKind.ROWS),
    "gelu, layer norm, softmax": (chain, (In("b, t, s"), *SCALES), GroupKind.ROWS),
    "elementwise, seen through a transpose": (lambda x, y: jnp.tanh(x.T + 1) * y, (X, In("s, b")), GroupKind.ROWS),
    "masked softmax": (lambda x, m: softmax(jnp.where(m, x, -jnp.inf)), (X, In("b, s", bool)), GroupKind.ROWS),
    "argmax": (lambda x: jnp.argmax(x * 2, 1), (X,), GroupKind.ROWS),
    "several results of a row": (several_results, (X,), GroupKind.ROWS),
    "embedding": (lambda t, i: jnp.tanh(t[i]) * 2, (In("11, d"), In("b, s", np.int32)), GroupKind.ROWS),
    "concatenation": (lambda x, y: jnp.concatenate([jnp.exp(x), y], 1) * 2, (X, In("b, t")), GroupKind.ROWS),
    "dot, bias, gelu": (dense, (X, In("s, n"), In("n")), GroupKind.DOT),
    "dot, residual": (lambda x, w: x + x @ w, (X, W), GroupKind.DOT),
    "dot of a transpose": (lambda x, y: jax.nn.silu(x.T @ y), (X, In("b, t")), GroupKind.DOT),
    "batched dot, scale": (
        lambda x, y: jnp.einsum("bid,bjd->bij", x, y) * 0.125,
        (In("b, i, d"), In("b, j, d")),
        GroupKind.DOT,
    ),
    "transposed product": (lambda x, w: (x @ w).T + 1, (X, W), GroupKind.DOT),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_becomes_one_kernel(name: str) -> None:
    function, inputs, kind = ONE_KERNEL[name]
    found = planned(function, *inputs)
    assert [g.kind for g in found.plan.groups] == [kind]
    assert len(list(launches(generated(function, *inputs).steps))) == 1


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    **{name: (function, inputs) for name, (function, inputs, _) in ONE_KERNEL.items()},
    "through a sort": (through_sort, (X,)),
    "through a dot": (through_dot, (X, W)),
    "through a loop": (through_loop, (X,)),
    "two row spaces": (two_row_spaces, (X,)),
    "attention weights": (attention_weights, (In("b, q, d"), In("b, k, d"))),
    "block": (block, (In("b, t, 16"), *LAYER)),
    "three layers": (layers(3), (In("b, t, 16"), *LAYER * 3)),
    "gradient": (jax.grad(lambda x, w: jnp.tanh(softmax(x) @ w).sum(), (0, 1)), (X, W)),
    "scatter": (lambda x, i: (x * 2).at[i].add(jnp.exp(x)), (X, In("b", np.int32))),
    "many readers": (
        lambda x, w: [jnp.exp(x) @ w, jnp.exp(x) @ w.T, jnp.sort(jnp.exp(x)), (x + 1) @ w, jnp.sort(x + 1)],
        (X, W),
    ),
}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Planned:
    function, inputs = PROGRAMS[request.param]
    return planned(function, *inputs)


def test_every_result_has_one_home(program: Planned) -> None:
    homes = Counter(t for group in program.plan.groups for t in group.roots)
    assert [t for t, count in homes.items() if count > 1] == []
    stored = {*homes, *(p.tensor for p in program.program.parameters), *program.program.constants}
    assert set(program.program.body.results) <= stored


def test_groups_run_after_what_they_read(program: Planned) -> None:
    written = {*(p.tensor for p in program.program.parameters), *program.program.constants}
    for group in program.plan.groups:
        if group.kind is GroupKind.ROWS:
            _, tensors = build_row_kernel(group, program.program.facts, program.producers, SEAMS)
            assert [t for t in tensors if t not in written and t not in group.roots] == []
        written.update(group.roots)


def test_only_cheap_ops_are_in_two_groups(program: Planned) -> None:
    times = Counter(op for group in program.plan.groups for op in group.ops)
    assert [op for op, count in times.items() if count > 1 and element_cost(op) > 4] == []


def test_every_decision_has_a_reason(program: Planned) -> None:
    assert [d for d in program.plan.decisions if not d.reason] == []


def test_without_fusion_every_op_has_a_group() -> None:
    alone = planned(chain, X, *SCALES, merge=False)
    assert {len(g.ops) for g in alone.plan.groups} == {1}
    assert len(alone.plan.groups) > 10


def kernel_of(found: Planned, group: Group) -> RowKernel:
    return build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0]


def count(kernel: RowKernel, fn: UnaryFn) -> int:
    """How many different formulas of a kernel call `fn`, all stages together."""
    calls = [n for s in kernel.stages for n in set(nodes_of(stage_formulas(s))) if isinstance(n, Unary) and n.fn is fn]
    return len(calls)


def test_softmax_computes_its_exponentials_once() -> None:
    found = planned(softmax, X)
    kernel = kernel_of(found, found.plan.groups[0])
    assert count(kernel, UnaryFn.EXPONENTIAL) == 1
    assert len(kernel.stages) == 3  # the maximum, the exponentials and their sum, the quotient
    assert len(kernel.scratch) == 1


def test_the_chain_computes_its_gelu_once() -> None:
    found = planned(chain, X, *SCALES)
    kernel = kernel_of(found, found.plan.groups[0])
    assert (count(kernel, UnaryFn.TANH), count(kernel, UnaryFn.EXPONENTIAL), count(kernel, UnaryFn.RSQRT)) == (1, 1, 1)


def test_numbers_of_sizes_are_computed_where_they_are_read() -> None:
    program = planned(lambda x: (x.mean(1), x.var(1)), In("b, s"))
    assert [root.shape for group in program.plan.groups for root in group.roots if not root.shape] == []
    assert sum(op.name == "convert" for group in program.plan.groups for op in group.ops) == 2


def test_a_residual_is_stored_once() -> None:
    def two_readers(x: Any, w: Any, v: Any) -> Any:
        h = x + x @ w
        return h + jax.nn.gelu(h @ v) @ w, softmax(h)

    found = planned(two_readers, X, W, W)
    dots = [g for g in found.plan.groups if g.kind is GroupKind.DOT]
    assert [len(g.roots) for g in dots] == [1, 1, 1]
    residual = dots[0].roots[0]
    assert [g for g in found.plan.groups if residual in g.roots] == [dots[0]]
    assert any("stored once" in d.reason for d in found.plan.decisions if d.producer.results[0] is residual)


def test_equal_layers_share_their_kernels() -> None:
    def distinct(depth: int) -> tuple[int, int]:
        artifact = generated(layers(depth), In("b, t, 16"), *LAYER * depth)
        names = [launch.kernel for launch in launches(artifact.steps)]
        return len(set(names)), len(names)

    (one, few), (twelve, many) = distinct(1), distinct(12)
    assert abs(twelve - one) <= 2
    assert many - few == 11 * (few - 1)  # all but the softmax at the end


REFUSALS = {
    "reads memory": (lambda x: jnp.sort(jnp.exp(x)), (X,), "its consumer is a sort kernel, which reads memory"),
    "stored once": (residual, (X, W), "2 groups read it: it is stored once"),
    "rows differ": (two_row_spaces, (X,), "its rows"),
    "epilogue": (lambda x, w: softmax(x @ w), (X, W), "its consumer is no elementwise kernel"),
    "part of a product": (lambda x, w: (x @ w)[:, :3] * 2, (X, In("s, 8")), "does not read each element exactly once"),
    "repeated product": (
        lambda x, w: jnp.concatenate([x @ w, x]) * 2,
        (X, W),
        "does not read each element exactly once",
    ),
    "other row": (lambda x: lax.rev(x.sum(1), (0,))[:, None] + x, (X,), "a consumer reads another row of it"),
    "repeated work": (
        lambda x, y: jnp.expm1(jnp.log1p(jnp.tan(x)))[None] * y,
        (In("s"), In("b, s")),
        "computed again for every row",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_why_and_is_explained(name: str) -> None:
    function, inputs, reason = REFUSALS[name]
    refused = [d for d in planned(function, *inputs).plan.decisions if not d.merged]
    matching = [d for d in refused if reason in d.reason]
    assert matching, [d.reason for d in refused]
    explained = [decision for group in generated(function, *inputs).report.groups for decision in group.decisions]
    for d in matching:
        about = [value for e in explained if not e.merged and e.reason == d.reason for value in e.values]
        assert any(value.endswith(f" ({d.producer.name})") for value in about), explained


AGAIN = {
    "every row reads it": (lambda x, y: x * 2 + y, True),
    "rows read the last one": (lambda x, y: (x * 2)[jnp.minimum(jnp.arange(y.shape[0]), x.shape[0] - 1)] + y.T, True),
    "an equal row": (lambda x, y: x * 2 + y[0], False),
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_merge_says_whether_elements_are_computed_again(name: str) -> None:
    function, again = AGAIN[name]
    decisions = planned(function, In("s"), In("b, s")).plan.decisions
    (reason,) = {d.reason for d in decisions if d.producer.name == "multiply"}
    assert reason == (REPEATED if again else MERGED)


def test_explain_counts_launches_and_kernels() -> None:
    text = explain(generated(layers(2), In("b, t, 16"), *LAYER * 2), "fusion")
    assert "launches of" in text
    assert text.count(": matrix product ->") == 4
    assert "merged" in text


def test_unfused_programs_launch_more() -> None:
    unfused = generated(chain, X, *SCALES, options=CompileOptions(fusion="none"))
    assert len(list(launches(unfused.steps))) > 10


def test_a_short_row_is_one_kernel_though_it_is_the_only_row() -> None:
    assert len(planned(layer_norm, In("1, 256"), In("256"), In("256")).plan.groups) == 1
    assert len(planned(layer_norm, In("1, n"), In("n"), In("n")).plan.groups) == 1
    assert len(planned(softmax, In("n")).plan.groups) == 1
    long = planned(layer_norm, In("1, 100000"), In("100000"), In("100000"))
    assert len(long.plan.groups) > 1, "what a stage keeps of a long row for the next does not stay close"


@pytest.mark.parametrize(
    "function",
    [lambda x: (x - x.sum(0)[:, None]).sum(0), lambda x: (x - x.max(1)[None]).max(1)],
    ids=["columns", "rows"],
)
@pytest.mark.parametrize("shape", ["a, a", "100, 100"])
def test_results_of_a_square_do_not_meet_its_other_axis(function: Callable[..., Any], shape: str) -> None:
    """One result of the first reduction is read by all of the second: they have only their number in common."""
    assert len(planned(function, In(shape)).plan.groups) == 2
