"""Programs have the same code and results in every process: with an empty cache, a full one, and built again."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from tests.pipeline.exports import In, exported
from tests.pipeline.programs import LAYER, layers

CHILD = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
import shlo_disc

run = shlo_disc.compile(sys.stdin.read(), options=shlo_disc.CompileOptions(cache_dir=Path(sys.argv[1]), optimize=1))
rng, bits = np.random.default_rng(0), hashlib.sha256()
for size in (5, 17, 5):
    arguments = run.executable.artifact.arguments
    shapes = [[size if isinstance(n, str) else n for n in argument.shape] for argument in arguments]
    arrays = [rng.standard_normal(shape).astype(a.dtype) for shape, a in zip(shapes, arguments, strict=True)]
    for result in run(*arrays):
        bits.update(result.tobytes())
code = hashlib.sha256((run.kernels_source + run.host_source).encode()).hexdigest()
print(json.dumps([code, bits.hexdigest(), "legalize" in run.stats.seconds]))
"""


def summary(x: Any, *weights: Any) -> tuple[Any, Any]:
    """Layers with attention, and sums in which the order of terms shows."""
    y = layers(1)(x, *weights)
    return y, jnp.zeros(7).at[jnp.arange(x.shape[1]) % 7].add(y.sum((0, 2)))


def child(text: str, cache: Path, seed: str) -> list[Any]:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", CHILD, str(cache)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def test_processes_and_caches_give_the_same_bits(tmp_path: Path) -> None:
    text = exported(summary, (In("b, t, 16"), *LAYER)).mlir_module()
    cold = child(text, tmp_path / "one", "1")
    warm = child(text, tmp_path / "one", "2")
    again = child(text, tmp_path / "two", "3")
    assert cold[:2] == warm[:2] == again[:2]
    assert [cold[2], warm[2], again[2]] == [True, False, True], "the second takes what the first has built"


def filters(count: int) -> str:
    """As many arguments whose greatest elements are sizes, and results that need two of these and an argument each."""
    lines = ["%zero = stablehlo.constant dense<0> : tensor<i32>"]
    for k in range(count):
        lines += [
            f"%s{k} = stablehlo.reduce(%x{k} init: %zero) applies stablehlo.maximum across dimensions = [0, 1]"
            " : (tensor<?x?xi32>, tensor<i32>) -> tensor<i32>",
            f"%n{k} = stablehlo.reshape %s{k} : (tensor<i32>) -> tensor<1xi32>",
        ]
    for k in range(count):
        lines += [
            f"%r{k} = stablehlo.dynamic_iota %n{k}, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>",
            f"%b{k} = stablehlo.dynamic_broadcast_in_dim %s{k}, %n{(k + 1) % count}, dims = []"
            " : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>",
            f"%c{k} = stablehlo.concatenate %r{k}, %b{k}, dim = 0 : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>",
        ]
    arguments = ", ".join(f"%x{k}: tensor<?x?xi32>" for k in range(count))
    types = ", ".join(["tensor<?xi32>"] * count)
    body = "\n  ".join([*lines, f"return {', '.join(f'%c{k}' for k in range(count))} : {types}"])
    return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}"


def test_partitions_take_their_inputs_in_the_same_order_in_every_process(tmp_path: Path) -> None:
    """Which values a partition takes follows from sets of symbols, whose order is that of hashes."""
    first, *others = (child(filters(6), tmp_path / seed, seed)[:2] for seed in ("1", "2", "3"))
    assert others == [first, first]
