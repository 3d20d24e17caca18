"""Compare the parser with those of xDSL and jaxlib, side by side in one process.

    python -m benchmarks.parse [--corpus FOLDER] [--xdsl FOLDER] [--json FILE]

Throughput: the models of the corpus and some large exports, in generic form. Linearity: a program that is ten times as
long. Memory: a module of 50 MB, nearly all of it one literal `dense<"0x…">`.

xDSL's wheel holds top-level packages named `benchmarks` and `tests`; so give it a folder of its own:

    pip install --target FOLDER xdsl==0.74.0
"""

# JAX, jaxlib's MLIR bindings and xDSL are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import re
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from shlo_disc.parse.parser import parse_module

Read = Callable[[str], object]

ROUNDS = 5
SECONDS = 2.0  # after which a side gets no further round with a text
DIGITS = 50_000_000  # a multiple of 16
LAYERS = (50, 200)


def _with_jaxlib(text: str) -> object:
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        return ir.Module.parse(text)


def _xdsl_reader(folder: Path) -> Read:
    sys.path.append(str(folder))  # the last: it has a package `benchmarks` as well
    xdsl: Any = {
        name: importlib.import_module(f"xdsl.{name}")
        for name in ("context", "parser", "dialects.builtin", "dialects.func")
    }

    def read(text: str) -> object:
        context = xdsl["context"].Context(allow_unregistered=True)
        context.load_dialect(xdsl["dialects.builtin"].Builtin)
        context.load_dialect(xdsl["dialects.func"].Func)
        return xdsl["parser"].Parser(context, text).parse_module()

    return read


# --- texts


def _printed(text: str, *, generic: bool) -> str:
    with mlir.make_ir_context():
        asm = ir.Module.parse(text).operation.get_asm(enable_debug_info=False, print_generic_op_form=generic)
    assert isinstance(asm, str)
    return asm


def _exported(layers: int) -> str:
    """Export a network of many layers, written out one by one."""

    def layer(x: jax.Array, weight: jax.Array) -> jax.Array:
        scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", x, x), axis=-1)
        return x + jax.nn.gelu(jnp.einsum("bqk,bkd->bqd", scores, x) @ weight)

    def network(x: jax.Array, weights: list[jax.Array]) -> jax.Array:
        for weight in weights:
            x = layer(x, weight)
        return x

    (size,) = export.symbolic_shape("n")
    x = jax.ShapeDtypeStruct((size, 16, 32), jnp.float32)
    weights = [jax.ShapeDtypeStruct((32, 32), jnp.float32)] * layers
    return export.export(jax.jit(network))(x, weights).mlir_module()


def _models(corpus: Path) -> Mapping[str, str]:
    with tempfile.TemporaryDirectory() as root, tarfile.open(corpus / "models.tar.xz") as tar:
        tar.extractall(root, filter="data", members=[m for m in tar if m.name.endswith("module.mlir")])
        return {path.parent.name: path.read_text() for path in sorted(Path(root).rglob("module.mlir"))}


def _many_times(text: str, count: int) -> str:
    """Repeat the functions of a pretty-printed module under new names."""
    head, _, rest = text.partition("{\n")
    body = rest.rstrip().removesuffix("}")
    return head + "{\n" + "".join([re.sub(r"@(\w+)", rf"@\1_{k}", body) for k in range(count)]) + "}\n"


def _weight(digits: int) -> str:
    """Write a module of one literal; it is put together once, to have no copies in what is measured."""
    type_ = f"tensor<{digits // 8}xf32>"
    head = f'func.func @main() -> {type_} {{\n  %0 = stablehlo.constant dense<"0x'
    tail = f'"> : {type_}\n  return %0 : {type_}\n}}\n'
    return "".join([head, *["0123456789ABCDEF"] * (digits // 16), tail])


# --- measurements


def _seconds(read: Read, text: str) -> float:
    gc.collect()
    start = time.perf_counter()
    read(text)
    return time.perf_counter() - start


def _in_turns(readers: Mapping[str, Read], text: str) -> Mapping[str, float]:
    """Give the least seconds of each side; in turns, so that a slow moment of the machine hits all."""
    found: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            if sum(found[name]) < SECONDS:
                found[name].append(_seconds(read, text))
    return {name: min(seconds) for name, seconds in found.items()}


def measure_throughput(readers: Mapping[str, Read], texts: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Give the MB/s of every side for every text."""
    rows: list[Mapping[str, Any]] = []
    for number, (name, text) in enumerate(texts.items(), 1):
        print(f"\r{number} of {len(texts)}: {name:30}", end="", file=sys.stderr)
        speeds = {side: len(text) / seconds / 1e6 for side, seconds in _in_turns(readers, text).items()}
        rows.append({"text": name, "kilobytes": len(text) / 1e3, **speeds})
    print(file=sys.stderr)
    return rows


def measure_linearity(text: str) -> float:
    """Give how many times as long a text takes that is ten times as long."""
    texts = {count: _many_times(text, count) for count in (1, 10)}
    ratios: list[float] = []
    for _ in range(ROUNDS):
        short, long = (_seconds(parse_module, text) for text in texts.values())
        ratios.append(long / short / (len(texts[10]) / len(texts[1])) * 10)
    return statistics.median(ratios)


def measure_memory() -> Mapping[str, float]:
    """Read a long literal: seconds, and the peaks of memory over the length of the text, which they include."""
    parse_module(_weight(16))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = _weight(DIGITS)
    seconds = min(_seconds(parse_module, text) for _ in range(ROUNDS))
    resident = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / len(text)
    tracemalloc.start()
    parse_module(text)
    traced = tracemalloc.get_traced_memory()[1] / len(text) + 1
    return {"megabytes": len(text) / 1e6, "seconds": seconds, "resident": resident, "traced": traced}


def _memory_in_a_new_process() -> Mapping[str, float]:
    command = "import json; from benchmarks.parse import measure_memory; print(json.dumps(measure_memory()))"
    result = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def _mean_ratio(rows: Sequence[Mapping[str, Any]], side: str) -> float:
    return math.exp(statistics.fmean(math.log(row["shlo_disc"] / row[side]) for row in rows))


def main() -> None:
    """Measure all and print tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, default=Path("../shared/corpus"))
    options.add_argument("--xdsl", type=Path, help="folder into which xDSL was installed")
    options.add_argument("--json", type=Path, help="file for the numbers")
    given = options.parse_args()
    readers: dict[str, Read] = {"shlo_disc": parse_module, "jaxlib": _with_jaxlib}
    if given.xdsl is not None:
        readers["xdsl"] = _xdsl_reader(given.xdsl)
    memory = _memory_in_a_new_process()
    pretty = {**_models(given.corpus), **{f"export of {layers} layers": _exported(layers) for layers in LAYERS}}
    texts = {name: _printed(text, generic=True) for name, text in pretty.items()}
    rows = measure_throughput(readers, texts)
    growth = measure_linearity(_printed(pretty["bert"], generic=False))
    print(f"{'MB/s, generic form':24}{'KB':>8}" + "".join([f"{side:>12}" for side in readers]))
    for row in rows:
        print(f"{row['text']:24}{row['kilobytes']:8.0f}" + "".join([f"{row[side]:12.2f}" for side in readers]))
    for side in list(readers)[1:]:
        print(f"ours over {side}'s: {_mean_ratio(rows, side):.3g} (geometric mean)")
    print(f"ten times the text takes {growth:.2f} times as long")
    print("a literal of {megabytes:.0f} MB: {seconds:.2f} s, peak {resident:.2f} times the text".format(**memory))
    if given.json is not None:
        report = {"throughput": rows, "growth": growth, "memory": memory}
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
