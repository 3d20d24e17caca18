"""A training loop with batches of random sizes: `shlo_disc.jit` beside `jax.jit`, and beside it with padded batches.

`python -m benchmarks.jit_loops [--steps 200] [--out RESULTS.json]`. Each way runs in a process of its own that finds no
compiled code of earlier ones. One step is the loss of a 2-layer transformer (width 256, W7's), its gradients, and AdamW
(Loshchilov and Hutter 2019). `total` has everything from the first call to the last result, compilations too; `steady`
runs the same batches again, in seconds.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc

WAYS = ("jax.jit", "jax.jit, padded", "shlo_disc.jit", "shlo_disc.jit, declared")
WIDTH, HEADS, LAYERS, WORDS, LONGEST = 256, 4, 2, 1000, 256
RATE, DECAY, BETA1, BETA2, EPSILON = 1e-3, 1e-2, 0.9, 0.999, 1e-8

Batch = tuple[Any, Any, Any]  # tokens and targets i32[b, s], lengths i32[b]


def new_params(seed: int = 0) -> dict[str, Any]:
    """Random weights."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        return jnp.asarray(rng.normal(0, 0.02, shape).astype(np.float32))

    layer = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    layers = [{name: draw(*shape) for name, shape in layer.items()} for _ in range(LAYERS)]
    return {"words": draw(WORDS, WIDTH), "places": draw(LONGEST, WIDTH), "layers": layers, "head": draw(WIDTH, WORDS)}


def _norm(x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)


def loss(params: Mapping[str, Any], tokens: Any, targets: Any, lengths: Any) -> Any:
    """Cross entropy of the next word, over the words within the lengths."""
    b, s = tokens.shape
    x = params["words"][tokens] + params["places"][jnp.arange(s)]
    within = jnp.arange(s)[None, :] < lengths[:, None]
    bias = jnp.where(within, 0.0, -1e9)[:, None, None, :]
    for layer in params["layers"]:
        q, k, v = (part.reshape(b, s, HEADS, WIDTH // HEADS) for part in jnp.split(_norm(x) @ layer["qkv"], 3, axis=-1))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5 + bias, -1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, s, WIDTH) @ layer["out"]
        x = x + jax.nn.gelu(_norm(x) @ layer["up"]) @ layer["down"]
    scores = jax.nn.log_softmax(_norm(x) @ params["head"], -1)
    found = jnp.take_along_axis(scores, targets[..., None], -1)[..., 0]
    return -(found * within).sum() / within.sum()


def step(params: Any, moments: Any, count: Any, tokens: Any, targets: Any, lengths: Any) -> Any:
    """One step of AdamW."""
    value, gradients = jax.value_and_grad(loss)(params, tokens, targets, lengths)
    count += 1

    def moved(p: Any, m: Any, v: Any, g: Any) -> Any:
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
        change = m / (1 - BETA1**count) / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)
        return p - RATE * (change + DECAY * p), m, v

    every = jax.tree.map(moved, params, *moments, gradients)
    parts = jax.tree.transpose(jax.tree.structure(params), jax.tree.structure((0, 0, 0)), every)
    return value, parts[0], parts[1:], count


def batches(steps: int, seed: int = 1) -> list[Batch]:
    """Batches of 1 to 8 lines of up to 256 words; both sizes are drawn for every batch."""
    rng = np.random.default_rng(seed)
    found = list[Batch]()
    for _ in range(steps):
        b, s = int(rng.integers(1, 9)), int(rng.integers(8, LONGEST + 1))
        tokens = rng.integers(0, WORDS, (b, s), dtype=np.int32)
        lengths = rng.integers(1, s + 1, b, dtype=np.int32)
        found.append((tokens, np.roll(tokens, -1, 1), lengths))
    return found


def padded(batch: Batch) -> Batch:
    """Both sizes rounded up to powers of two; lines of length 0 and words beyond the lengths count for nothing."""
    tokens, targets, lengths = batch
    b, s = (1 << (size - 1).bit_length() for size in tokens.shape)
    more = ((0, b - tokens.shape[0]), (0, s - tokens.shape[1]))
    return np.pad(tokens, more), np.pad(targets, more), np.pad(lengths, more[0])


def _function(way: str) -> Callable[..., Any]:
    match way:
        case "shlo_disc.jit":
            return shlo_disc.jit(step)
        case "shlo_disc.jit, declared":
            return shlo_disc.jit(step, shapes={"tokens": "b s", "targets": "b s", "lengths": "b"})
        case _:
            return jax.jit(step)


def measure(way: str, steps: int) -> dict[str, Any]:
    """Seconds of a loop from nothing, and of the same batches again."""
    function, every = _function(way), batches(steps)
    if way.endswith("padded"):
        every = [padded(one) for one in every]
    state = (new_params(), (jax.tree.map(jnp.zeros_like, new_params()),) * 2, jnp.int32(0))
    values, seconds, processor = list[float](), list[float](), list[float]()
    value: Any = None
    for _ in range(2):
        started, spent = time.perf_counter(), time.process_time()
        for batch in every:
            value, *state = function(*state, *batch)
        values.append(float(jax.block_until_ready(value)))
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - spent)
    report = str(function.report()) if isinstance(function, shlo_disc.JitFunction) else ""
    return {
        "way": way, "steps": steps, "total": seconds[0], "steady": seconds[1], "processor": processor, "losses": values,
        "report": report,
    }  # fmt: skip


def main() -> None:
    """Run all ways, one after the other."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--way", choices=WAYS, help="measure this one in this process")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.steps)))
        return
    found = list[dict[str, Any]]()
    for way in WAYS:
        print(f"{way} …", file=sys.stderr)
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-m", "benchmarks.jit_loops", "--way", way, "--steps", str(given.steps)]
            done = subprocess.run(
                command, env={**os.environ, "XDG_CACHE_HOME": cache}, stdout=subprocess.PIPE, text=True, check=True
            )
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"  {found[-1]['total']:.1f} s from nothing, {found[-1]['steady']:.1f} s again", file=sys.stderr)
    if given.out is not None:
        given.out.write_text(
            json.dumps({"jax": jax.__version__, "processors": os.cpu_count(), "ways": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
