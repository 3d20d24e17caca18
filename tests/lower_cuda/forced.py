"""Programs on the emulator with the variant of one label wherever it is legal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.host_ir import Choice
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.cuda.launch_table import Estimate, cheapest
from tests.emulator.device import EmulatedDevice, Schedule
from tests.emulator.run import OPTIONS

Array = NDArray[Any]


def forced(
    source: Any, label: str, *, schedule: Schedule = "fifo", seed: int = 0, index: IndexType | None = None
) -> Callable[[Sequence[Array]], tuple[list[Array], bool]]:
    """A program that answers with its results, and whether a variant called `label` ran."""
    taken, known = list[str](), dict[object, bool]()  # a choice is made once per signature

    def choose(choice: Choice, legal: Sequence[Estimate]) -> int:
        for estimate in legal:
            if choice.variants[estimate.number].label == label:
                taken.append(label)
                return estimate.number
        return cheapest(choice, legal)

    device = EmulatedDevice(schedule=schedule, seed=seed)
    program = compile_for(CudaBackend(device, choose, index), source, OPTIONS)

    def run(arrays: Sequence[Array]) -> tuple[list[Array], bool]:
        taken.clear()
        results = [np.asarray(x) for x in program.executable(arrays)]
        return results, known.setdefault(tuple(x.shape for x in arrays), bool(taken))

    return run
