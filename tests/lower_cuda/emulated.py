# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Every variant of a program's kernels on the emulator, against `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from shlo_disc.host_ir import Choice
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.cuda.launch_table import Estimate
from tests.emulator.device import Array, EmulatedDevice, Schedule
from tests.emulator.recording import Recording, record
from tests.emulator.run import compiled, variants
from tests.pipeline.exports import In, check, expected, exported

Sizes = Mapping[str, int]

# Orders in which an emulated block's threads run; the last call has 64-bit indices, and arguments that are not aligned.
RUNS: tuple[tuple[Schedule, int, IndexType | None, bool], ...] = (
    ("fifo", 0, None, False),
    ("lifo", 0, None, False),
    ("random", 1, None, False),
    ("random", 2, "int64_t", True),
)


def verify(
    function: Callable[..., Any],
    inputs: Sequence[In],
    sizes: Sequence[Sizes],
    *,
    scale: float = 1.0,
    inside: float = 0.0,
    wide: bool = False,
) -> None:
    """Run every variant at all `sizes`, in several orders; `scale` and `inside` are those of `check`."""
    with jax.enable_x64(wide):
        source = exported(function, inputs)
        cases = list(expected(function, inputs, [_arrays(inputs, size) for size in sizes]))
        kept = source.module_kept_var_idx
        for number in variants(source):
            for schedule, seed, index, shifted in RUNS:
                device = EmulatedDevice(schedule=schedule, seed=seed)
                run = compiled(source, device, variant=number, index=index).executable
                for size, (arrays, wanted) in zip(sizes, cases, strict=True):
                    placed = [device.array(a, a.itemsize if shifted else 0) for a in (arrays[k] for k in kept)]
                    found = [np.asarray(result) for result in run(placed)]
                    check(found, wanted, f"{size}, variant {number}, {schedule}, {index}", scale, inside=inside)


def _arrays(inputs: Sequence[In], sizes: Sizes) -> list[Array]:
    rng = np.random.default_rng(len(sizes))
    return [i.array(rng, sizes) for i in inputs]


def recordings(function: Callable[..., Any], inputs: Sequence[In], sizes: Sizes) -> dict[str, Recording]:
    """The launches of every variant of a program with one kernel, by the variant's label."""
    source = exported(function, inputs)
    program = compiled(source, EmulatedDevice())
    arrays = _arrays(inputs, sizes)
    found = dict[str, Recording]()
    for number in variants(source):
        recording = record(program, arrays, chooser=partial(_take, number))
        found[recording.launches[0].label] = recording
    return found


def _take(number: int, choice: Choice, legal: Sequence[Estimate]) -> int:
    del choice
    return legal[min(number, len(legal) - 1)].number
