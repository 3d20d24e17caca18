"""One compile, every shape: a BERT-like encoder on 50 shapes, each checked against `jax.jit`.

Run it with `make demo`, or `python examples/quickstart.py [--shapes 50]`.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import shlo_disc

LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, LONGEST = 4, 256, 4, 1024, 1000, 512
REPEATS = 5  # calls per shape and side; the median counts

# max |ours - XLA's| over max |XLA's|. Both add up f32 in an order of their own.
TOLERANCE = 1e-5

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


class Layer(NamedTuple):
    """The weights of one encoder layer."""

    scale1: jax.Array
    shift1: jax.Array
    qkv: jax.Array
    qkv_bias: jax.Array
    out: jax.Array
    out_bias: jax.Array
    scale2: jax.Array
    shift2: jax.Array
    up: jax.Array
    up_bias: jax.Array
    down: jax.Array
    down_bias: jax.Array


class Params(NamedTuple):
    """The weights of the encoder."""

    embedding: jax.Array
    positions: jax.Array
    layers: tuple[Layer, ...]


def layer_norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * scale + shift


def attention(layer: Layer, x: jax.Array, mask: jax.Array) -> jax.Array:
    b, s, _ = x.shape
    heads = (x @ layer.qkv + layer.qkv_bias).reshape(b, s, 3, HEADS, WIDTH // HEADS)
    q, k, v = (heads[:, :, i] for i in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (WIDTH // HEADS) ** -0.5
    weights = jax.nn.softmax(scores + mask, axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, s, WIDTH)
    return mixed @ layer.out + layer.out_bias


def encoder(params: Params, tokens: jax.Array, lengths: jax.Array) -> jax.Array:
    """Encode `tokens` [b, s]; row i attends to its first `lengths[i]` positions only."""
    place = jnp.arange(tokens.shape[1])
    x = params.embedding[tokens] + params.positions[place]
    mask = jnp.where(place < lengths[:, None], 0.0, -jnp.inf)[:, None, None, :]
    for layer in params.layers:
        x = x + attention(layer, layer_norm(x, layer.scale1, layer.shift1), mask)
        hidden = layer_norm(x, layer.scale2, layer.shift2) @ layer.up + layer.up_bias
        x = x + jax.nn.gelu(hidden) @ layer.down + layer.down_bias
    return x


def random_params(rng: np.random.Generator) -> Params:
    """Draw weights of the size that keeps activations near 1."""

    def normal(*shape: int, scale: float) -> jax.Array:
        return jnp.asarray((rng.standard_normal(shape) * scale).astype(np.float32))

    def matrix(rows: int, columns: int) -> jax.Array:
        return normal(rows, columns, scale=rows**-0.5)

    def layer() -> Layer:
        return Layer(
            scale1=1 + normal(WIDTH, scale=0.1),
            shift1=normal(WIDTH, scale=0.1),
            qkv=matrix(WIDTH, 3 * WIDTH),
            qkv_bias=normal(3 * WIDTH, scale=0.1),
            out=matrix(WIDTH, WIDTH),
            out_bias=normal(WIDTH, scale=0.1),
            scale2=1 + normal(WIDTH, scale=0.1),
            shift2=normal(WIDTH, scale=0.1),
            up=matrix(WIDTH, HIDDEN),
            up_bias=normal(HIDDEN, scale=0.1),
            down=matrix(HIDDEN, WIDTH),
            down_bias=normal(WIDTH, scale=0.1),
        )

    return Params(
        embedding=normal(VOCABULARY, WIDTH, scale=0.5),
        positions=normal(LONGEST, WIDTH, scale=0.1),
        layers=tuple(layer() for _ in range(LAYERS)),
    )


def skewed_shapes(rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    """Draw distinct (batch, length) pairs, most of them short, a few long: log-normal lengths."""
    shapes: dict[tuple[int, int], None] = {}
    while len(shapes) < count:
        b = int(np.clip(np.exp(rng.normal(np.log(2), 0.7)), 1, 8))
        s = int(np.clip(np.exp(rng.normal(np.log(48), 0.8)), 1, LONGEST))
        shapes[b, s] = None
    return list(shapes)


def random_batch(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Draw tokens [b, s] and the length of each row."""
    b, s = shape
    tokens = rng.integers(0, VOCABULARY, shape, dtype=np.int32)
    return tokens, rng.integers(1, s + 1, b, dtype=np.int32)


def export_once(params: Params) -> export.Exported:
    """Export the encoder for every batch size b and every length s up to the longest."""
    b, s = export.symbolic_shape("b, s", constraints=[f"s <= {LONGEST}"])
    weights = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)
    tokens = jax.ShapeDtypeStruct((b, s), jnp.int32)
    return export.export(jax.jit(encoder))(weights, tokens, jax.ShapeDtypeStruct((b,), jnp.int32))


@dataclass(frozen=True, slots=True)
class Row:
    """What one shape took, in seconds, and how far the two results are apart."""

    shape: tuple[int, int]
    first: float
    ours: float
    xla_first: float
    xla: float
    error: float


def timed(call: Callable[[], object]) -> tuple[Floats, float, float]:
    """Call repeatedly; return the result, the seconds of the first call and of the median one."""
    result, seconds = np.empty(0, np.float32), list[float]()
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        result = np.asarray(call())
        seconds.append(time.perf_counter() - start)
    return result, seconds[0], statistics.median(seconds[1:])


def compare(run: Callable[..., object], params: Params, batches: list[tuple[Ints, Ints]]) -> Iterator[Row]:
    """Run every batch here and by XLA, which compiles for each new shape."""
    reference = jax.jit(encoder)
    weights = jax.tree.map(np.asarray, params)
    for tokens, lengths in track(batches, "running shapes", transient=True):
        b, s = tokens.shape
        ours, first, steady = timed(partial(run, weights, tokens, lengths))
        xla, xla_first, xla_steady = timed(partial(reference, params, tokens, lengths))
        error = float(np.abs(ours - xla).max() / np.abs(xla).max())
        yield Row((b, s), first, steady, xla_first, xla_steady, error)


def report(rows: list[Row], compile_seconds: float) -> Table:
    """Lay out one line per shape and the totals."""
    table = Table(title="one encoder, every shape")
    for heading in ("b", "s", "ours ms", "XLA ms", "XLA ms with compilation", "relative error"):
        table.add_column(heading, justify="right")
    for row in rows:
        times = (f"{1e3 * t:.2f}" for t in (row.ours, row.xla, row.xla_first))
        table.add_row(*map(str, row.shape), *times, f"{row.error:.1e}")
    table.add_section()
    table.add_row(
        "all",
        "",
        f"{1e3 * sum(row.ours for row in rows):.1f}",
        f"{1e3 * sum(row.xla for row in rows):.1f}",
        f"{1e3 * sum(row.xla_first for row in rows):.1f}",
        f"{max(row.error for row in rows):.1e}",
    )
    total = compile_seconds + sum(row.first for row in rows)
    xla_total = sum(row.xla_first for row in rows)
    table.caption = f"first call of each shape, compilation included: ours {total:.2f} s, XLA {xla_total:.2f} s"
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Export, compile, run and compare; return 1 if any result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=50)
    count: int = parser.parse_args(arguments).shapes
    console = Console()
    rng = np.random.default_rng(2)
    params = random_params(rng)
    batches = [random_batch(rng, shape) for shape in skewed_shapes(rng, count)]

    start = time.perf_counter()
    with console.status("exporting and compiling, once"), TemporaryDirectory() as empty:  # no cache helps us
        exported = export_once(params)
        export_seconds = time.perf_counter() - start
        run = shlo_disc.compile(exported, options=shlo_disc.CompileOptions(cache_dir=Path(empty)))
    compile_seconds = time.perf_counter() - start
    rows = list(compare(run, params, batches))

    console.print(report(rows, compile_seconds))
    wrong = [row for row in rows if not row.error <= TOLERANCE]
    console.print(
        f"{run.stats.compilations} compilation in {compile_seconds - export_seconds:.2f} s "
        f"(and {export_seconds:.2f} s to export) for {len(rows)} shapes; XLA compiled {len(rows)}"
    )
    if wrong:
        console.print(f"[red]{len(wrong)} shapes differ by more than {TOLERANCE:g}[/red]")
        return 1
    console.print(f"[green]all {len(rows)} results within {TOLERANCE:g} of jax.jit[/green]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
