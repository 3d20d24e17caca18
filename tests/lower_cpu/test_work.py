"""What pieces of launches are estimated to cost: a grain of any kernel is about a microsecond."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import shlo_disc
from shlo_disc.host_ir import Launch
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import evaluate
from tests.pipeline.exports import FAST, In, exported

# The function, its arguments, and between which numbers of grains its only launch is.
LAUNCHES: dict[str, tuple[Callable[..., Any], tuple[In, ...], tuple[int, int]]] = {
    "one row by a matrix: as many as its megabyte takes": (
        lambda x, w: x @ w,
        (In("1, 256"), In("256, 1024")),
        (4, 64),
    ),
    "a product of all kinds of rows": (lambda x, w: x @ w, (In("192, 256"), In("256, 1024")), (4, 1024)),
    "a product done sooner than shared": (lambda x, w: x @ w, (In("4, 16"), In("16, 32")), (1, 1)),
    "a sum that memory waits for": (lambda x: x + 1, (In("64, 256"),), (2, 2)),
    "functions of the same elements": (lambda x: jnp.tanh(x) * jnp.exp(x), (In("64, 256"),), (8, 16)),
    "a power": (lambda x: jnp.sin(x) ** x, (In("64, 256"),), (12, 32)),
    "sums of rows": (lambda x: x.sum(1), (In("64, 256"),), (1, 4)),
    "softmax": (jax.nn.softmax, (In("64, 256"),), (6, 16)),
    "sorted lines": (lambda x: jnp.sort(x, 1), (In("64, 256"),), (64, 128)),
    "running sums along lines": (lambda x: jnp.cumsum(x, 1), (In("64, 256"),), (8, 24)),
    "running sums of lines": (lambda x: jnp.cumsum(x, 0), (In("64, 256"),), (3, 8)),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_grains(name: str) -> None:
    function, inputs, (least, most) = LAUNCHES[name]
    run = shlo_disc.compile(exported(function, inputs), device="cpu", options=FAST).executable
    assert isinstance(run, CpuExecutable)
    (step,) = run.artifact.steps
    assert isinstance(step, Launch)
    symbols = Symbols(run.artifact, ())
    extent, grain = (evaluate(formula, symbols) for formula in (step.extent, step.grain))
    assert least <= -(-extent // grain) <= most, f"{extent} pieces, at least {grain} at a time"
