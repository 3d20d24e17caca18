# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Scatters whose updates read the operand: fused if each element is read before it is overwritten, and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.groups import FusionPlan, GroupKind
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.options import CompileOptions
from tests.pipeline.exports import In, by_jax, check, exported, flat
from tests.pipeline.programs import context_of, planned

Step = Callable[[Any, Any, Any], Any]  # of a table, a number, and several
TABLE, NUMBER, NUMBERS = In("n + 1, m"), In("", np.int32), In("k", np.int32)
EARLY: dict[str, Step] = {
    "a row from another": lambda x, i, _: x.at[i].set(x[i - 1] * 0.5 + x[i]),
    "a column from another": lambda x, i, _: x.at[:, i].add(x[:, i - 1] - 0.25),
    "an element from any": lambda x, i, _: x.at[i, 0].set(x[0, i % x.shape[1]] + x[-1, -1]),
    "rows that are apart": lambda x, _, k: x.at[k].add(x.at[k].get(mode="clip") * 2, unique_indices=True, mode="drop"),
}
LATE: dict[str, Step] = {
    "a row from an element of it": lambda x, i, _: x.at[i].set(jnp.abs(x[i] + x[0, 0])),
    "a row from it, reversed": lambda x, i, _: x.at[i].set(x[i][::-1] + 1),
    "a row from it, rolled": lambda x, i, _: x.at[i].set(jnp.roll(x[i], 1) * 0.5),
    "two rows from one of them": lambda x, i, _: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (i - 1, 0), (2, x.shape[1])) + 1, (i, 0)
    ),
    "rows from others that are updated": lambda x, _, k: x.at[k].set(x[k[::-1]] + 1, unique_indices=True),
    "rows that may meet": lambda x, i, k: x.at[k % (i % 2 + 1)].add(x[k] * 0.5),
}


def plan_of(step: Step) -> FusionPlan:
    """The plan of a step; it is the same whether the table may be overwritten or not."""
    found = planned(step, TABLE, NUMBER, NUMBERS)
    return plan_full(found.program.body, context_of(found.program, CpuLowering.abilities))


def test_an_index_that_updates_read_too_is_no_kernel() -> None:
    plan = plan_of(EARLY["a row from another"])
    (scatter,) = plan.groups
    assert {"select", "compare", "d_gather"} <= {op.name for op in scatter.ops}
    assert all(decision.merged for decision in plan.decisions)  # no refusal is left that does not hold any more


@pytest.mark.parametrize("name", [*EARLY, *LATE])
def test_an_update_is_fused_if_it_reads_first(name: str) -> None:
    groups = plan_of({**EARLY, **LATE}[name]).groups
    reads = any(op.name in {"d_gather", "d_dynamic_slice"} for op in groups[-1].ops)
    assert (groups[-1].kind is GroupKind.SCATTER and reads) == (name in EARLY)


def looped(x: Any, k: Any) -> Any:
    """Every step on a table of its own, which the loop carries."""

    def turn(i: Any, tables: Any) -> Any:
        return tuple(step(x, i, (k + i) % x.shape[0]) for step, x in zip(STEPS, tables, strict=True))

    return lax.fori_loop(1, x.shape[0] - 1, turn, (x,) * len(STEPS))


STEPS = (*EARLY.values(), *LATE.values())


@pytest.mark.parametrize("threads", [1, 2])
def test_updates_in_a_loop(threads: int) -> None:
    """With several threads each has a part of the rows."""
    run = shlo_disc.compile(exported(looped, (TABLE, NUMBERS)), options=CompileOptions(threads=threads))
    rng = np.random.default_rng(threads)
    for n, m in ((2, 1), (4, 3), (7, 1), (13, 8), (18, 33), (5, 40_001)):
        arrays = [rng.standard_normal((n, m)).astype(np.float32), rng.permutation(n).astype(np.int32)[: n - 1]]
        check(flat(run, arrays), by_jax(looped, arrays), f"{n} rows of {m}")
