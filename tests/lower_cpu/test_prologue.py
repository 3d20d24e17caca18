"""Operands that a product computes while it loads them: what moves into it, and that results stay the same."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.expr.dim import Sym
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.groups import FusionPlan, GroupKind
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.options import CompileOptions
from tests.pipeline.exports import FAST, In, check, expected, exported, flat
from tests.pipeline.programs import context_of, planned
from tests.pipeline.prologue_programs import PROLOGUES, SCATTER_EPILOGUES, SCATTERS

# m, n and k, each one more than a size: empty, one, primes, around the blocks of 48 and 192 rows, 64 columns, 16 lanes.
SIZES = (
    (1, 6, 4), (6, 1, 4), (6, 4, 1), (2, 2, 2), (8, 14, 6), (18, 17, 18), (50, 66, 18), (194, 258, 34), (200, 65, 17),
    (20, 400, 65),
)  # fmt: skip


def plan_of(function: Callable[..., Any], *inputs: In) -> FusionPlan:
    found = planned(function, *inputs)
    return plan_full(found.program.body, context_of(found.program, CpuLowering.abilities))


@pytest.mark.parametrize("name", PROLOGUES)
def test_a_product_computes_its_operands(name: str) -> None:
    case = PROLOGUES[name]
    with jax.enable_x64(case.wide):
        plan = plan_of(case.function, *case.inputs)
        assert len(plan.groups) == case.groups
        assert plan.groups[-1].kind is GroupKind.DOT
        assert case.ops <= {op.name for op in plan.groups[-1].ops}
        run = shlo_disc.compile(exported(case.function, case.inputs), options=CompileOptions(optimize=1, threads=2))
        rng = np.random.default_rng(len(name))
        sizes = SIZES[len(name) % 3 :: 3]
        draws = [[i.array(rng, {"m": m, "n": n, "k": k}) for i in case.inputs] for m, n, k in sizes]
        for at, (arrays, wanted) in zip(sizes, expected(case.function, case.inputs, draws), strict=True):
            check(flat(run, arrays), wanted, f"{name} at m, n, k = {at}", scale=2)


@pytest.mark.parametrize("name", [*SCATTERS, *SCATTER_EPILOGUES])
def test_a_scatter_computes_what_is_around_it(name: str) -> None:
    case = {**SCATTERS, **SCATTER_EPILOGUES}[name]
    plan = plan_of(case.function, *case.inputs)
    assert len(plan.groups) == case.groups
    assert not case.ops or plan.groups[-1].kind is GroupKind.SCATTER
    assert case.ops <= {op.name for op in plan.groups[-1].ops}
    run = shlo_disc.compile(exported(case.function, case.inputs), options=FAST)
    rng = np.random.default_rng(len(name))
    sizes = (1, 1, 1), (7, 2, 5), (5, 18, 16), (9, 65, 33)
    draws = [[i.array(rng, {"m": m, "n": n, "k": k}) for i in case.inputs] for m, n, k in sizes]
    for at, (arrays, wanted) in zip(sizes, expected(case.function, case.inputs, draws), strict=True):
        check(flat(run, arrays), wanted, f"{name} at m, n, k = {at}")


def test_lines_of_pieces_are_filled_piece_by_piece() -> None:
    case = PROLOGUES["looked up and joined"]
    run = shlo_disc.compile(exported(case.function, case.inputs), options=FAST)
    fill = run.kernels_source.partition("_fill_a(")[2].partition("_store(")[0]
    assert "for (int64_t d_1 = 0; d_1 < 3; ++d_1)" in fill, "one turn for each row of the table"
    assert "if ((uint64_t)" not in fill, "no element asks which piece it is of"
    assert "floordiv" not in fill, "nor where it is in its row"


def test_what_others_read_stays_in_memory() -> None:
    x, w = In("m, k"), In("k, n")

    def groups(function: Callable[..., Any], *inputs: In) -> int:
        return len(plan_of(function, *inputs).groups)

    def also_a_result(x: Any, w: Any) -> Any:
        y = jnp.tanh(x)
        return y @ w, y

    def also_summed(x: Any, w: Any) -> Any:
        y = jnp.tanh(x)
        return y @ w, y.sum(0)

    assert groups(lambda x, w: jnp.tanh(x) @ w, x, w) == 1
    assert groups(also_a_result, x, w) == 2
    assert groups(also_summed, x, w) >= 2


def test_what_stays_behind_has_the_rows_of_what_is_left() -> None:
    def function(x: Any) -> Any:
        y = jnp.concatenate([jnp.arctan2(x, x), x], 1)  # a result, and too costly to compute for each of its readers
        z = lax.dynamic_update_slice(y, y, (1, 0, 1))
        return jnp.einsum("ibc,ibc->bc", z, z), y

    plan = plan_of(function, In("a, b, c"))
    for group in plan.groups:
        if group.kind is GroupKind.ROWS and group.rows is None:
            assert len({root.shape for root in group.roots}) == 1
    assert any("would not have the same rows" in d.reason for d in plan.decisions)


def test_what_two_groups_leave_behind_is_stored_once() -> None:
    def function(x: Any, y: Any, scale: Any, v: Any, w: Any) -> Any:
        rows = jnp.cos(scale)[:, None]  # too costly for every element of a product's operand
        return (x * rows) @ v, (y * rows) @ w

    inputs = In("m - 1, k - 1"), In("m - 1, n - 1"), In("m - 1"), In("k - 1, 3"), In("n - 1, 2")
    plan = plan_of(function, *inputs)
    parts = [part for group in plan.groups for part in group.parts or (group,)]
    assert [part.kind for part in parts] == [GroupKind.ROWS, GroupKind.DOT, GroupKind.DOT]
    run = shlo_disc.compile(exported(function, inputs), options=FAST)
    rng = np.random.default_rng(5)
    sizes = (1, 2, 3), (2, 1, 5), (8, 18, 1), (50, 14, 66)
    draws = [[i.array(rng, {"m": m, "n": n, "k": k}) for i in inputs] for m, n, k in sizes]
    for at, (arrays, wanted) in zip(sizes, expected(function, inputs, draws), strict=True):
        check(flat(run, arrays), wanted, f"m, n, k = {at}")


def test_a_softmax_is_stored() -> None:
    plan = plan_of(lambda x, w: jax.nn.softmax(x) @ w, In("m, k"), In("k, n"))
    assert [g.kind for g in plan.groups] == [GroupKind.ROWS, GroupKind.DOT]
    assert any(not d.merged and "saves less" in d.reason for d in plan.decisions)


@pytest.mark.parametrize(
    ("sizes", "side", "groups"),
    [
        ((512, 3072, 768), 0, 2),  # 48 rows of A fill the cache
        ((4096, 768, 256), 0, 1),
        ((512, 3072, 768), 1, 1),
        ((4096, 768, 256), 1, 2),  # A would be read four times to save little
    ],
)
def test_panels_pay_at_likely_sizes(sizes: tuple[int, int, int], side: int, groups: int) -> None:
    function: Callable[..., Any] = (lambda x, w: jnp.exp(x) @ w) if side == 0 else (lambda x, w: x @ jnp.exp(w))
    found = planned(function, In("m, k"), In("k, n"))
    point = {Sym(name): size for name, size in zip("mkn", sizes, strict=True)}
    context = replace(context_of(found.program, CpuLowering.abilities), points=(point,))
    assert len(plan_full(found.program.body, context).groups) == groups
