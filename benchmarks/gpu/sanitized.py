"""A few programs that use every template, small: run under compute-sanitizer, or alone."""

# CuPy and JAX are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc

Program = Callable[..., Any]


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T) @ v


CASES: tuple[tuple[Program, tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    (lambda x: jax.nn.gelu(x) + 1, ("n, m",), ((37, 128),)),
    (jax.nn.softmax, ("n, m",), ((5, 1000),)),
    (lambda x: x.T * 2, ("n, m",), ((65, 33),)),
    (lambda x: x.sum(0), ("n, m",), ((257, 65),)),
    (lambda x: x.argmax(-1), ("n, m",), ((9, 333),)),
    (lambda x: jnp.sort(x, axis=-1), ("n, m",), ((3, 1025),)),
    (lambda x: jnp.zeros((7, 16)).at[jnp.arange(x.shape[0]) % 5].add(x), ("n, 16",), ((41, 16),)),
    (lambda x, y: jax.nn.relu(x @ y), ("n, k", "k, m"), ((65, 33), (33, 129))),
    (lambda x: jnp.cumsum(x, axis=-1), ("n, m",), ((3, 700),)),
    (_attention, ("n, 64", "k, 64", "k, 64"), ((33, 64), (65, 64), (65, 64))),
)


def main() -> None:
    """Run each, and compare with JAX on the CPU."""
    cupy.cuda.set_allocator(None)  # no pool: the sanitizer knows where each array ends
    for program, symbolic, shapes in CASES:
        scope = export.SymbolicScope()
        specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), "float32") for s in symbolic]
        exported = export.export(jax.jit(program), platforms=("cuda",))(*specs)
        options = shlo_disc.CompileOptions(driver="vm", matmul_precision="highest")
        run = shlo_disc.compile(exported, device="cuda", options=options)
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal(s, np.float32) for s in shapes]
        with jax.default_device(jax.devices("cpu")[0]):
            expected = np.asarray(program(*arrays))
        np.testing.assert_allclose(np.asarray(run(*arrays)), expected, rtol=1e-4, atol=1e-4, err_msg=str(symbolic))


if __name__ == "__main__":
    main()
