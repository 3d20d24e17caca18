"""The verifier of host programs refuses every wrong one that is made of a right one, and the right one it accepts."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.fusion.planners import plan_full
from shlo_disc.host.plan import plan_host
from shlo_disc.host.program import HostProgram
from shlo_disc.host.verify import verify_host
from shlo_disc.kernels.groups import Context
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.schedules.tables import UNKNOWN
from tests.host.host_mutations import MUTATIONS
from tests.host.test_donation import attention, momentum
from tests.host.test_regions import MLP, of_several_widths
from tests.pipeline.exports import In, exported
from tests.pipeline.programs import LAYER, layers


def fibonacci(x: Any, count: Any) -> Any:
    """Carries that change places; a product whose operand stays the same."""

    def turn(state: Any) -> Any:
        k, a, b = state
        return k + 1, b, jnp.tanh(a @ x) + b

    return lax.while_loop(lambda state: state[0] < count, turn, (jnp.int32(0), x, 2 * x))[1:]


def branched(x: Any, which: Any) -> Any:
    def one(y: Any) -> Any:
        return jnp.sort(y, 0), y.sum(0)

    def other(y: Any) -> Any:
        z = jnp.cumsum(y, 0)
        return z @ z.T @ y, z.max(0)

    a, b = lax.cond(which > 0, one, other, x)
    return a + x, b, a


def trained(*arguments: Any) -> Any:
    return jax.grad(lambda *a: (layers(1)(*a) ** 2).sum(), tuple(range(5)))(*arguments)


def halves(x: Any) -> Any:
    """Sums over the whole grid, sorts and scatters: on a GPU several calls each."""
    order = jnp.argsort(x[:, 0])
    return jnp.zeros_like(x).at[order].add(jnp.sort(x, 0)), x.sum(0), jnp.cumsum(x, 0)[::-1]


NUMBER = In("", np.int32)
SQUARE = In("16, 16")
PROGRAMS: Mapping[str, tuple[Callable[..., Any], tuple[In, ...], tuple[int, ...]]] = {
    "layers": (layers(2), (In("b, 16"), *LAYER, *LAYER), ()),
    "gradients": (trained, (In("b, 16"), *LAYER), ()),
    "loop": (fibonacci, (SQUARE, NUMBER), ()),
    "branches": (branched, (In("s, 8"), NUMBER), ()),
    "rows": (of_several_widths, MLP, ()),
    "donated": (momentum, (In("s, 8"),) * 3, (0, 1)),
    "donated room": (attention, (In("s, 8"), In("8, 8")), (0,)),
    "order": (halves, (In("s, t"),), ()),
}
WAYS = ("cpu", "cpu, 3 threads", "cuda")


@dataclass(frozen=True, slots=True)
class Made:
    """A host program, and what it was made from."""

    program: Program
    host: HostProgram
    context: Context
    donated: tuple[int, ...]

    def verify(self, host: HostProgram) -> None:
        """Ask the verifier about another host program of the same."""
        verify_host(self.program, host, self.context, self.donated)


@cache
def made(name: str, way: str) -> Made:
    function, inputs, donated = PROGRAMS[name]
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    producers = producers_of(program.body)
    scheduling = replace(UNKNOWN, threads=3 if "3" in way else 1)
    lowering = CudaLowering(program, producers) if way == "cuda" else CpuLowering(program, producers, scheduling)
    points = likely_points(program, {})
    context = Context(program.facts, producers, lowering.abilities, points)
    return Made(program, plan_host(program, context, plan_full, lowering.lower, donated), context, donated)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_wrong_program_is_refused(name: str, way: str) -> None:
    one = made(name, way)
    one.verify(one.host)
    for kind, mutation in MUTATIONS.items():
        for number, wrong in enumerate(mutation(one.host)):
            try:
                one.verify(wrong)
            except InternalError:
                continue
            pytest.fail(f"{kind} {number} of {name} on {way} is not refused")


def test_every_mutation_comes_up() -> None:
    hosts = [made(name, way).host for name in PROGRAMS for way in WAYS]
    missing = [kind for kind, mutation in MUTATIONS.items() if not any(True for host in hosts for _ in mutation(host))]
    assert not missing


def test_an_argument_that_stays_is_not_overwritten() -> None:
    one = made("donated", "cpu")
    assert one.host.donations
    with pytest.raises(InternalError, match=r"belongs to the caller|which the caller does not get"):
        verify_host(one.program, one.host, one.context, ())


def test_an_error_says_step_buffer_and_tensor() -> None:
    one = made("order", "cpu")
    (first, second, *rest) = one.host.steps
    with pytest.raises(
        InternalError, match=r"^step 0 .* reads %\w+ in buffer \d+ \(%\w+, .* bytes, .*\), found nothing"
    ):
        one.verify(replace(one.host, steps=(second, first, *rest)))
