"""Attention in bf16 beside Torch's and JAX's by cuDNN: several calls in one graph or loop, not slowed by the host."""

# CuPy, JAX and Torch are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import export

import shlo_disc
from benchmarks.gpu.section import Section, as_cupy, random_on_gpu, wall_seconds
from benchmarks.gpu.variants import graph_seconds

SHAPES = (  # batch, heads, queries, keys, width
    (4, 16, 2048, 2048, 64), (4, 16, 2048, 2048, 128), (8, 16, 512, 512, 64), (8, 32, 1, 4096, 128),
    (64, 16, 1, 2048, 64),
)  # fmt: skip
IN_ONE = 10  # calls in one jitted loop


def main() -> None:
    """Each shape, with and without a causal mask where queries are as many as keys."""
    section = Section()
    for shape in SHAPES:
        for causal in (False, True) if shape[2] == shape[3] else (False,):
            section.append("cases", _case(shape, causal=causal))
    cases = section.report["cases"]
    section.add("wrong", [f"{c['size']} causal={c['causal']}" for c in cases if c["error"] > 3e-2])
    section.add("summary", [
        f"{c['size']} causal={c['causal']}: {c['seconds'] * 1e6:.0f} us; torch {c['torch_seconds'] * 1e6:.0f}, "
        f"cuDNN by JAX {(c['cudnn_seconds'] or np.nan) * 1e6:.0f}" for c in cases
    ])  # fmt: skip


def _program(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type="float32") * q.shape[-1] ** -0.5
    if causal:
        rows, columns = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])[None]
        scores = jnp.where(rows >= columns, scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(q.dtype), v)


def _case(shape: tuple[int, int, int, int, int], *, causal: bool) -> dict[str, Any]:
    b, h, q, k, d = shape
    arrays: list[Any] = [random_on_gpu((b, h, n, d), "bfloat16") for n in (q, k, k)]
    scope = export.SymbolicScope()
    keys = "q" if causal else "k"
    specs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(f"b, {h}, {n}, {d}", scope=scope), "bfloat16")
        for n in ("q", keys, keys)
    ]
    program = partial(_program, causal=causal)
    options = shlo_disc.CompileOptions(graphs=False)
    run = shlo_disc.compile(
        export.export(jax.jit(program), platforms=("cuda",))(*specs), device="cuda", options=options
    )
    seconds, found = graph_seconds(run, [as_cupy(x) for x in arrays])
    wanted: Any = program(*[x.astype("float32") for x in arrays])
    error = float(jnp.abs(jnp.asarray(found, "float32") - wanted).max() / jnp.abs(wanted).max())
    tensors = [torch.from_dlpack(x) for x in arrays]
    flops = 4 * b * h * q * k * d * (0.5 if causal else 1)
    return {
        "size": shape, "causal": causal, "error": error, "seconds": seconds, "flops_per_second": flops / seconds,
        "torch_seconds": _torch(lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)),
        "cudnn_seconds": _cudnn(arrays, causal=causal),
    }  # fmt: skip


def _torch(call: Callable[[], Any]) -> float:
    for _ in range(3):
        call()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(IN_ONE):
            call()
    found = list[float]()
    for _ in range(5):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / 1e3 / IN_ONE)
    return statistics.median(found)


def _cudnn(arrays: list[Any], *, causal: bool) -> float | None:
    """Seconds of one of several calls that follow each other in one jitted loop; None where cuDNN refuses."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in arrays)

    def several(q: Any, k: Any, v: Any) -> Any:
        def once(_: Any, q: Any) -> Any:
            return jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation="cudnn")

        return jax.lax.fori_loop(0, IN_ONE, once, q)

    try:
        return wall_seconds(partial(jax.jit(several), q, k, v), 3) / IN_ONE
    except Exception:  # noqa: BLE001  (whatever JAX raises for what cuDNN does not have)
        return None


if __name__ == "__main__":
    main()
