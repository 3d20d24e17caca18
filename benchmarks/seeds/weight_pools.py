"""Weight pools: weights shared by a whole network, which is not built; weights of 8 bits are what there is."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

import shlo_disc
from benchmarks.seeds.rows import Row, Seed, Settings, least

WIDTH, HIDDEN, TOKENS = 768, 3072, (1, 16, 128)


def _dense(x: Any, w: Any) -> Any:
    return x @ w


def _scaled(x: Any, w: Any, scale: Any) -> Any:
    """A product with weights in 8 bits, and a scale for each column."""
    return x @ (w.astype(jnp.float32) * scale)


def _measure(settings: Settings) -> Iterator[Row]:
    yield Row("weights as indices of a pool", "not built", "", "none", "-")
    width, hidden = (64, 128) if settings.quick else (WIDTH, HIDDEN)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((width, hidden), np.float32)
    scale = np.abs(w).max(0) / 127
    narrow = np.round(w / scale).astype(np.int8)
    shapes = [f"f32[n, {width}]", f"f32[{width}, {hidden}]"]
    dense = shlo_disc.compile(_dense, shapes=shapes, device="cpu", options=settings.options)
    of_scales = [shapes[0], shapes[1].replace("f32", "i8"), f"f32[{hidden}]"]
    scaled = shlo_disc.compile(_scaled, shapes=of_scales, device="cpu", options=settings.options)
    bytes_over = (narrow.nbytes + scale.nbytes) / w.nbytes
    yield Row(f"weights {width} x {hidden} of 8 bits and their scales, over f32: bytes", bytes_over, "x", "n", "-")
    launches = len(scaled.executable.artifact.steps)
    yield Row("kernels of the product with them: they are scaled where they are read", launches, "kernels", "n", "only")
    for tokens in settings.pick(TOKENS):
        x = rng.standard_normal((tokens, width), np.float32)
        ours, plain = least(partial(scaled, x, narrow, scale), partial(dense, x, w))
        yield Row(f"time of the product at n = {tokens}, over f32", ours / plain, "x", "n", "out")


WEIGHT_POOLS = Seed(
    name="Weight pools",
    paper='Li and Gupta, "Bit-serial Weight Pools: Compression and Arbitrary Precision Execution of Neural Networks on '
    'Resource Constrained Processors", MLSys 2022',
    headline="up to 8x compression compared to 8-bit networks, and more than 2.8x their speed for less than 1 % of "
    "accuracy, on microcontrollers",
    source="abstract only",
    weaker="No pool, no indices, no execution bit by bit. Weights of 8 bits save memory, but no time: they are "
    "converted to f32. Those of 4 bits take a byte each.",
    measure=_measure,
)
