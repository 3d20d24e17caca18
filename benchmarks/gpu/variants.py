"""Every legal variant of matrix products with few rows, and of large ones, by time and by the cost model's estimate.

Each time is that of the replay of one recorded graph of `TOGETHER` calls, which the host does not slow down. Inputs are
random; those of a product that reads more than the L2 cache holds come from memory.
"""

# CuPy and JAX are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import jax
import jax.numpy as jnp
from jax import export

from benchmarks.gpu.section import Section, as_cupy, random_on_gpu
from shlo_disc.host_ir import Choice
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.runtime.cuda.build import build_gpu
from shlo_disc.runtime.cuda.cupy_device import open_gpu
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.launch_table import Estimate, cheapest

ROWS = (1, 2, 4, 8, 16, 32, 64)
WIDTHS = (4096, 8192, 14336)
SQUARES = (256, 512, 1024, 2048, 4096, 8192)
TOGETHER, ROUNDS = 8, 5
WRONG = 2e-2  # of the largest value: f32 by TF32, bf16 in and out
LONGEST = 0.02  # seconds that a call may take to be timed several times


class Chooser:
    """Takes the variant that it is told, and remembers what there was."""

    def __init__(self) -> None:
        self.wanted: int | None = None
        self.legal: Sequence[Estimate] = ()
        self.labels: tuple[str, ...] = ()

    def __call__(self, choice: Choice, legal: Sequence[Estimate]) -> int:
        self.legal, self.labels = legal, tuple([variant.label for variant in choice.variants])
        return cheapest(choice, legal) if self.wanted is None else self.wanted


def main() -> None:
    """Few rows first, then squares."""
    section = Section()
    hertz = 1e3 * cupy.cuda.runtime.deviceGetAttribute(13, 0)  # cudaDevAttrClockRate, in kHz
    section.add("hertz", hertz)
    for dtype in ("float32", "bfloat16"):
        run, chooser = _product(dtype)
        few = [(m, n, k) for n, k in itertools.product(WIDTHS, WIDTHS) for m in ROWS]
        for m, n, k in [*few, *((n, n, n) for n in SQUARES)]:
            section.append("products", _timed(run, chooser, (m, n, k), dtype, hertz))
    found = section.report["products"]
    section.add("wrong", [
        f"{p['size']} {p['dtype']} {v['label']}" for p in found for v in p["variants"] if v["error"] > WRONG
    ])  # fmt: skip
    regret = [p["chosen"] / p["best"] for p in found]
    section.add("summary", [
        f"{len(found)} sizes: chosen / best {statistics.geometric_mean(regret):.3f}, worst {max(regret):.2f}",
        f"estimate / time of the chosen {statistics.geometric_mean(p['estimate'] / p['chosen'] for p in found):.2f}",
    ])  # fmt: skip


def _product(dtype: str) -> tuple[GpuExecutable, Chooser]:
    scope = export.SymbolicScope()
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), dtype) for s in ("m, k", "k, n")]
    text = export.export(jax.jit(jnp.matmul), platforms=("cuda",))(*specs).mlir_module()
    options = CompileOptions(graphs=False)
    artifact = compile_module(parse_module(text, "<product>"), Request("cuda", options), Stopwatch())
    chooser = Chooser()
    return build_gpu(artifact, options, open_gpu(), chooser=chooser), chooser


def _timed(
    run: GpuExecutable, chooser: Chooser, size: tuple[int, int, int], dtype: str, hertz: float
) -> dict[str, Any]:
    m, n, k = size
    x, y = random_on_gpu((m, k), dtype), random_on_gpu((k, n), dtype)
    arrays = [as_cupy(x), as_cupy(y)]
    wanted: Any = jnp.matmul(x.astype("float32"), y.astype("float32"), precision="highest")
    chooser.wanted = None
    run.bind({})(arrays)  # plans of its own: it chooses
    legal = sorted(chooser.legal, key=lambda one: one.cycles)
    variants = list[dict[str, Any]]()
    for one in legal:
        chooser.wanted = one.number
        seconds, (result,) = graph_seconds(run.bind({}), [arrays])
        found: Any = jnp.asarray(result, "float32")
        error = float(jnp.abs(found - wanted).max() / jnp.abs(wanted).max())
        estimate = one.cycles / hertz
        variants.append({"label": chooser.labels[one.number], "seconds": seconds, "estimate": estimate, "error": error})
    chosen = variants[0]
    bytes_moved = sum(a.nbytes for a in arrays) + m * n * arrays[0].itemsize
    return {"size": size, "dtype": dtype, "variants": variants, "bytes": bytes_moved, "chosen": chosen["seconds"],
            "estimate": chosen["estimate"], "best": min(v["seconds"] for v in variants)}  # fmt: skip


def graph_seconds(run: Callable[..., Any], arguments: list[Any]) -> tuple[float, Any]:
    """Seconds of a call, in a recorded graph of several; and its results. It may record no graph itself."""
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    with stream:
        results = run(*arguments)
        again = run(*arguments)  # the pool has the memory of both
        stream.synchronize()
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        again = run(*arguments)
        end.record(stream)
        end.synchronize()
        once = cupy.cuda.get_elapsed_time(start, end) / 1e3
        if once > LONGEST:
            return once, results
        stream.begin_capture()
        for _ in range(TOGETHER):
            again = run(*arguments)
        graph = stream.end_capture()
        del again
        found = list[float]()
        for _ in range(ROUNDS):
            start.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            found.append(cupy.cuda.get_elapsed_time(start, end) / 1e3 / TOGETHER)
    return statistics.median(found), results


if __name__ == "__main__":
    main()
