"""Find the first op with a wrong result: compare the VM's buffers with the reference after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Artifact
from shlo_disc.check.comparing import Difference, Tolerance, compare
from shlo_disc.check.rounding import perturbed_runs
from shlo_disc.check.running import BuildConfig, program_of
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.dynamic_ops.reference import Watch, interpret
from shlo_disc.host_ir import Copy, Launch, Slot, Step
from shlo_disc.ir.core import Module
from shlo_disc.passes import PASSES
from shlo_disc.records import record

Array = NDArray[Any]
_RUNS = 32


@record
class WrongValue:
    """The first wrong value in memory: the kernel that wrote it, its op, and its place in the program."""

    kernel: str
    value: str
    op: str
    where: str
    line: str
    difference: Difference

    def __str__(self) -> str:
        return f"{self.where}: {self.op} ({self.value}), written by {self.kernel}: {self.difference}\n{self.line}"


class _TensorValues:
    """The values of all tensors, by name, in the reference and in runs with other rounding."""

    def __init__(self, program: Program, inputs: Sequence[Array]) -> None:
        self.expected = dict[str, Array]()
        self.others = [dict[str, Array]() for _ in range(_RUNS)]
        interpret(program, inputs, _recorder(self.expected))
        perturbed_runs(program, inputs, range(_RUNS), "compiled", lambda number: _recorder(self.others[number]))

    def difference(self, name: str, found: Array) -> Difference | None:
        """The difference of a tensor from the reference; None if there is none, or nothing to compare with."""
        expected = self.expected.get(name)
        if expected is None or expected.size != found.size or expected.dtype != found.dtype:
            return None
        runs = [run[name] for run in self.others if name in run and run[name].shape == expected.shape]
        found = found.reshape(expected.shape)
        return compare(
            [found], [expected], lambda _result, numbers: runs[numbers.start : numbers.stop], Tolerance(), frozenset()
        )


def _recorder(values: dict[str, Array]) -> Watch:
    def record(op: Op[object], results: Arrays) -> None:
        values.update((tensor.name, np.asarray(x)) for tensor, x in zip(op.results, results, strict=True))

    return record


def first_wrong(module: Module, inputs: Sequence[Array], config: BuildConfig) -> WrongValue | None:
    """Find the first step of the compiled program that stores a wrong value; None if none is found.

    Values that kernels do not store are not compared, nor are those in loops and branches.
    """
    try:
        program = program_of(module)
        for step in PASSES:
            program = step.run(program)
        values = _TensorValues(program, inputs)
        executable = config.executable(module, "vm")
    except (ShloDiscError, ArithmeticError, ValueError, TypeError):
        return None
    observer = _Observer(program, executable.artifact, values)
    executable.trace([x.copy() for x in inputs], observer.observe)
    return observer.found


class _Observer:
    """Compares what each top-level step of the program wrote."""

    def __init__(self, program: Program, artifact: Artifact, values: _TensorValues) -> None:
        self.found: WrongValue | None = None
        self._ops = {tensor.name: op for op in program.body.walk() for tensor in op.results}
        self._values = values
        runs = [partition.runs for partition in artifact.partitions] or [artifact]
        self._outer = {id(step): part for part in runs if isinstance(part, Artifact) for step in part.steps}

    def observe(self, step: Step, buffers: Mapping[Slot, Array]) -> None:
        """Compare the buffers that a step touched."""
        if self.found is not None or id(step) not in self._outer:
            return
        part = self._outer[id(step)]
        for slot in _left(part, _slots(step)):
            name = part.buffers[slot].label.partition(":")[0].removeprefix("%")
            op = self._ops.get(name)
            if op is not None and op.bodies and isinstance(step, Copy):
                continue  # the initial value of a loop
            difference = None if op is None else self._values.difference(name, np.array(buffers[slot]))
            if op is not None and difference is not None:
                span = op.span
                self.found = WrongValue(_name(step), f"%{name}", op.name, span.where(), span.excerpt(), difference)
                return


def _left(part: Artifact, slots: Sequence[Slot]) -> list[Slot]:
    """Of buffers that share memory, the one that is live last: a step that writes in place leaves no other."""
    last = dict[Slot, Slot]()
    for slot in slots:
        memory = part.buffers[slot].memory
        place = slot if memory is None else memory
        last[place] = max(last.get(place, slot), slot, key=lambda one: part.buffers[one].first)
    return list(last.values())


def _slots(step: Step) -> tuple[Slot, ...]:
    match step:
        case Launch():
            return step.buffers
        case Copy(source, target):
            return source, target
        case _:  # steps in loops and branches are not compared
            return ()


def _name(step: Step) -> str:
    return step.kernel if isinstance(step, Launch) else "a copy"
