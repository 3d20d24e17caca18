"""Matrix products and what is fused to them, against the best product of this card and against XLA."""

# CuPy and JAX are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false

from __future__ import annotations

from functools import partial
from typing import Any

import cupy
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc
from benchmarks.gpu.section import Section, as_cupy, geometric_mean, gpu_seconds, random_on_gpu, wall_seconds

SIZES = ((1, 4096, 4096), (8, 4096, 4096), (64, 1024, 1024), (256, 1024, 4096), (2048, 2048, 2048), (8192, 8192, 8192))
ATTENTION = ((1, 16, 64, 64), (8, 16, 512, 64), (4, 16, 2048, 64), (8, 32, 1, 128))  # batch, heads, queries, width
KEYS = 2048


def main() -> None:
    """Plain products, products with bias and GELU, attention: f32 (TF32 on both sides) and bf16."""
    section = Section()
    for dtype in ("float32", "bfloat16"):
        section.add(f"peak_{dtype}", _peak(dtype))
        for size in SIZES:
            section.append("dots", _dot(size, dtype, fused=False))
            section.append("dots", _dot(size, dtype, fused=True))
        for shape in ATTENTION:
            section.append("attention", _attention(shape, dtype))
    every = [*section.report["dots"], *section.report["attention"]]
    section.add("wrong", [f"{c['name']} {c['size']} {c['dtype']}" for c in every if not c["right"]])
    lines = [
        f"{kind}: ours / XLA {geometric_mean(c['seconds'] / c['xla_seconds'] for c in every if c['name'] == kind):.2f}"
        for kind in ("dot", "dot_bias_gelu", "attention")
    ]
    section.add("summary", lines)


def _peak(dtype: str) -> float:
    """FLOP/s of the library's product of two 8192 x 8192 matrices."""
    n = 8192
    if dtype == "float32":
        a = cupy.ones((n, n), cupy.float32)
        (seconds,) = gpu_seconds(lambda: a @ a)
        return 2 * n**3 / seconds
    x: Any = jnp.ones((n, n), dtype)
    return 2 * n**3 / wall_seconds(partial(jax.jit(jnp.matmul), x, x))


def _compiled(program: Any, symbolic: tuple[str, ...], dtype: str) -> Any:
    scope = export.SymbolicScope()
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), dtype) for s in symbolic]
    return shlo_disc.compile(export.export(jax.jit(program), platforms=("cuda",))(*specs), device="cuda")


def _compare(run: Any, program: Any, arrays: list[Any], dtype: str) -> dict[str, Any]:
    jitted = jax.jit(program)
    found, wanted = jnp.asarray(run(*arrays), jnp.float32), jitted(*arrays).astype(jnp.float32)
    tolerance = 5e-3 if dtype == "float32" else 3e-2  # TF32 and bf16 on both sides
    right = bool(jnp.abs(found - wanted).max() <= tolerance * jnp.abs(wanted).max())
    (seconds,) = gpu_seconds(partial(run, *map(as_cupy, arrays)))
    return {"dtype": dtype, "seconds": seconds, "xla_seconds": wall_seconds(partial(jitted, *arrays)), "right": right}


def _gelu_dense(x: Any, w: Any, b: Any) -> Any:
    return jax.nn.gelu(x @ w + b)


def _dot(size: tuple[int, int, int], dtype: str, *, fused: bool) -> dict[str, Any]:
    m, n, k = size
    arrays: list[Any] = [random_on_gpu(s, dtype) for s in ((m, k), (k, n), (n,))]
    program = _gelu_dense if fused else jnp.matmul
    arrays = arrays if fused else arrays[:2]
    run = _compiled(program, (f"m, {k}", f"{k}, {n}", f"{n}")[: len(arrays)], dtype)
    found = _compare(run, program, arrays, dtype)
    flops = 2 * m * n * k / found["seconds"]
    return found | {"name": "dot_bias_gelu" if fused else "dot", "size": size, "flops_per_second": flops}


def _attention_program(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32).astype(q.dtype)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def _attention(shape: tuple[int, int, int, int], dtype: str) -> dict[str, Any]:
    b, h, q, d = shape
    sizes = ((b, h, q, d), (b, h, KEYS, d), (b, h, KEYS, d))
    arrays: list[Any] = [random_on_gpu(s, dtype) for s in sizes]
    run = _compiled(_attention_program, (f"b, {h}, q, {d}", f"b, {h}, k, {d}", f"b, {h}, k, {d}"), dtype)
    return _compare(run, _attention_program, arrays, dtype) | {"name": "attention", "size": shape}


if __name__ == "__main__":
    main()
