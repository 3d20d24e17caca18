"""Equinox: a network that is partitioned into arrays and the rest, over batches of any size.

python -m examples.frameworks.equinox_modules
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

eqx = library("equinox", "equinox")

SIZES = list(range(1, 21))

network = eqx.nn.MLP(in_size=8, out_size=4, width_size=32, depth=2, key=jax.random.key(0))
params, static = eqx.partition(network, eqx.is_array)  # what eqx.filter_jit does with every argument


def loss(params: Any, x: Any, y: Any) -> Any:
    predicted = jax.vmap(eqx.combine(params, static))(x)
    return jnp.mean((predicted - y) ** 2)


def main() -> int:
    """Compile once, call at all sizes; 0 if values and gradients are those of `eqx.filter_jit`."""
    random = np.random.default_rng(0)
    cases = [
        (params, random.standard_normal((size, 8), np.float32), random.standard_normal((size, 4), np.float32))
        for size in SIZES
    ]
    value = shlo_disc.jit(loss)
    wrong = wrong_cases(value, eqx.filter_jit(loss), cases)
    step = shlo_disc.jit(jax.value_and_grad(loss))
    wrong += wrong_cases(step, eqx.filter_jit(eqx.filter_value_and_grad(loss)), cases)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
