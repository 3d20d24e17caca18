"""Operands that a product computes while it loads its tiles: every variant on the emulator, and by NVRTC."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.groups import FusionPlan, GroupKind
from shlo_disc.kernels.templates import build_dot
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.lower_cuda.matmul import print_dot
from shlo_disc.runtime.cuda import nvrtc
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import verify
from tests.lower_cuda.printing import KERNEL, module
from tests.lower_cuda.sass import instructions, resources
from tests.pipeline.exports import F16, In
from tests.pipeline.programs import Planned, context_of, planned
from tests.pipeline.prologue_programs import PROLOGUES, SCATTER_EPILOGUES, SCATTERS, Prologue

pytestmark = pytest.mark.slow

SIZES = tuple({"m": m, "k": k} for m, k in ((1, 4), (3, 1), (2, 2), (66, 18), (9, 70), (34, 20)))


def thin(case: Prologue) -> Prologue:
    """The same with 39 columns: such a product waits for memory, and no library would be faster."""
    shapes = [re.sub(r"\bn\b", "40", i.shape.replace("n - 1", "39")) for i in case.inputs]
    return replace(case, inputs=tuple(replace(i, shape=s) for i, s in zip(case.inputs, shapes, strict=True)))


F16_INPUTS = In("m - 1, k - 1", F16), In("k - 1, n - 1", F16)
CASES = {
    **{name: thin(case) for name, case in PROLOGUES.items() if name != "read by the epilogue too"},
    "f16": thin(Prologue(lambda x, w: jnp.tanh(x) @ w, F16_INPUTS, frozenset({"tanh"}))),
}


def plan_of(function: Callable[..., Any], *inputs: In) -> tuple[Planned, FusionPlan]:
    found = planned(function, *inputs)
    return found, plan_full(found.program.body, context_of(found.program, CudaLowering.abilities))


@pytest.mark.parametrize("name", CASES)
def test_every_variant_on_the_emulator(name: str) -> None:
    case = CASES[name]
    with jax.enable_x64(case.wide):
        _, plan = plan_of(case.function, *case.inputs)
    assert len(plan.groups) == case.groups
    assert case.ops <= {op.name for op in plan.groups[-1].ops}
    verify(case.function, case.inputs, SIZES[len(name) % 3 :: 3], scale=2, wide=case.wide)


SWEPT = ("two results", "columns", "one axis", "rounded beside")


@pytest.mark.parametrize("name", [*SCATTERS, *SWEPT])
def test_every_variant_of_a_scatter_on_the_emulator(name: str) -> None:
    case = {**SCATTERS, **SCATTER_EPILOGUES}[name]
    _, plan = plan_of(case.function, *case.inputs)
    assert len(plan.groups) == case.groups
    verify(case.function, case.inputs, [{"m": 5, "n": n, "k": k} for n, k in ((1, 1), (18, 17))])


def test_a_library_takes_what_does_not_wait_for_memory() -> None:
    _, plan = plan_of(lambda x, w: jnp.tanh(x) @ w, In("m, k"), In("k, 4096"))
    assert [group.kind for group in plan.groups] == [GroupKind.ROWS, GroupKind.DOT]


@pytest.mark.parametrize("dtype", [np.float32, F16])
def test_tiles_still_multiply_on_tensor_cores(dtype: Any) -> None:
    require_nvrtc()
    found, plan = plan_of(lambda x, w: jax.nn.gelu(x) @ w, In("m, k", dtype), In("k, 64", dtype))
    (group,) = plan.groups
    printed = print_dot(build_dot(group, found.program.facts, found.producers)[0], found.program.facts)
    built = nvrtc.compile_kernels(module(printed), "kernels.cu", 90, "int32_t")
    assert "HMMA" in instructions(built.cubin)[f"{KERNEL}_small"]
    assert all(kernel.spilled == 0 for kernel in resources(built.log).values())
