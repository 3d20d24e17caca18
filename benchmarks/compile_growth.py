"""CPU seconds before the C++ compiler starts, for exports of JAX from 1,000 to 50,000 ops.

    python -m benchmarks.compile_growth [--ops 1000,10000,50000]

Two programs, with symbolic sizes: `chain`, elementwise ops over [b, s] with a sum of the rows after every tenth, and
`layers`, products of [b, 16] with a bias, tanh and a residual. One run each; linear means that the microseconds per op
stay. `tests/pipeline/test_compile_growth.py` counts calls for many more families.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import export
from rich.console import Console
from rich.table import Table

from shlo_disc.pipeline import Request, Stopwatch, compile_text

OPS = "1000,10000,50000"


def chain(ops: int) -> str:
    """Export elementwise ops and sums of rows: 3.2 ops of StableHLO a round."""

    def run(x: jax.Array) -> jax.Array:
        for k in range(ops * 10 // 32):
            x = jnp.tanh(x) + x if k % 10 else x / (1 + jnp.sum(x, -1, keepdims=True))
        return x

    b, s = export.symbolic_shape("b, s")
    return export.export(jax.jit(run))(jax.ShapeDtypeStruct((b, s), jnp.float32)).mlir_module()


def layers(ops: int) -> str:
    """Export layers: 3 ops of StableHLO each."""

    def run(x: jax.Array, w: jax.Array) -> jax.Array:
        for _ in range(ops // 3):
            x = jnp.tanh(x @ w) + x
        return x

    (b,) = export.symbolic_shape("b")
    x, w = jax.ShapeDtypeStruct((b, 16), jnp.float32), jax.ShapeDtypeStruct((16, 16), jnp.float32)
    return export.export(jax.jit(run))(x, w).mlir_module()


def main() -> None:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ops", default=OPS, help="lengths of programs")
    lengths = [int(each) for each in options.parse_args().ops.split(",")]
    families: tuple[Callable[[int], str], ...] = (chain, layers)
    stages = ("parse", "verify", "legalize", "passes", "fuse", "generate", "describe")
    table = Table(title="CPU seconds before the C++ compiler")
    for heading in ("program", "ops", *stages, "all", "us per op"):
        table.add_column(heading, justify="right")
    compile_text(layers(30), "<warm>", Request(), Stopwatch())
    for family in families:
        for length in lengths:
            text, watch = family(length), Stopwatch(time.process_time)
            ops = text.count("= stablehlo.")
            compile_text(text, f"<{family.__name__}>", Request(), watch)
            seconds = [watch.seconds[stage] for stage in stages]
            columns = [f"{each:.2f}" for each in (*seconds, sum(seconds))]
            table.add_row(family.__name__, str(ops), *columns, f"{1e6 * sum(seconds) / ops:.0f}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
