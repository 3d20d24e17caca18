"""Rows held in registers, on the emulated GPU next to `jax.jit`, and as machine code."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cuda.rows.held import HELD, held
from shlo_disc.lower_cuda.rows.schedules import SEAMS
from tests.lower_cuda.forced import forced
from tests.pipeline.exports import BF16, In, by_jax, check, exported, infinite
from tests.pipeline.programs import layer_norm, planned, rms_norm, softmax

X, VECTOR = In("b, s"), In("s")
Function = Callable[..., Any]

# programs, and whether their rows may be held
ROWS: dict[str, tuple[Function, tuple[In, ...], bool]] = {
    "softmax": (softmax, (X,), True),
    "layer norm": (layer_norm, (X, VECTOR, VECTOR), True),
    "two operands": (lambda x, y: (x * y) / (x + y).sum(1, keepdims=True), (X, X), True),
    "read once": (lambda x: x.sum(1), (X,), False),
    "odd rows": (softmax, (In("b, 33"),), False),
    "turned round": (lambda x: x[:, ::-1] + x.max(1, keepdims=True), (X,), False),
    "two axes": (lambda x: x - x.max((1, 2), keepdims=True) * x.sum(1, keepdims=True), (In("b, s, t"),), False),
}


@pytest.mark.parametrize("name", ROWS)
def test_which(name: str) -> None:
    function, inputs, wanted = ROWS[name]
    found = planned(function, *inputs)
    kernel = build_row_kernel(found.plan.groups[-1], found.program.facts, found.producers, SEAMS)[0]
    row = held(kernel, found.program.facts)
    assert (row is not None) == wanted
    if row is not None:
        assert row.kernel.stages[0].stores, "the first stage copies"
        assert not row.kernel.stages[0].reductions


RUNS: dict[str, tuple[Function, tuple[In, ...]]] = {
    "softmax": (softmax, (In("b, s", draw=infinite),)),
    "softmax of bf16": (softmax, (In("b, s", BF16),)),
    "layer norm": (layer_norm, (X, VECTOR, VECTOR)),
    "rms norm of bf16": (rms_norm, (In("b, s", BF16), In("s", BF16))),
    "less the largest": (lambda x: jnp.where(x > 0, x, 0) - x.max(1, keepdims=True), (In("b, s", draw=infinite),)),
}


@pytest.mark.parametrize(("label", "size"), [("warp, held", 32), ("quarter, held", 128), ("block, held", 256)])
@pytest.mark.parametrize("name", RUNS)
def test_values(name: str, label: str, size: int) -> None:
    """Rows of one pack, of all packs but one, and of all that the threads hold."""
    function, inputs = RUNS[name]
    width = 8 if any(i.dtype == BF16 for i in inputs) else 4
    most = size * HELD * width
    run = forced(exported(function, inputs), label, schedule="random", seed=size)
    rng = np.random.default_rng(size)
    for rows, length in ((5, width), (2, most - width), (3, most)):
        arrays = [i.array(rng, {"b": rows, "s": length}) for i in inputs]
        found, taken = run(arrays)
        assert taken, (rows, length)
        check(found, by_jax(function, arrays), f"{label} at {rows} x {length}", 4, inside=1)
    arrays = [i.array(rng, {"b": 2, "s": most + width}) for i in inputs]
    found, taken = run(arrays)
    assert not taken, "a longer row is not held"
    check(found, by_jax(function, arrays), f"{label} beyond its rows", 4, inside=1)
