# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Which programs for a GPU a function that JAX traces may call, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from shlo_disc import Compiled, CompileOptions
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError, ShloDiscError
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.runtime.xla.gpu_of_xla import GpuOfXla
from tests.runtime.xla.texts import LATE, SLICED, TRANSFORM, TWO, normal, program

GPU = GpuOfXla()
X = normal(0, 5)
NUMBERS = [np.array([k], np.int32) for k in (1, 5, 2)]
# The size of the slice is an element of the first arguments.
SLICED_FIRST = SLICED.replace(
    "%a: tensor<?xf32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %d: tensor<1xi32>",
    "%s: tensor<1xi32>, %l: tensor<1xi32>, %d: tensor<1xi32>, %a: tensor<?xf32>",
)


def on_gpu(text: str, driver: Any = "c") -> Compiled:
    options = CompileOptions(optimize=0, graphs=False, driver=driver)
    return compile_for(CudaBackend(GPU.device), text, options)


def refused(kind: type[Exception], function: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "driver", "arrays", "why"),
    [
        (TWO, "vm", [X, X], "Python runs the program step by step"),
        (TRANSFORM, "c", [normal(0, 3, 8).astype(np.complex64)], "the program calls functions of Python"),
        (SLICED, "c", [X, *NUMBERS], "elements of arguments are sizes"),
        (LATE, "c", [X], "the program runs in partitions, as the sizes of some arrays become known during a call"),
    ],
)
def test_what_needs_python(text: str, driver: str, arrays: list[Any], why: str) -> None:
    """It is refused when JAX traces: nothing is called in another way. Outside, it is called."""
    run = on_gpu(text, driver)
    told = refused(ShloDiscError, lambda: jax.make_jaxpr(run.as_jax())(*arrays))
    assert "found a program for 'cuda' inside a function that JAX traces" in told
    assert f"expected one that XLA can run alone: {why}\n" in told
    assert "help: call it outside of jax.jit, or compile it for 'cpu'" in told
    assert f"inside of jax.jit calls are refused: {why}" in run.explain()
    assert len(run(*arrays)) == len(run.executable.artifact.results)


def test_sizes_that_are_bound() -> None:
    """They are elements of arguments, but known when JAX traces."""
    bound = on_gpu(SLICED_FIRST).bind(*NUMBERS)
    (found,) = GPU.executable(bound.executable.for_xla, bound.as_jax(), X)(X)
    np.testing.assert_allclose(found, X[1:5:2].sum(), 1e-6)


def test_nothing_is_said_of_other_programs() -> None:
    assert "inside of jax.jit" not in on_gpu(TWO).explain()


def test_sizes_types_and_ranks() -> None:
    """The errors of a call outside, while JAX traces."""
    run, other = on_gpu(TWO), normal(1, 4)
    trace = jax.make_jaxpr(run.as_jax())
    assert refused(RuntimeShapeError, lambda: trace(X, other)) == refused(RuntimeShapeError, lambda: run(X, other))
    whole = np.arange(5, dtype=np.int32)
    assert "argument 1: found dtype int32, expected float32" in refused(ArgumentTypeError, lambda: trace(X, whole))
    assert "argument 1: found rank 2" in refused(ArgumentTypeError, lambda: trace(X, X[None]))
    assert [one.shape for one in jax.eval_shape(run.as_jax(), X, X)] == [(5,), ()]


def test_a_function_that_jax_compiles_for_the_cpu() -> None:
    told = refused(ShloDiscError, lambda: jax.jit(on_gpu(TWO).as_jax())(X, X))
    assert "found a program for 'cuda' inside a function that JAX compiles for 'cpu', expected one device for" in told
    assert "jax.default_device(jax.devices('cuda')[0])" in told


@pytest.mark.parametrize("platforms", [("cuda",), ("cpu", "cuda")])
def test_a_program_for_the_cpu_in_another_function(platforms: tuple[str, ...]) -> None:
    traced = jax.jit(program(TWO).as_jax()).trace(X, X)
    told = refused(ShloDiscError, lambda: traced.lower(lowering_platforms=platforms))
    assert "found a program for 'cpu' inside a function that JAX compiles for 'cuda'" in told


def test_both_platforms_in_one_process() -> None:
    """Each has a library of its own."""
    on_cpu = jax.jit(program(TWO).as_jax())(X, X)
    run = on_gpu(TWO)
    executable = GPU.executable(run.executable.for_xla, run.as_jax(), X, X)
    for ours, wanted in zip(executable(X, X), on_cpu, strict=True):
        np.testing.assert_allclose(ours, wanted, 1e-5, 1e-5)
