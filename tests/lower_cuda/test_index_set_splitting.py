"""Rows whose loops are cut at seams, on the emulator: what one segment has reduced goes on in the next."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.lower_cuda.emulated import verify
from tests.pipeline.exports import In

PAIR = (In("b, s"), In("b, t"))
SIZES = tuple({"b": b, "s": s, "t": t} for b, s, t in ((1, 1, 1), (3, 17, 5), (2, 5, 130)))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "softmax of a join": (lambda x, y: jax.nn.softmax(jnp.concatenate([x, y], 1)), PAIR),
    "argmax of a join": (lambda x, y: jnp.argmax(jnp.concatenate([x, y], 1), 1), PAIR),
    "sum of a pad": (lambda x: jnp.pad(x, ((0, 0), (9, 4)), constant_values=2).sum(1), (In("b, s"),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_segments_together_are_the_whole_loop(name: str) -> None:
    function, inputs = PROGRAMS[name]
    verify(function, inputs, SIZES)
