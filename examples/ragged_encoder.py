"""Batches of rows of different lengths: the encoder of `quickstart.py`, compiled with the padding and without it.

python -m examples.ragged_encoder [--batches 10]
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

import shlo_disc
from examples.quickstart import TOLERANCE, VOCABULARY, Floats, Ints, encoder, export_once, random_params

ROWS, LONGEST = 8, 128
REPEATS = 5  # calls of each way at each batch, in turns; the least time counts


def random_batch(rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw tokens [ROWS, greatest length] and log-normal lengths [ROWS]; tokens beyond the lengths are padding."""
    lengths = np.clip(np.exp(rng.normal(np.log(24), 0.7, ROWS)), 1, LONGEST).astype(np.int32)
    return rng.integers(0, VOCABULARY, (ROWS, int(lengths.max())), dtype=np.int32), lengths


def least_times(ways: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """The milliseconds of a call of each way."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(REPEATS):
        for name, call in ways.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            found[name] = min(found[name], 1e3 * (time.perf_counter() - start))
    return found


def is_right(found: Floats, expected: Floats, lengths: Ints) -> bool:
    """Whether elements within the lengths are as expected, and all others 0."""
    within = np.arange(found.shape[1]) < lengths[:, None]
    apart = np.abs(found - expected)[within].max() / np.abs(expected[within]).max()
    return bool(apart <= TOLERANCE) and not found[~within].any()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile with padding and without, run batches in these ways and by XLA; return 1 if any result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=10)
    count: int = parser.parse_args(arguments).batches
    rng = np.random.default_rng(0)
    params = random_params(rng)
    weights = jax.tree.map(np.asarray, params)
    exported, reference = export_once(params), jax.jit(encoder)
    padded = shlo_disc.compile(exported, device="cpu")
    ragged = shlo_disc.compile(exported, device="cpu", ragged={"s": "lengths"})

    print("   batch  filled  padded, ms  ragged, ms  jax.jit, ms")
    wrong, shapes = 0, set[tuple[int, ...]]()
    for _ in range(count):
        tokens, lengths = random_batch(rng)
        expected: Floats = np.asarray(reference(params, tokens, lengths))  # compiled here, if the shape is new
        good = is_right(ragged(weights, tokens, lengths), expected, lengths)
        ours = {
            "padded": partial(padded, weights, tokens, lengths),
            "ragged": partial(ragged, weights, tokens, lengths),
        }
        times = least_times(ours) | least_times({"jax.jit": partial(reference, params, tokens, lengths)})
        print(
            f"{ROWS} x {tokens.shape[1]:4}  {lengths.sum() / tokens.size:6.0%}  {times['padded']:10.1f}  "
            f"{times['ragged']:10.1f}  {times['jax.jit']:11.1f}{'' if good else '  WRONG'}"
        )
        wrong += not good
        shapes.add(tokens.shape)
    compilations = f"{padded.stats.compilations} padded, {ragged.stats.compilations} ragged, {len(shapes)} by XLA"
    print(f"compilations: {compilations}; {count} batches, {wrong} wrong")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
