"""What prologues gain on a CPU: products of one formula and a matrix, compiled for a shape, fused and not, in turn.

python benchmarks/prologue.py
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import export

import shlo_disc
from shlo_disc import CompileOptions

ROUNDS = 30
F32, BF16 = np.float32, ml_dtypes.bfloat16
SHAPES = ((1, 768, 3072), (128, 768, 768), (512, 3072, 768), (4096, 768, 256))  # m, k, n
PROGRAMS: Mapping[str, tuple[Callable[..., Any], Sequence[tuple[str, Any]]]] = {
    "tanh(x) @ w": (lambda x, w: jnp.tanh(x) @ w, (("m, k", F32), ("k, n", F32))),
    "gelu(x) @ w": (lambda x, w: jax.nn.gelu(x) @ w, (("m, k", F32), ("k, n", F32))),
    "x @ f32(w)": (lambda x, w: x @ w.astype(F32), (("m, k", F32), ("k, n", BF16))),
    "-x.T @ w": (lambda x, w: -x.T @ w, (("k, m", F32), ("k, n", F32))),
    "x @ -w.T": (lambda x, w: x @ -w.T, (("m, k", F32), ("n, k", F32))),
}


def measure(name: str) -> list[str]:
    """A row of the table per shape: with the prologue, without, the ratio."""
    function, inputs = PROGRAMS[name]
    scope = export.SymbolicScope()
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape, dtype in inputs]
    source = export.export(jax.jit(function))(*specs)
    rows = list[str]()
    for m, k, n in SHAPES:
        likely = {"m": [m], "k": [k], "n": [n]}
        options = [CompileOptions(fusion=fusion, threads=1) for fusion in ("full", "none")]
        runs = [shlo_disc.compile(source, options=option, likely=likely) for option in options]
        sizes, rng = {"m": m, "k": k, "n": n}, np.random.default_rng(0)
        shapes = [tuple(sizes[d.strip()] for d in shape.split(",")) for shape, _ in inputs]
        arrays = [rng.standard_normal(s).astype(dtype) for s, (_, dtype) in zip(shapes, inputs, strict=True)]
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for number, run in enumerate(runs):
                start = perf_counter()
                run(*arrays)
                best[number] = min(best[number], perf_counter() - start)
        fused, apart = (1e6 * seconds for seconds in best)
        rows.append(f"| `{name}` | {m} x {k} x {n} | {fused:.0f} | {apart:.0f} | {fused / apart:.2f} |")
    return rows


def main() -> None:
    """Print the table."""
    print("| program | m x k x n | with, us | without, us | ratio |\n|---|---|---|---|---|")
    for name in PROGRAMS:
        print("\n".join(measure(name)))


if __name__ == "__main__":
    main()
