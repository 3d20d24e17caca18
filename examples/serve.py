"""Serve a model whose weights are bound once, and replaced while it runs.

python examples/serve.py
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import sys
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc


def model(params: dict[str, Any], x: Any) -> Any:
    return jax.nn.softmax(jnp.tanh(x @ params["in"]) @ params["out"], -1)


def weights(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {"in": random.standard_normal((64, 256), np.float32), "out": random.standard_normal((256, 100), np.float32)}


def main() -> int:
    """Compile once, bind, serve batches of several sizes with two sets of weights; 0 if all is as JAX computes it."""
    (n,) = cast("Any", export.symbolic_shape)("n")
    shape = cast("Any", jax.ShapeDtypeStruct)
    exported = cast("Any", export.export)(jax.jit(model))(
        jax.tree.map(lambda leaf: shape(leaf.shape, leaf.dtype), weights(0)), shape((n, 64), np.float32)
    )
    serve = shlo_disc.compile(exported, device="cpu").bind(weights(0))
    print(serve.explain())
    wrong = 0
    for seed in (0, 1):
        serve.rebind(weights(seed))
        for size in (1, 7, 64):
            x = np.random.default_rng(size).standard_normal((size, 64), np.float32)
            wrong += not np.allclose(serve(x), model(weights(seed), x), atol=1e-4)
    print(f"{serve.stats.compilations} compilation, {serve.stats.calls} calls, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
