"""Flax Linen: a block of a transformer over batches and sequences of any size.

python -m examples.frameworks.linen
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

nn = library("flax.linen", "flax")

SIZES = [(batch, length) for batch in (1, 2, 3, 5) for length in (4, 7, 8, 13, 16)]


class Block(nn.Module):
    """Attention and a small network, each with a residual."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
        return x + nn.Dense(16)(nn.gelu(nn.Dense(32)(nn.LayerNorm()(x))))


model = Block()


def loss(variables: Any, x: Any) -> Any:
    return jnp.mean(model.apply(variables, x) ** 2)


def main() -> int:
    """Compile once, call at all sizes; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    cases = [(random.standard_normal((*size, 16), np.float32),) for size in SIZES]
    variables = model.init(jax.random.key(0), cases[0][0])
    apply = shlo_disc.jit(model.apply)
    wrong = wrong_cases(lambda x: apply(variables, x), lambda x: jax.jit(model.apply)(variables, x), cases)
    step = shlo_disc.jit(jax.value_and_grad(loss))
    plain = jax.jit(jax.value_and_grad(loss))
    wrong += wrong_cases(lambda x: step(variables, x), lambda x: plain(variables, x), cases)
    print(apply.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
