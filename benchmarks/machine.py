"""What cores do in the time of a byte from memory, or of a launch: the constants of `kernels.groups.CPU`.

    python -m benchmarks.machine

Least times of many calls, on one thread and on all cores. Additions: a kernel of 256 additions per element, four of
which are independent at any time, less one of 32, over floats that stay in the nearest two caches. Bytes: two arrays
are added to a third. A launch: of a chain of 256 kernels less one of 32, the time of one over 128 KiB, which threads
share, less its share of the time on one thread.
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from time import perf_counter
from typing import Any

import jax
import numpy as np
from jax import export

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.options import FusionRules

SHARED = 1 << 15  # floats, which threads share
ROUNDS = 200
LONG, SHORT = 256, 32  # additions, or launches
BUDGET = 1 << 28  # bytes per size


def chains(length: int, count: int) -> Callable[[Any, Any], Any]:
    """Give a function that makes `length` additions, in so many independent chains."""

    def function(x: Any, y: Any) -> Any:
        sums = [x * (k + 1.0) if k else x for k in range(count)]
        for _ in range(length // count):
            sums = [total + y for total in sums]
        return reduce(add, sums)

    return function


def compiled(function: Callable[[Any, Any], Any], fusion: FusionRules, threads: int) -> Callable[..., Any]:
    """The function for vectors of any length."""
    (size,) = export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((size,), np.float32)
    source = export.export(jax.jit(function))(spec, spec)
    return shlo_disc.compile(source, options=CompileOptions(fusion=fusion, threads=threads))


def best(runs: Sequence[Callable[..., Any]], elements: int, rounds: int) -> list[float]:
    """The least time of each, in ns."""
    x, y = np.ones(elements, np.float32), np.zeros(elements, np.float32)
    found = [float("inf")] * len(runs)
    for _ in range(rounds):
        for number, run in enumerate(runs):
            start = perf_counter()
            run(x, y)
            found[number] = min(found[number], 1e9 * (perf_counter() - start))
    return found


def main() -> None:
    """Print the rates."""
    cores = os.cpu_count() or 1
    alone = 0.0
    for threads in sorted({1, cores}):
        long, short = best([compiled(chains(n, 4), "full", threads) for n in (LONG, SHORT)], SHARED, ROUNDS)
        additions = SHARED * (LONG - SHORT) / (long - short)
        print(f"{threads} threads: {additions:.1f} additions per ns")
        one = compiled(chains(1, 1), "full", threads)
        (nothing,) = best([one], 1, ROUNDS)
        for bits in range(16, 25, 2):
            (least,) = best([one], 1 << bits, min(ROUNDS, BUDGET >> bits >> 2))
            rate = (12 << bits) / (least - nothing)
            print(f"    {12 << bits >> 10} KiB: {rate:.1f} bytes per ns, {additions / rate:.1f} additions per byte")
        long, short = best([compiled(chains(n, 1), "none", threads) for n in (LONG, SHORT)], SHARED, ROUNDS)
        each = (long - short) / (LONG - SHORT)
        if threads == 1:
            alone = each
        else:
            print(f"    {each - alone / threads:.0f} ns per launch")


if __name__ == "__main__":
    main()
