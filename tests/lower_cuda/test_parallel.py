"""Launches of several row kernels on a GPU: blocks are dealt to parts, whatever the style, whatever is empty."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.lower_cuda.parallel import STYLES, build_part, print_parallel
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.rows.schedules import EVERY_SHARED, SEAMS
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.sanitize import races
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import recordings, verify
from tests.lower_cuda.printing import KERNEL, module
from tests.lower_cuda.sass import resources
from tests.pipeline.exports import F16, In
from tests.pipeline.programs import chain, planned, softmax
from tests.pipeline.test_parallel_programs import CASES, steps_down

X, Y = In("b, s"), In("n, t")
Kernels = list[tuple[RowKernel, tuple[Tensor, ...]]]


def kernels(function: Callable[..., Any], *inputs: In) -> tuple[Kernels, Facts]:
    found = planned(function, *inputs)
    facts = found.program.facts
    return [build_row_kernel(group, facts, found.producers, SEAMS) for group in found.plan.groups], facts


def printed(function: Callable[..., Any], *inputs: In) -> Printed:
    """All groups of a program as one launch."""
    built, facts = kernels(function, *inputs)
    return print_parallel([build_part(*one, facts) for one in built], facts)[0]


@pytest.mark.parametrize("name", CASES)
def test_parts_give_what_jax_gives(name: str) -> None:
    function, inputs, sizes = CASES[name]
    verify(function, inputs, sizes[:3])


def two_chains(x: Any, y: Any, scale: Any, shift: Any) -> Any:
    """Rows whose scratch has no fixed size."""
    return chain(x, scale, shift), softmax(jnp.exp(y) + 1)


def test_scratch_of_any_size() -> None:
    """Long rows leave shared memory for a workspace, and there is a legal variant on both sides of the limit."""
    inputs = (X, Y, In("s"), In("s"))
    found = printed(two_chains, *inputs)
    spilling = [v for v in found.variants if "spill" in v.label]
    assert len(spilling) == 1
    assert found.workspaces
    for length in (1, 24, EVERY_SHARED // 8, EVERY_SHARED // 4 - 4, EVERY_SHARED // 4 + 4, 1 << 20):
        values = {Sym("b"): 2, Sym("n"): 2, Sym("s"): length, Sym("t"): 5}
        legal = [v for v in found.variants if all(_holds(g, values) for g in v.guards)]
        assert legal, length
        for variant in legal:
            (call,) = variant.commands
            assert isinstance(call, GridLaunch)
            assert call.shared.evaluate(values) <= EVERY_SHARED
            spilled = sum(size.evaluate(values) for size in found.workspaces)
            assert (variant in spilling) == (spilled > 0), "memory is there when it is used"
    verify(two_chains, inputs, [{"b": 3, "s": 5, "n": 2, "t": 7}, {"b": 1, "s": 24601, "n": 2, "t": 3}], scale=4)


def _holds(guard: Any, values: dict[Sym, int]) -> bool:
    lhs, rhs = guard.lhs.evaluate(values), guard.rhs.evaluate(values)
    return {"==": lhs == rhs, "<=": lhs <= rhs, ">=": lhs >= rhs}[guard.relation]


def test_costs_are_sums() -> None:
    """A launch has the blocks of its parts, and costs what they cost together."""
    built, facts = kernels(lambda x, y: (x * 2, softmax(y)), X, Y)
    parts = [build_part(*one, facts) for one in built]
    whole = print_parallel(parts, facts)[0]
    values = {Sym("b"): 37, Sym("s"): 64, Sym("n"): 19, Sym("t"): 100}
    for style in STYLES:
        calls = [part.ways[part.pick(style)].calls[0] for part in parts]
        blocks = sum(call.blocks.evaluate(values) for call in calls)
        cycles = sum(call.blocks.evaluate(values) * call.cycles.evaluate(values) for call in calls)
        together = [v.commands[0] for v in whole.variants]
        assert any(
            isinstance(call, GridLaunch)
            and call.blocks.evaluate(values) == blocks
            and abs(call.cycles.evaluate(values) * blocks - cycles) <= blocks
            for call in together
        )


def test_the_last_variant_asks_for_nothing() -> None:
    """Misaligned arguments and odd sizes run too."""
    found = printed(steps_down, *(In("b, s"), In("7"), In("s", F16)) * 2)
    assert len(found.variants) <= len(STYLES) + 1
    assert (found.variants[-1].guards, found.variants[-1].aligned) == ((), False)
    assert found.text.count(f"SHLO_DEVICE void {NAME}_part") == 5, "once for packs and once without; 7 has none"


def test_equal_parts_are_printed_once() -> None:
    many = printed(steps_down, *(In("16"),) * 12)
    assert f"{NAME}_part1" not in many.text
    assert many.text.count("if (block < blocks)") == 6 * len(many.variants)


def test_few_parts_are_launched_alone() -> None:
    """A sum that is better cut over the grid leaves the launch in some variants."""
    found = printed(lambda x, y: (x.sum(0), y + 1), X, Y)
    calls = {(v.label, len(v.commands)) for v in found.variants}
    assert {count for _, count in calls} == {1, 3}
    assert all((count == 3) == ("parts" in label) for label, count in calls)


def test_no_races() -> None:
    function, inputs, sizes = CASES["shared operands"]
    for label, recording in recordings(function, inputs, sizes[2]).items():
        assert races(recording).clean, label


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_machine_code(architecture: int) -> None:
    """Everything compiles, shared memory is that of the part that needs most, and nothing is spilled."""
    require_nvrtc()
    found = printed(lambda x, y, z: (x.T + 1, y.T * 2, softmax(z)), X, Y, In("k, m"))
    built = nvrtc.compile_kernels(module(found), "kernels.cu", architecture, "int32_t")
    used = resources(built.log)
    calls = {c.kernel.replace(NAME, KERNEL) for v in found.variants for c in v.commands if isinstance(c, GridLaunch)}
    assert calls == set(used)
    assert {name: kernel.spilled for name, kernel in used.items()} == dict.fromkeys(used, 0)
    assert all(kernel.shared <= 32 * 33 * 4 + 1024 for kernel in used.values())


def test_lowering_takes_groups_in_one_launch() -> None:
    launches = CudaLowering.abilities.parallel
    assert launches is not None
    assert launches.kinds == {GroupKind.ROWS}
