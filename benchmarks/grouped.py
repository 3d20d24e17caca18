"""Products of groups of rows beside a dense product of as many operations, and layers of experts, beside XLA.

    python -m benchmarks.grouped [--out FILE]

Microseconds on one thread, the least of many short turns that all sides but XLA take one after the other; XLA follows,
as it takes 5 to 1000 times as long and leaves no cache as it was. `dense` multiplies all rows by one matrix; `bound`
has the matrices bound before. A layer routes each token to two of the experts, sorts the tokens by expert, multiplies
them by two matrices of it, and adds up what comes back.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rich.progress import Progress

import shlo_disc
from benchmarks.timing import ROOT, Call, time_in_turns
from shlo_disc import CompileOptions

WIDTH = 256  # depth and columns
GROUPS, ROWS = (8, 64), (8, 32, 128)
TOKENS = (16, 128, 1024)
_NARROW_ROWS = 32  # of narrow types, of which a call of XLA may take seconds
_ROUNDS, _ROUNDS_OF_XLA, _TURN = 25, 3, 0.01  # seconds
_OPTIONS = CompileOptions(threads=1)
_SHORT = {"f32": np.float32, "bf16": jnp.bfloat16, "i8": np.int8}

Layer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """Least microseconds of a call, by side."""

    what: str
    groups: int
    rows: int  # of each group, or tokens of a layer
    microseconds: Mapping[str, float]


def _product(x: Any, w: Any) -> Any:
    return jnp.matmul(x, w, preferred_element_type=jnp.int32 if x.dtype == jnp.int8 else jnp.float32)


def _grouped(w: Any, x: Any, sizes: Any) -> Any:
    kind = jnp.int32 if x.dtype == jnp.int8 else jnp.float32
    return lax.ragged_dot(x, w, sizes, preferred_element_type=kind)


def _to_rows(w: Any, y: Any, sizes: Any) -> Any:
    return lax.ragged_dot(y, jnp.swapaxes(w, 1, 2), sizes)


_BY_DEPTH = lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
)


def _to_matrices(x: Any, y: Any, sizes: Any) -> Any:
    return lax.ragged_dot_general(x, y, sizes, _BY_DEPTH)


def experts(params: Layer, x: Any) -> Any:
    """A layer of experts, each of which is a network of two layers; every token goes to two of them."""
    count = params["up"].shape[0]
    weights, chosen = lax.top_k(jax.nn.softmax(x @ params["router"]), 2)
    order = jnp.argsort(chosen.reshape(-1), stable=True)
    sizes = jnp.bincount(chosen.reshape(-1), length=count).astype(jnp.int32)
    hidden = jax.nn.silu(lax.ragged_dot(x[order // 2], params["up"], sizes))
    found = lax.ragged_dot(hidden, params["down"], sizes) * weights.reshape(-1)[order][:, None]
    return jnp.zeros_like(x).at[order // 2].add(found)


def _compiled(function: Callable[..., Any], shapes: Any) -> shlo_disc.Compiled:
    return shlo_disc.compile(function, shapes=shapes, options=_OPTIONS)


def _by_xla(function: Callable[..., Any], *arrays: Any) -> Call:
    run, there = jax.jit(function), jax.device_put(arrays)
    return lambda: jax.block_until_ready(run(*there))


def _drawn(rng: np.random.Generator, dtype: Any, *shape: int) -> Any:
    if dtype is np.int8:
        return rng.integers(-128, 128, shape, np.int8)
    return rng.standard_normal(shape).astype(dtype)


def _forward(dtype: str, groups: int, rows: int) -> Mapping[str, Call]:
    rng, kind = np.random.default_rng(0), _SHORT[dtype]
    x, w = _drawn(rng, kind, groups * rows, WIDTH), _drawn(rng, kind, groups, WIDTH, WIDTH)
    sizes, one = np.full(groups, rows, np.int32), w[0].copy()
    dense = _compiled(_product, f"{dtype}[m, {WIDTH}], {dtype}[{WIDTH}, {WIDTH}]")
    ours = _compiled(_grouped, f"{dtype}[{groups}, {WIDTH}, {WIDTH}], {dtype}[m, {WIDTH}], i32[{groups}]")
    bound = ours.bind(w)
    return {
        "dense": lambda: dense(x, one),
        "ours": lambda: ours(w, x, sizes),
        "bound": lambda: bound(x, sizes),
        "xla": _by_xla(_grouped, w, x, sizes),
    }


def _gradient_of_rows(groups: int, rows: int) -> Mapping[str, Call]:
    rng = np.random.default_rng(0)
    y, w = _drawn(rng, np.float32, groups * rows, WIDTH), _drawn(rng, np.float32, groups, WIDTH, WIDTH)
    sizes, one = np.full(groups, rows, np.int32), w[0].copy()
    dense = _compiled(lambda y, w: y @ w.T, f"f32[m, {WIDTH}], f32[{WIDTH}, {WIDTH}]")
    ours = _compiled(_to_rows, f"f32[{groups}, {WIDTH}, {WIDTH}], f32[m, {WIDTH}], i32[{groups}]")
    return {
        "dense": lambda: dense(y, one),
        "ours": lambda: ours(w, y, sizes),
        "xla": _by_xla(_to_rows, w, y, sizes),
    }


def _gradient_of_matrices(groups: int, rows: int) -> Mapping[str, Call]:
    rng = np.random.default_rng(0)
    x, y = (_drawn(rng, np.float32, groups * rows, WIDTH) for _ in range(2))
    sizes = np.full(groups, rows, np.int32)
    dense = _compiled(lambda x, y: x.T @ y, f"f32[m, {WIDTH}], f32[m, {WIDTH}]")
    ours = _compiled(_to_matrices, f"f32[m, {WIDTH}], f32[m, {WIDTH}], i32[{groups}]")
    return {
        "dense": lambda: dense(x, y),
        "ours": lambda: ours(x, y, sizes),
        "xla": _by_xla(_to_matrices, x, y, sizes),
    }


def _layer(groups: int, tokens: int) -> Mapping[str, Call]:
    rng = np.random.default_rng(0)
    params = {
        "router": _drawn(rng, np.float32, WIDTH, groups),
        "up": _drawn(rng, np.float32, groups, WIDTH, 2 * WIDTH) / 16,
        "down": _drawn(rng, np.float32, groups, 2 * WIDTH, WIDTH) / 16,
    }
    x = _drawn(rng, np.float32, tokens, WIDTH)
    types = {name: jax.ShapeDtypeStruct(one.shape, one.dtype) for name, one in params.items()}
    ours = _compiled(experts, (types, f"f32[t, {WIDTH}]"))
    bound = ours.bind(params)
    np.testing.assert_allclose(ours(params, x), jax.jit(experts)(params, x), rtol=1e-2, atol=1e-3)
    return {"ours": lambda: ours(params, x), "bound": lambda: bound(x), "xla": _by_xla(experts, params, x)}


def _cases() -> Iterator[tuple[str, int, int, Callable[[int, int], Mapping[str, Call]]]]:
    for groups in GROUPS:
        for rows in ROWS:
            for dtype in _SHORT if rows == _NARROW_ROWS else ("f32",):
                yield f"product, {dtype}", groups, rows, partial(_forward, dtype)
            yield "gradient of rows", groups, rows, _gradient_of_rows
            yield "gradient of matrices", groups, rows, _gradient_of_matrices
        yield from (("layer of experts", groups, tokens, _layer) for tokens in TOKENS)


def measure() -> list[Result]:
    """Measure all cases."""
    found, cases = list[Result](), list(_cases())
    with Progress(transient=True) as progress:
        for what, groups, rows, prepare in progress.track(cases):
            calls = prepare(groups, rows)
            others = {side: call for side, call in calls.items() if side != "xla"}
            seconds = time_in_turns([*others.values()], _ROUNDS, _TURN, 2)
            seconds += time_in_turns([calls["xla"]], _ROUNDS_OF_XLA, _TURN, 1)
            least = dict(zip((*others, "xla"), (min(times) * 1e6 for times in seconds), strict=True))
            found.append(Result(what, groups, rows, least))
            ratios = {side: f"{least['ours'] / time:.2f}" for side, time in least.items() if side != "ours"}
            progress.console.print(f"{what}, {groups} x {rows}: {least['ours']:.1f} us, over others {ratios}")
    return found


def main() -> None:
    """Measure, and write the results."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path)
    out: Path | None = options.parse_args().out
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # it is read with the first array
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    rows = [asdict(one) for one in measure()]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if out is not None:
        about = {"date": datetime.now(UTC).date().isoformat(), "commit": commit.strip(), "jax": jax.__version__}
        out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
