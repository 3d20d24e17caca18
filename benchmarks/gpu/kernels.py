"""Memory-bound kernels against this card's copy bandwidth: each moves at least 64 MB."""

# CuPy and JAX are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import jax
import jax.numpy as jnp
from jax import export

import shlo_disc
from benchmarks.gpu.section import Section, as_cupy, geometric_mean, gpu_seconds, random_on_gpu, wall_seconds

Program = Callable[..., Any]
N = 8192  # [N, N] f32 is 268 MB


def _layer_norm(x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-6)


# name, program, symbolic shapes, concrete shapes
CASES: tuple[tuple[str, Program, tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    ("add", lambda x, y: x + y, ("n, m", "n, m"), ((N, N), (N, N))),
    ("gelu", jax.nn.gelu, ("n, m",), ((N, N),)),
    ("broadcast_bias", lambda x, b: x + b, ("n, m", "m"), ((N, N), (N,))),
    ("transpose", lambda x: x.T, ("n, m",), ((N, N),)),
    ("transpose_1023", lambda x: x.T + 1, ("n, m",), ((N - 1, N + 1),)),
    ("sum_rows", lambda x: x.sum(-1), ("n, m",), ((N, N),)),
    ("sum_long_rows", lambda x: x.sum(-1), ("n, m",), ((16, N * N // 16),)),
    ("sum_short_rows", lambda x: x.sum(-1), ("n, m",), ((N * N // 64, 64),)),
    ("sum_columns", lambda x: x.sum(0), ("n, m",), ((N, N),)),
    ("sum_all", lambda x: x.sum(), ("n, m",), ((N, N),)),
    ("argmax_rows", lambda x: x.argmax(-1), ("n, m",), ((N, N),)),
    ("softmax", jax.nn.softmax, ("n, m",), ((N, N),)),
    ("softmax_256", jax.nn.softmax, ("n, m",), ((N * N // 256, 256),)),
    ("softmax_1000", jax.nn.softmax, ("n, m",), ((65_536, 1000),)),
    ("layer_norm", _layer_norm, ("n, m",), ((N, N),)),
    ("layer_norm_768", _layer_norm, ("n, m",), ((87_381, 768),)),
    ("gather_rows", lambda x, i: x[i], ("n, 1024", "k"), ((65_536, 1024), (65_536,))),
)
DTYPES = ("float32", "bfloat16")


def main() -> None:
    """Time each case in each dtype; the bytes are those of its inputs and outputs."""
    section = Section()
    bandwidth = copy_bandwidth()
    section.add("copy_bytes_per_second", bandwidth)
    for name, program, symbolic, shapes in CASES:
        for dtype in DTYPES:
            section.append("cases", measure(name, program, symbolic, shapes, dtype) | {"copy": bandwidth})
    shares = [case["bytes_per_second"] / bandwidth for case in section.report["cases"]]
    slow = [f"{c['name']} {c['dtype']} {c['bytes_per_second'] / bandwidth:.2f}" for c in section.report["cases"]
            if c["bytes_per_second"] < 0.85 * bandwidth]  # fmt: skip
    section.add("wrong", [c["name"] for c in section.report["cases"] if not c["right"]])
    section.add(
        "summary",
        [
            f"copy {bandwidth / 1e9:.0f} GB/s; share of it: geometric mean {geometric_mean(shares):.2f}",
            f"below 0.85: {slow}",
        ],
    )


def copy_bandwidth() -> float:
    """Bytes read and written per second by a device-to-device copy of 512 MB."""
    source = cupy.zeros(1 << 27, cupy.float32)
    target = cupy.empty_like(source)
    (seconds,) = gpu_seconds(lambda: target.data.copy_from_device_async(source.data, source.nbytes))
    return 2 * source.nbytes / seconds


def measure(name: str, program: Program, symbolic: tuple[str, ...], shapes: Any, dtype: str) -> dict[str, Any]:
    """Seconds of one case, ours and XLA's, and whether the results agree."""
    kinds = ["int32" if name == "gather_rows" and k == 1 else dtype for k in range(len(shapes))]
    host = [
        random_on_gpu(s, kind, below=65_536 if kind == "int32" else 0) for s, kind in zip(shapes, kinds, strict=True)
    ]
    scope = export.SymbolicScope()
    specs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), kind)
        for s, kind in zip(symbolic, kinds, strict=True)
    ]
    run = shlo_disc.compile(export.export(jax.jit(program), platforms=("cuda",))(*specs), device="cuda")
    jitted = jax.jit(program)
    ours, wanted = run(*host), jitted(*host)
    exact = "argmax" in name or "gather" in name or name == "transpose"
    tolerance = 0.0 if exact else 2e-2 if dtype == "bfloat16" else 1e-5
    error = jnp.abs(jnp.asarray(ours, "float32") - wanted.astype("float32")).max()
    scale = jnp.abs(wanted.astype("float32")).max()
    traffic = sum(int(x.nbytes) for x in (*host, wanted))
    if name == "gather_rows":
        traffic = 2 * int(wanted.nbytes)
    (seconds,) = gpu_seconds(partial(run, *map(as_cupy, host)))
    xla = wall_seconds(partial(jitted, *host))
    return {
        "name": name, "dtype": dtype, "seconds": seconds, "xla_seconds": xla, "bytes": traffic,
        "bytes_per_second": traffic / seconds, "right": bool(error <= tolerance * max(float(scale), 1.0)),
        "error": float(error),
    }  # fmt: skip


if __name__ == "__main__":
    main()
