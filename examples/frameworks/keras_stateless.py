"""Keras 3 on JAX: a model without state of its own, by `stateless_call`, over batches of images of any size.

python -m examples.frameworks.keras_stateless
"""

# JAX annotates only a part of its functions, and the library is found when this runs.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from examples.frameworks.common import library, wrong_cases

os.environ["KERAS_BACKEND"] = "jax"
keras = library("keras", "keras")

SIZES = [(batch, side) for batch in (1, 2, 3, 4) for side in (8, 9, 12, 16, 20)]

model = keras.Sequential(
    [
        keras.Input((None, None, 3)),
        keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5),
    ]
)


def loss(trainable: Any, others: Any, images: Any) -> Any:
    logits, others = model.stateless_call(trainable, others, images, training=True)
    return jnp.mean(logits**2), others


def main() -> int:
    """Compile once, call at all sizes; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    trainable = [one.value for one in model.trainable_variables]
    others = [one.value for one in model.non_trainable_variables]
    cases = [(trainable, others, random.standard_normal((b, side, side, 3), np.float32)) for b, side in SIZES]
    value = shlo_disc.jit(loss)
    wrong = wrong_cases(value, jax.jit(loss), cases)
    step = shlo_disc.jit(jax.value_and_grad(loss, has_aux=True))
    wrong += wrong_cases(step, jax.jit(jax.value_and_grad(loss, has_aux=True)), cases)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
