"""Flax NNX: a network that is split into its graph and its state, over batches of any size.

python -m examples.frameworks.nnx
"""

# JAX annotates only a part of its functions, and the library is found when this runs.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from examples.frameworks.common import library, wrong_cases

nnx = library("flax.nnx", "flax")

SIZES = list(range(1, 21))


class Network(nnx.Module):
    """Two layers with a norm between them."""

    def __init__(self, rngs: Any) -> None:
        self.first = nnx.Linear(8, 32, rngs=rngs)
        self.norm = nnx.LayerNorm(32, rngs=rngs)
        self.last = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.last(nnx.relu(self.norm(self.first(x))))


graph, state = nnx.split(Network(nnx.Rngs(0)))


def loss(state: Any, x: Any, y: Any) -> Any:
    return jnp.mean((nnx.merge(graph, state)(x) - y) ** 2)


def main() -> int:
    """Compile once, call at all sizes; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    cases = [
        (state, random.standard_normal((size, 8), np.float32), random.standard_normal((size, 4), np.float32))
        for size in SIZES
    ]
    value = shlo_disc.jit(loss)
    wrong = wrong_cases(value, jax.jit(loss), cases)
    step = shlo_disc.jit(jax.value_and_grad(loss))
    wrong += wrong_cases(step, jax.jit(jax.value_and_grad(loss)), cases)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
