"""Run a host program on the CPU, and note when its steps began and ended.

In the interpreter of calls, which `device/call/step_times.h` compiles once more with a clock; or, for the launches of
groups, which it runs by rows, one launch after the other in the VM.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode import encode
from shlo_disc.bytecode.instructions import StepCode
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.host_ir import Slot, Step
from shlo_disc.runtime.cpu.vm import Vm
from shlo_disc.runtime.driver import CallPlan, HostDriver
from shlo_disc.runtime.entry import NativeProgram
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import LoadedProgram, Pointers, Runtime
from shlo_disc.runtime.packing import Constants
from shlo_disc.runtime.step_times import Note, StepTime, TimedRun
from shlo_disc.runtime.steps import leaves

_TIMED = (StepCode.LAUNCH, StepCode.GROUP, StepCode.COPY, StepCode.HOST_CALL)
_ROOM, MOST = 1 << 10, 1 << 20  # steps of one call that are noted: at first, and at most


class _StepTime(ctypes.Structure):
    _fields_ = [("position", ctypes.c_int64), ("began", ctypes.c_int64), ("ended", ctypes.c_int64)]


class _StepTimes(ctypes.Structure):
    _fields_ = [("times", ctypes.POINTER(_StepTime)), ("room", ctypes.c_int64), ("count", ctypes.c_int64)]


class TimedDriver(HostDriver):
    """The interpreter of bytecode that calls use, compiled once more with a clock. One thread at a time may run it."""

    def __init__(
        self, artifact: Artifact, program: LoadedProgram, runtime: Runtime, constants: Constants, note: Note
    ) -> None:
        """`note` gets every run. Raises `ShloDiscError` if the runtime of a loaded program has no clock."""
        super().__init__(artifact, program, runtime, encode(artifact), constants)
        self.entry_point: NativeProgram | None = None  # every call passes through `run`
        self._note, self._threads = note, runtime.threads
        timed = [one.position for one in self._loaded.code.instructions() if one.code in _TIMED]
        self._steps = {position: number for number, position in enumerate(timed)}
        self._found = _StepTimes()
        self._make_room(_ROOM)
        if (run := runtime.run_timed) is None:
            raise ShloDiscError(
                "found the runtime of a program that an earlier version saved, which cannot time steps\n"
                "  help: load it in another process with load(..., code='verify'), or save it by this version"
            )
        self._timed = run
        self._run = self._run_timed

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """As `HostDriver.run`, and note the times. Raises `ShloDiscError` if more steps ran than can be noted."""
        super().run(arguments, results, plan, arena, owner)
        count = min(self._found.count, self._found.room)
        times = [self._times[k] for k in range(count)]
        noted = tuple([StepTime(self._steps[one.position], one.began, one.ended) for one in times])
        symbols = dict(zip(self._artifact.symbols, plan.registers, strict=False))
        self._note(TimedRun(self._artifact, symbols, noted, self._found.count - count, self._threads))
        if self._found.count > MOST:
            raise ShloDiscError(f"found {self._found.count} steps in one call, expected at most {MOST} to profile")
        if self._found.count > count:
            self._make_room(self._found.count)

    def _run_timed(self, *given: object) -> int:
        return self._timed(*given, ctypes.byref(self._found))

    def _make_room(self, steps: int) -> None:
        self._times = (_StepTime * steps)()
        self._found.times, self._found.room = ctypes.cast(self._times, ctypes.POINTER(_StepTime)), steps


class ApartVm(Vm):
    """The VM, in which the launches of a group run one after the other; it notes the times of launches alone."""

    def __init__(self, artifact: Artifact, program: LoadedProgram, runtime: Runtime, note: Note) -> None:
        """`note` gets every run; numbers of steps are those among `leaves`."""
        super().__init__(artifact, program, runtime, self._observed)
        self._numbers = {id(step): number for number, step in enumerate(leaves(artifact.steps))}
        self._note, self._threads = note, runtime.threads
        self._launched = self._parallel
        self._parallel = self._timed
        self._last: tuple[int, int] | None = None
        self._times = list[StepTime]()

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """As `Vm.run`, and note the times."""
        self._times.clear()
        super().run(arguments, results, plan, arena, owner)
        symbols = dict(zip(self._artifact.symbols, plan.registers, strict=False))
        self._note(TimedRun(self._artifact, symbols, tuple(self._times), 0, self._threads))

    def _timed(self, *given: object) -> int:
        began = time.perf_counter_ns()
        done = self._launched(*given)
        self._last = began, time.perf_counter_ns()
        return done

    def _observed(self, step: Step, buffers: Mapping[Slot, Array]) -> None:
        del buffers
        if self._last is not None:
            self._times.append(StepTime(self._numbers[id(step)], *self._last))
            self._last = None
