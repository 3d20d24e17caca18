"""Parts of arrays that have one element along an axis, or none: `s % 2` of them, at the very end.

Where a loop turns at most once, its index is 0 as soon as it turns; what is read there is no element if it does not.
Arguments lie before a page that cannot be accessed: reading one element behind an argument ends the process.
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.check.calls import twice
from tests.conftest import SEED
from tests.emulator.run import emulate
from tests.pipeline.exports import FAST, In, by_jax, check, exported

SIZES = (1, 2, 3, 6, 7, 16, 17, 48, 129)


def tail(x: Any, axis: int) -> Any:
    """The last element along an axis of odd size; nothing of an axis of even size, behind its end."""
    size = x.shape[axis]
    return lax.slice_in_dim(x, size - size % 2, size, axis=axis)


def padded(x: Any, y: Any) -> Any:
    """Nothing or one element behind the end of rows, which are as long as others."""
    wide = lax.pad(y, np.float32(0), ((0, 0, 0), (3, y.shape[1] % 2, 0)))
    return wide + jnp.cos(jnp.concatenate([x, jnp.zeros((x.shape[0], 3)), tail(x, 1)], 1))


PROGRAMS: dict[str, Any] = {
    "rows": lambda x, y: jnp.concatenate([y * 2, jnp.cos(tail(x, 1))], 1),
    "lines": lambda x, y: jnp.concatenate([y * 2, jnp.cos(tail(x, 0))], 0),
    "points": lambda x, y: jnp.concatenate([y[0] * 2, jnp.cos(tail(x[-1], 0))], 0),
    "in front": lambda x, y: jnp.concatenate([jnp.cos(tail(x, 1)), y * 2], 1),
    "pads": lambda x, y: lax.pad(jnp.cos(tail(x, 1)), np.float32(1), ((0, 0, 0), (2, 1, 0))) * y[:, :1],
    "two pads": padded,
    "spread": lambda x, y: y + jnp.cos(tail(x, 1)).sum(1, keepdims=True),
    "sums of rows": lambda x, y: jnp.exp(tail(x, 1)).sum(1) + y[:, 0],
    "sums of columns": lambda x, y: jnp.exp(tail(x, 0)).sum(0) + y[0],
    "greatest": lambda x, y: jnp.maximum(tail(x, 1).max(1, initial=-9), y[:, 0]),
    "softmax": lambda x, y: (jax.nn.softmax(jnp.concatenate([y, tail(x, 1)], 1), 1), tail(x, 1).sum(0)),
    "turned": lambda x, y: jnp.concatenate([y.T * 2, jnp.cos(tail(x, 1)).T], 0),
    "product": lambda x, y: jnp.cos(tail(x, 1)) @ jnp.sin(tail(y, 1)).T,
    "running sum": lambda x, y: jnp.cumsum(jnp.exp(tail(x, 1)), 0) * y[:, :1],
    "sorted": lambda x, y: (jnp.sort(tail(x, 1) + 1, 0), jnp.sort(tail(x, 0) * y[:1], 1)),
    "rows of indices": lambda x, y: jnp.take(jnp.cos(tail(x, 1)), jnp.arange(y.shape[0]) % 2, axis=0, mode="clip"),
    "updates": lambda x, y: y.at[:, : x.shape[1] % 2].add(jnp.cos(tail(x, 1))),
}
INPUTS = (In("b, s"), In("b, s"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_behind_the_end_is_not_read(name: str) -> None:
    function = PROGRAMS[name]
    program = exported(function, INPUTS)
    run = shlo_disc.compile(program, options=FAST)
    rng = np.random.default_rng(SEED)
    for s in SIZES:
        arrays = [i.array(rng, {"b": int(rng.choice([1, 2, 5, 64, 70])), "s": s}) for i in INPUTS]
        arrays = [arrays[0], rng.standard_normal(arrays[0].shape, np.float32)]
        kept = [arrays[k] for k in program.module_kept_var_idx]
        found = twice(lambda given: run.executable.mirror(list(given)))(kept)
        check(list(found), by_jax(function, arrays), f"{name}, {arrays[0].shape}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_nor_on_a_gpu(name: str) -> None:
    """The emulator's memory is guarded."""
    function = PROGRAMS[name]
    program = exported(function, INPUTS)
    rng = np.random.default_rng(SEED)
    for shape in ((3, 2), (5, 7), (40, 48)):
        arrays = [rng.standard_normal(shape, np.float32) for _ in INPUTS]
        kept = [arrays[k] for k in program.module_kept_var_idx]
        for variant in (None, 0, 1):
            found = emulate(program, kept, variant=variant)
            check(list(found), by_jax(function, arrays), f"{name}, {shape}, {variant}")
