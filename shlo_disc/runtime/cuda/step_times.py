"""Run a host program on a GPU step by step, with an event before and after each."""

from __future__ import annotations

from typing import NamedTuple

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Choice, HostCall
from shlo_disc.runtime.cuda.device import Device
from shlo_disc.runtime.cuda.driver import GpuCall, GpuVm
from shlo_disc.runtime.cuda.kernel_sets import ALIGNED
from shlo_disc.runtime.cuda.launch_table import LaunchTable, cheapest
from shlo_disc.runtime.cuda.table import Functions
from shlo_disc.runtime.step_times import Note, StepTime, TimedRun
from shlo_disc.runtime.steps import Buffers, Leaf, executed


class _Marks(NamedTuple):
    step: int
    began: object
    ended: object


class TimedGpuVm(GpuVm):
    """The VM; the marks of a run are read when all of it is queued, so that no step waits for the host.

    `note` gets every run. Each step is a range for NVIDIA's profilers, with the name of its kernels.
    """

    def __init__(self, artifact: Artifact, device: Device, note: Note) -> None:
        super().__init__(artifact, device)
        self._device, self._note = device, note
        self._numbers = {id(step): number for number, step in enumerate(executed(artifact.steps))}
        self._marks = list[_Marks]()

    def run(self, table: int, call: GpuCall) -> None:
        """Queue all steps, wait for them, and note their times."""
        self._marks.clear()
        self._device.occupy(len(self._numbers))
        start = self._device.mark()
        super().run(table, call)
        since = self._device.seconds
        times = [
            StepTime(one.step, round(since(start, one.began) * 1e9), round(since(start, one.ended) * 1e9))
            for one in self._marks
        ]
        artifact = self._artifact
        symbols = dict(zip(artifact.symbols, call.symbols, strict=False))
        values = [symbols[name] for name in artifact.symbols]
        places = [call.places.arguments[k] or 0 for k in range(len(artifact.arguments))]
        misaligned = frozenset(k for k, address in enumerate(places) if address % ALIGNED)
        choices = self._table(call).traces(values, misaligned, call.choices)
        self._note(TimedRun(artifact, symbols, tuple(times), 0, 1, choices))

    def execute(self, call: GpuCall, step: Leaf, buffers: Buffers, functions: Functions) -> None:
        """Queue a step between two marks."""
        with self._device.named(_name(step)):
            began = self._device.mark()
            super().execute(call, step, buffers, functions)
            self._marks.append(_Marks(self._numbers[id(step)], began, self._device.mark()))

    def _table(self, call: GpuCall) -> LaunchTable:
        device = self._device
        return LaunchTable(self._artifact, device.limits, call.kernels, cheapest, has_cublas=device.has_cublas)


def _name(step: Leaf) -> str:
    match step:
        case HostCall(callee=callee):
            return callee
        case Choice(number, variants):
            return f"choice {number}: {variants[0].label}"
        case _:
            return type(step).__name__.lower()
