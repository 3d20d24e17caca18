"""Run programs and single kernels on the emulator."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from shlo_disc.compiled import Compiled
from shlo_disc.host_ir import Choice
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.cuda.launch_table import Chooser, Estimate, cheapest
from shlo_disc.runtime.cuda.table import Functions
from shlo_disc.runtime.steps import leaves
from tests.emulator.device import Array, EmulatedDevice, EmulatedMemory, EmulatorError, Schedule, load_kernels

OPTIONS = CompileOptions(driver="vm", graphs=False, matmul_precision="highest")


def emulate(
    source: Any,
    arrays: Sequence[Array],
    *,
    variant: int | None = None,
    schedule: Schedule = "fifo",
    seed: int = 0,
    index: IndexType | None = None,
) -> tuple[Array, ...]:
    """Compile a program (StableHLO text or an Exported) for a GPU and run it on the emulator.

    `variant` takes the one of that number of every choice's legal variants (the last if there are fewer), instead of
    the one that the launch table finds cheapest.
    """
    device = EmulatedDevice(schedule=schedule, seed=seed)
    run = compiled(source, device, variant=variant, index=index)
    return tuple(np.asarray(result) for result in run.executable(arrays))


def compiled(
    source: Any,
    device: EmulatedDevice,
    *,
    variant: int | None = None,
    index: IndexType | None = None,
    options: CompileOptions = OPTIONS,
) -> Compiled:
    """Compile a program for an emulated device."""
    chooser: Chooser = cheapest if variant is None else partial(numbered, variant)
    return compile_for(CudaBackend(device, chooser, index), source, options)


def variants(source: Any) -> range:
    """The numbers that `variant` of `emulate` may have, so that every variant of every choice comes up."""
    artifact = compiled(source, EmulatedDevice()).executable.artifact
    choices = [step for step in leaves(artifact.steps) if isinstance(step, Choice)]
    return range(max((len(choice.variants) for choice in choices), default=1))


def numbered(variant: int, choice: Choice, legal: Sequence[Estimate]) -> int:
    """Choose the legal variant of a number, or the last."""
    del choice
    return legal[min(variant, len(legal) - 1)].number


def launch(  # noqa: PLR0913 - what a launch takes
    text: str,
    kernel: str,
    blocks: int,
    threads: int,
    args: Sequence[Array | int],
    *,
    shared: int = 0,
    schedule: Schedule = "fifo",
    seed: int = 0,
    index: IndexType = "int32_t",
    seconds: float = 20.0,
) -> list[Array]:
    """Run one kernel of a CUDA text. Arguments are arrays, and numbers as `int64_t`.

    Returns the arrays as the kernel left them. Raises `EmulatorError` with the place in the text, called `kernels.cu`.
    """
    device = EmulatedDevice(schedule=schedule, seed=seed, seconds=seconds)
    handle = load_kernels(text, [kernel], index)[kernel]
    placed = [device.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    values = [ctypes.c_int64(arg if isinstance(arg, int) else arg.pointer) for arg in placed]
    params = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(value) for value in values])
    table = Functions(device.table(products=False))
    if code := table.launch(handle, blocks, 1, 1, threads, 1, 1, shared, table.stream, params, None):
        raise EmulatorError(device.explain_error(code))
    return [array.numpy() for array in placed if not isinstance(array, int)]


def poisoned(shape: Sequence[int], dtype: Any) -> Array:
    """An array that nothing has been written to: bytes 0xFF, which are NaNs in floats."""
    return np.frombuffer(b"\xff" * (int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape).copy()


__all__ = ["EmulatedDevice", "EmulatedMemory", "EmulatorError", "compiled", "emulate", "launch", "poisoned", "variants"]
