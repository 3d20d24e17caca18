"""Optax: steps of training, over batches of any size.

python -m examples.frameworks.optax_training
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

optax = library("optax", "optax")

SIZES = list(range(1, 21))

optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 100)))


def loss(params: Any, x: Any, labels: Any) -> Any:
    logits = jnp.tanh(x @ params["in"]) @ params["out"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(params: Any, state: Any, x: Any, labels: Any) -> Any:
    value, gradient = jax.value_and_grad(loss)(params, x, labels)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value


def main() -> int:
    """Compile once, train with all sizes; 0 if values, gradients and steps are those of `jax.jit`."""
    random = np.random.default_rng(0)
    params = {"in": random.standard_normal((8, 32), np.float32), "out": random.standard_normal((32, 5), np.float32)}
    state = optimizer.init(params)
    data = [(random.standard_normal((size, 8), np.float32), random.integers(0, 5, size)) for size in SIZES]
    value = shlo_disc.jit(loss)  # differentiated from outside
    plain = jax.jit(jax.value_and_grad(loss))
    wrong = wrong_cases(jax.value_and_grad(value), plain, [(params, *one) for one in data])
    step, plain = shlo_disc.jit(train), jax.jit(train)
    for x, labels in data:
        wrong += wrong_cases(step, plain, [(params, state, x, labels)])
        params, state, _ = step(params, state, x, labels)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
