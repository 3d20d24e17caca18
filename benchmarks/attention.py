"""Attention, and its gradients, beside the unfused program, XLA and PyTorch, in turns; JSON lines, and a table of them.

    python benchmarks/attention.py [--torch PYTHON] [--out FILE]   measures; PYTHON is one that has PyTorch
    python benchmarks/attention.py --table FILE                    prints the table of what was measured

Times are CPU seconds of all threads, the least of several turns, as other work on a machine only ever adds to them. XLA
takes one thread with XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1".
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.lower_cpu.kernels import CpuLowering

SHAPES = (  # batch, heads, queries, keys, width
    (1, 4, 8, 8, 64), (8, 4, 8, 8, 64), (1, 4, 32, 32, 32), (8, 4, 32, 32, 64), (2, 4, 77, 77, 64),
    (1, 4, 128, 128, 64), (8, 4, 256, 256, 64), (1, 8, 512, 512, 64), (1, 16, 1024, 1024, 128), (1, 4, 2048, 2048, 32),
    (1, 8, 1, 512, 64), (1, 8, 1, 2048, 128),
)  # fmt: skip
GRADIENTS = tuple(shape for shape in SHAPES if shape[2] == shape[3])


@dataclass(frozen=True, slots=True)
class Case:
    """One line: attention, or the gradients of queries, keys and values for a given gradient of the result."""

    shape: tuple[int, ...]
    causal: bool
    gradients: bool

    def function(self, q: Any, k: Any, v: Any, *upstream: Any) -> Any:
        """What is measured."""

        def attention(q: Any, k: Any, v: Any) -> Any:
            return jax.nn.dot_product_attention(q, k, v, is_causal=self.causal)

        return jax.vjp(attention, q, k, v)[1](*upstream) if self.gradients else attention(q, k, v)


CASES = (
    *(Case(shape, False, False) for shape in SHAPES),
    *(Case(shape, True, False) for shape in GRADIENTS),
    *(Case(shape, causal, True) for causal in (False, True) for shape in GRADIENTS),
)
ROUNDS, TURN = 9, 4e-3

# What the other interpreter runs: a line asks for a turn of so many seconds, the answer is CPU seconds of a call.
_TORCH = """
import json, sys, time, torch
torch.set_num_threads(1)
for line in sys.stdin:
    (b, h, t, s, d), causal, gradients, turn, again = json.loads(line)
    if not again:
        q, k, v = (torch.randn(b, n, h, d).transpose(1, 2).requires_grad_(gradients) for n in (t, s, s))
        upstream, result = torch.randn(b, h, t, d), None
    call = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if gradients:
        result = call() if result is None else result
        call = lambda: torch.autograd.grad(result, (q, k, v), upstream, retain_graph=True)
    with torch.set_grad_enabled(gradients):
        call(); count, start = 0, time.process_time()
        while not count or time.process_time() - start < turn:
            call(); count += 1
        print(json.dumps((time.process_time() - start) / count), flush=True)
"""


def _turn(call: Callable[[], object]) -> float:
    """CPU seconds of one call: of all threads, as XLA has its own."""
    count, start = 0, time.process_time()
    while not count or time.process_time() - start < TURN:
        call()
        count += 1
    return (time.process_time() - start) / count


@contextmanager
def _without_attention() -> Any:
    abilities = CpuLowering.abilities
    CpuLowering.abilities = replace(abilities, attention=None)
    try:
        yield
    finally:
        CpuLowering.abilities = abilities


def _prepared(case: Case, folder: Path) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """What is measured of a case, and how many bytes of temporaries our programs take."""
    b, h, t, s, d = case.shape
    function, rows, scope = jax.jit(case.function), "tsst" if case.gradients else "tss", export.SymbolicScope()
    shapes = [export.symbolic_shape(f"b, {n}, {h}, {d}", scope=scope) for n in rows]
    source = export.export(function)(*(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes))
    fused = shlo_disc.compile(source, options=CompileOptions(threads=1))
    with _without_attention():
        apart = shlo_disc.compile(source, options=CompileOptions(threads=1, cache_dir=folder))
    rng, sizes = np.random.default_rng(0), {"b": b, "t": t, "s": s}
    arrays = [rng.standard_normal((b, sizes[n], h, d), np.float32) for n in rows]
    device: Any = jax.device_put(arrays)
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: fused(*arrays),
        "unfused": lambda: apart(*arrays),
        "xla": lambda: jax.block_until_ready(function(*device)),
    }
    return calls, {"ours": fused.peak_memory(**sizes), "unfused": apart.peak_memory(**sizes)}


def measure(out: Path, torch: str | None) -> None:
    """Write one line per shape and mask."""
    peer = None
    if torch is not None:
        peer = subprocess.Popen([torch, "-c", _TORCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(case: Case, turn: float, *, again: bool) -> float:
        assert peer is not None, "PyTorch was asked for"
        assert peer.stdin is not None, "a pipe"
        assert peer.stdout is not None, "a pipe"
        peer.stdin.write(json.dumps([case.shape, case.causal, case.gradients, turn, again]) + "\n")
        peer.stdin.flush()
        return float(json.loads(peer.stdout.readline()))

    lines = list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            calls, peaks = _prepared(case, Path(folder))
            best = dict.fromkeys((*calls, *(["torch"] if peer else [])), float("inf"))
            for call in calls.values():
                call()
            for turn in range(ROUNDS):
                for name, call in calls.items():
                    best[name] = min(best[name], _turn(call))
                if peer:
                    best["torch"] = min(best["torch"], ask(case, TURN, again=turn > 0))
            lines.append(json.dumps({**asdict(case), "seconds": best, "peak_memory": peaks}))
            print(lines[-1], flush=True)
    out.write_text("\n".join(lines) + "\n")


def table(path: Path) -> str:
    """What was measured, in microseconds and kilobytes."""
    rows = [
        "| batch x heads, queries x keys, width | what | ours | unfused | XLA | PyTorch | of the best | temporaries |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in path.read_text().splitlines():
        one = json.loads(line)
        b, h, t, s, d = one["shape"]
        seconds, peaks = one["seconds"], one["peak_memory"]
        times = [
            f"{1e6 * seconds[name]:.3g}" if name in seconds else "" for name in ("ours", "unfused", "xla", "torch")
        ]
        ratio = seconds["ours"] / min(seconds[name] for name in seconds if name not in ("ours", "unfused"))
        memory = f"{peaks['ours'] / 1e3:.0f}, {peaks['unfused'] / 1e3:.0f}"
        mask = ", ".join(word for word in ("causal", "gradients") if one[word])
        rows.append(f"| {b} x {h}, {t} x {s}, {d} | {mask} | {' | '.join(times)} | {ratio:.2f} | {memory} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--out", type=Path, default=Path("attention.jsonl"))
    parser.add_argument("--table", type=Path)
    chosen = parser.parse_args()
    if chosen.table is None:
        measure(chosen.out, chosen.torch)
    sys.stdout.write(table(chosen.table or chosen.out) + "\n")


if __name__ == "__main__":
    main()
