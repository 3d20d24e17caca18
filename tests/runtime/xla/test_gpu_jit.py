# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Functions of `shlo_disc.jit` for a GPU in functions that JAX traces, differentiates and maps, on an emulated one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.lower_cuda.code_generator import CUDA
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.targets import Target, register_target, unregister_target
from tests.runtime.xla.gpu_of_xla import GpuOfXla
from tests.runtime.xla.texts import normal

GPU = GpuOfXla()


@pytest.fixture
def device() -> Generator[str]:
    """The name of a target: the emulated GPU."""
    register_target(Target("emulated", "cuda", lambda: CUDA, lambda _: CudaBackend(GPU.device), lambda: False))
    yield "emulated"
    unregister_target("emulated")


def calls(function: Callable[..., Any], *like: Any) -> int:
    """How many custom calls of ours are in what JAX lowers for a GPU."""
    text: str = jax.jit(function).trace(*like).lower(lowering_platforms=("cuda",)).as_text()
    assert "callback" not in text
    return text.count("stablehlo.custom_call @shlo_disc_run(")


def test_a_function_of_jit(device: str) -> None:
    options = CompileOptions(optimize=0, graphs=False)
    f = shlo_disc.jit(lambda x: jnp.tanh(x) * 2, shapes="n", device=device, options=options)
    for size in (7, 12):
        x = normal(size, size)
        outside = f(x)
        executable = GPU.executable(f.compiled.executable.for_xla, f, x)
        np.testing.assert_array_equal(executable(x)[0], outside)
        np.testing.assert_allclose(outside, np.tanh(x) * 2, 1e-5, 1e-5)
    x = normal(7, 7)
    assert calls(jax.grad(lambda x: jnp.sum(f(x))), x) == 2, "a pass forward, and one backward"
    assert calls(jax.vmap(f), x[None]) == 1
    assert calls(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=3), x) == 1
