"""How the corpus runner drives the CUDA target: `run_corpus.py --adapter tests/emulator/adapter.py`.

The first shape of a case runs the variants that the launch table picks, in order; every further shape runs the next
variant of each choice, and another schedule.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from shlo_disc.host_ir import Choice
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.launch_table import Estimate, cheapest
from tests.emulator.device import Array, EmulatedDevice, Schedule
from tests.emulator.run import OPTIONS

_SCHEDULES: Sequence[Schedule] = ("fifo", "lifo", "random", "random")


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it."""
    calls = count()
    call = 0

    def chooser(choice: Choice, legal: Sequence[Estimate]) -> int:
        return cheapest(choice, legal) if call == 0 else legal[call % len(legal)].number

    device = EmulatedDevice()
    program = compile_for(CudaBackend(device, chooser), text, OPTIONS)

    def run(inputs: Sequence[Array]) -> list[Array]:
        nonlocal call
        call = next(calls)
        device.set_schedule(_SCHEDULES[call % len(_SCHEDULES)], seed=call)
        return list(program(*inputs))

    return run
