"""The whole way from a JAX function to results on an emulated GPU: what a user sees, and what a call decides."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from numpy.typing import NDArray

from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.host_ir import Choice, GridLaunch, Product
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cpu.backend import CpuBackend
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.launch_table import Estimate, cheapest
from shlo_disc.runtime.steps import leaves
from tests.emulator.device import EmulatedArray, EmulatedDevice, EmulatedMemory
from tests.nearness import Near, product
from tests.pipeline.exports import In, exported

Floats = NDArray[np.float32]
OPTIONS = CompileOptions(optimize=0)


def scaled(x: Any, y: Any) -> Any:
    return jax.nn.softmax(x * 2 + y, -1)


def compiled(function: Callable[..., Any], *inputs: In, device: EmulatedDevice | None = None, **given: Any) -> Compiled:
    options = replace(OPTIONS, **given.pop("options", {}))
    return compile_for(CudaBackend(device or EmulatedDevice(), **given), exported(function, inputs), options)


def numbers(*shape: int) -> Floats:
    return np.random.default_rng(shape).standard_normal(shape, np.float32)


def on_gpu(run: Compiled) -> GpuExecutable:
    executable = run.executable
    assert isinstance(executable, GpuExecutable)
    return executable


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_one_compilation_every_shape(driver: str) -> None:
    run = compiled(scaled, In("n, m"), In("m"), options={"driver": driver})
    for shape in ((1, 1), (3, 7), (33, 64), (2, 300)):
        x, y = numbers(*shape), numbers(shape[1])
        np.testing.assert_allclose(run(x, y), scaled(x, y), rtol=1e-5)
    assert (run.stats.driver, run.stats.signatures, run.stats.compilations) == (driver, 4, 1)
    with pytest.raises(RuntimeShapeError):
        run(numbers(2, 3), numbers(4))
    assert "__global__" in run.kernels_source
    assert "shlo_launch" in run.host_source
    assert " | " in run.explain()  # the variants of a group


def test_arrays_of_the_device_stay_there() -> None:
    device = EmulatedDevice()
    run = compiled(scaled, In("n, m"), In("m"), device=device)
    x, y = numbers(4, 16), numbers(16)
    found = run(device.array(x), y)
    assert isinstance(found, EmulatedArray)
    np.testing.assert_allclose(found.numpy(), scaled(x, y), rtol=1e-5)


@pytest.mark.parametrize("offset", [0, 4, 16])
def test_arguments_may_start_anywhere(offset: int) -> None:
    """The emulator refuses misaligned vector loads."""
    device = EmulatedDevice()

    def greedy(choice: Choice, legal: Sequence[Estimate]) -> int:
        aligned = [e.number for e in legal if choice.variants[e.number].aligned]
        return aligned[0] if aligned else cheapest(choice, legal)

    run = compiled(lambda x, y: x * y + 1, In("n, m"), In("n, m"), device=device, chooser=greedy)
    x, y = numbers(4, 64), numbers(4, 64)
    np.testing.assert_array_equal(run(device.array(x, offset), y), x * y + 1)
    taken = on_gpu(run).choices((device.array(x, offset), y))
    steps = [step for step in leaves(run.executable.artifact.steps) if isinstance(step, Choice)]
    assert steps[0].variants[taken[0]].aligned == (offset % 16 == 0)


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_indices_of_both_widths(index: str) -> None:
    run = compiled(lambda x: jnp.cumsum(x.T @ x, 0)[::-1], In("n, m"), index=index)
    x = numbers(5, 9)
    near = product(x.T, x, operands=2.0**-11)  # by TF32
    Near(np.cumsum(near.exact, 0)[::-1], np.cumsum(near.error, 0)[::-1]).check(run(x))


class OnePlace(EmulatedDevice):
    """Gives the same memory for the same size, as a pool does to a loop that lets its results go."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = dict[int, EmulatedMemory]()

    def allocate(self, size: int) -> EmulatedMemory:
        return self.memory.setdefault(size, super().allocate(size))


def test_a_repeated_call_is_replayed() -> None:
    device = OnePlace()
    run = compiled(lambda x, y: scaled(x @ x.T, y), In("n, m"), In("n"), device=device)
    x, y = device.array(numbers(3, 8)), device.array(numbers(3))
    for number in range(5):
        found = run(x, y)
        wanted = scaled(x.numpy() @ x.numpy().T, y.numpy())
        # the product is one of TF32; exp makes relative errors of absolute ones, which are doubled, of two numbers
        off = 4 * product(x.numpy(), x.numpy().T, operands=2.0**-11).error.max()
        np.testing.assert_allclose(found.numpy(), wanted, rtol=np.expm1(off), atol=0)
        assert run.stats.replays == max(0, number - 1)
    assert run.stats.graphs == 1


def test_loops_run_on_the_device() -> None:
    def halves(x: Any) -> Any:
        return lax.while_loop(lambda v: jnp.abs(v).max() > 1, lambda v: v / 2, x)

    run = compiled(halves, In("n"))
    x = numbers(10) * 9
    np.testing.assert_allclose(run(x), halves(x), rtol=1e-6)
    assert on_gpu(run).graphs is None


def test_the_branch_of_the_gpu_is_taken() -> None:
    def function(x: Any) -> Any:
        return lax.platform_dependent(x, cpu=lambda v: v + 1, cuda=lambda v: v + 2)

    spec = jax.ShapeDtypeStruct(export.symbolic_shape("n"), np.float32)
    program = export.export(jax.jit(function), platforms=("cpu", "cuda"))(spec)
    x = numbers(5)
    np.testing.assert_array_equal(compile_for(CudaBackend(EmulatedDevice()), program, OPTIONS)(x), x + 2)
    np.testing.assert_array_equal(compile_for(CpuBackend(), program, OPTIONS)(x), x + 1)


def test_precision_of_products_is_the_users_choice() -> None:
    computed = set[str]()
    for precision in ("default", "highest"):
        run = compiled(lambda x, y: x @ y, In("n, k"), In("k, m"), options={"matmul_precision": precision})
        choices = [step for step in leaves(run.executable.artifact.steps) if isinstance(step, Choice)]
        commands = [c for step in choices for v in step.variants for c in v.commands]
        computed.update(f"{precision} {c.compute}" for c in commands if isinstance(c, Product))
        assert any(isinstance(c, GridLaunch) for c in commands)
        x, y = numbers(32, 40), numbers(40, 24)
        wanted = x.astype(np.float64) @ y
        assert np.abs(run(x, y) - wanted).max() < (1e-5 if precision == "highest" else 1e-2)
    assert computed == {"default tf32", "highest f32"}
