"""Loops and branches whose bodies are programs of their own: shapes may change from iteration to iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Protocol, assert_never

import numpy as np

from shlo_disc.artifact import Argument, Artifact, Branches, Callee, Loop
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.records import record
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.executors import Executor


class Inner(Protocol):
    """A program that a loop or a branch calls."""

    @property
    def parts(self) -> tuple[Executable, ...]:
        """The programs that it runs."""
        ...

    def execute(self, arrays: Sequence[Any], executor: Executor, *, is_inner: bool) -> tuple[Any, ...]:
        """Run it; the results of an inner program are kept (`Executor.keep`)."""
        ...

    def bind(self, given: Mapping[int, Any]) -> Inner:
        """The same with some of its arguments bound, by number."""
        ...


class Single:
    """A program without partitions that a loop or a branch calls."""

    def __init__(self, part: Executable) -> None:
        self.parts = (part,)

    def bind(self, given: Mapping[int, Any]) -> Single:
        """The same with some of its arguments bound, by number."""
        return Single(self.parts[0].bind(given))

    def execute(self, arrays: Sequence[Any], executor: Executor, *, is_inner: bool) -> tuple[Any, ...]:
        """Run it; the results of an inner program are kept."""
        found = executor.run(self.parts[0], arrays)
        for array in found if is_inner else ():
            executor.keep(array)
        return found


@record
class PartRunner:
    """Runs a partition that is one program. `takes`: the numbers of the inputs that are not bound."""

    part: Executable
    takes: tuple[int, ...]

    def bind(self, given: Mapping[int, Any]) -> tuple[PartRunner, frozenset[int]]:
        """The same with some inputs bound, and the numbers of those that it no longer takes."""
        takes = tuple([k for k in self.takes if k not in given])
        return PartRunner(self.part.bind(given), takes), frozenset(given)

    @property
    def parts(self) -> tuple[Executable, ...]:
        """The program."""
        return (self.part,)

    def __call__(self, inputs: Sequence[Any], owned: Sequence[int], executor: Executor) -> tuple[Any, ...]:
        """The results of the program."""
        del owned
        return executor.run(self.part, [inputs[k] for k in self.takes])


class LoopRunner:
    """Runs a loop. Carried values stay on the device; the host waits for the predicate."""

    def __init__(self, loop: Loop, condition: Inner, body: Inner) -> None:
        self.loop, self.condition, self.body = loop, condition, body
        self.takes = (loop.condition.takes, loop.body.takes)
        self._carried = len(loop.body.artifact.results) - 1
        read = read_of(loop.condition) | read_of(loop.body)
        given = dict[int, Argument]()
        for callee in (loop.condition, loop.body):
            given.update(zip(callee.takes, callee.artifact.arguments, strict=True))
        self.captured = [(k, argument, k in read) for k, argument in given.items() if k >= self._carried]
        self._overwritten = [k for k in overwritten(loop.body.artifact) if k < self._carried]

    def bind(self, given: Mapping[int, Any]) -> tuple[LoopRunner, frozenset[int]]:
        """The same with loop-invariant inputs bound, and the numbers of these."""
        captured = {k: value for k, value in given.items() if k >= self._carried}
        bound = copy(self)
        bound.condition = _bind_taken(self.condition, self.loop.condition.takes, captured)
        bound.body = _bind_taken(self.body, self.loop.body.takes, captured)
        bound.takes = tuple([tuple([k for k in takes if k not in captured]) for takes in self.takes])
        bound.captured = [one for one in self.captured if one[0] not in captured]
        return bound, frozenset(captured)

    @property
    def parts(self) -> tuple[Executable, ...]:
        """The programs that it runs."""
        return (*self.condition.parts, *self.body.parts)

    def __call__(self, inputs: Sequence[Any], owned: Sequence[int], executor: Executor) -> tuple[Any, ...]:
        """The carried values after the last iteration, in fresh memory or that of inputs numbered `owned`.

        An array that one iteration returns is overwritten in the next one where that saves memory.
        """
        part, body, arguments = self.body.parts[0], self.body, self.loop.body.artifact.arguments
        count, (asked, takes) = self._carried, self.takes
        values = list(inputs)
        for k, argument, is_read in self.captured:  # loop-invariant: converted once
            values[k] = part.settled(argument, values[k], is_read=is_read)
        shared = Counter(map(id, inputs))
        own = [k in owned and shared[id(inputs[k])] == 1 for k in range(count)]
        iteration, asks = 0, "the condition of "
        try:
            (holds,) = self.condition.execute([values[k] for k in asked], executor, is_inner=True)
            executor.release(holds)
            while part.read(holds):
                if not iteration:
                    asks = ""
                    for k in self._overwritten:
                        if not own[k]:
                            values[k] = part.copied(arguments[k], values[k])
                *after, holds = body.execute([values[k] for k in takes], executor, is_inner=True)
                for array in (holds, *values[:count]) if iteration else (holds,):
                    executor.release(array)
                values[:count] = after
                iteration += 1
        except RuntimeShapeError as error:
            where = f"{asks}iteration {iteration + 1} of the loop at {self.loop.place}"
            raise RuntimeShapeError(f"{error}\n  in {where}") from error
        carried = values[:count]
        if not iteration:
            carried = [x if own[k] else part.copied(arguments[k], x) for k, x in enumerate(carried)]
        for array in carried if iteration else ():
            executor.release(array)  # the caller keeps them if they are needed
        return (*carried, _sizes(carried, self.loop.sized))


@record
class BranchRunner:
    """Runs one of several programs. The host waits for the index. `takes`: the inputs of each."""

    branches: Branches
    programs: tuple[Inner, ...]
    takes: tuple[tuple[int, ...], ...]

    def bind(self, given: Mapping[int, Any]) -> tuple[BranchRunner, frozenset[int]]:
        """The same with inputs bound, except the index, and the numbers of these."""
        bound = {k: value for k, value in given.items() if k}
        pairs = zip(self.programs, self.branches.branches, strict=True)
        programs = tuple([_bind_taken(program, branch.takes, bound) for program, branch in pairs])
        takes = tuple([tuple([k for k in takes if k not in bound]) for takes in self.takes])
        return BranchRunner(self.branches, programs, takes), frozenset(bound)

    @property
    def parts(self) -> tuple[Executable, ...]:
        """The programs that it may run."""
        return tuple([part for program in self.programs for part in program.parts])

    def __call__(self, inputs: Sequence[Any], owned: Sequence[int], executor: Executor) -> tuple[Any, ...]:
        """The results of the branch that runs; inputs of other branches are not read."""
        del owned
        last = len(self.programs) - 1
        index = self.parts[0].read(inputs[0])
        number = index if 0 <= index <= last else last
        branch = self.branches.branches[number]
        try:
            found = self.programs[number].execute([inputs[k] for k in self.takes[number]], executor, is_inner=True)
        except RuntimeShapeError as error:
            raise RuntimeShapeError(f"{error}\n  in {branch.name}") from error
        for array in found:
            executor.release(array)  # the caller keeps them if they are needed
        return (*found, _sizes(found, self.branches.sized))


def _bind_taken(program: Inner, takes: Sequence[int], given: Mapping[int, Any]) -> Inner:
    """Bind those of a partition's inputs that a program takes."""
    return program.bind({place: given[k] for place, k in enumerate(takes) if k in given})


def overwritten(artifact: Artifact) -> frozenset[int]:
    """The numbers of the arguments that a call of a loop's body may write to."""
    own = range(len(artifact.arguments))
    last = [number for partition in artifact.partitions for number in partition.last if number in own]
    return frozenset([*last, *(donation.argument for donation in artifact.donations)])


def read_of(callee: Callee) -> frozenset[int]:
    """The numbers of those inputs of a partition from whose elements a callee reads sizes."""
    return frozenset(callee.takes[k] for k in _arguments_read(callee.artifact))


def _arguments_read(artifact: Artifact) -> frozenset[int]:
    found = {size.argument for size in artifact.unbacked_sizes}
    for partition in artifact.partitions:
        match partition.runs:
            case Loop(condition, body):
                read = read_of(condition) | read_of(body)
            case Branches(branches):
                read = frozenset[int]().union(*map(read_of, branches))
            case Artifact() as inner:
                read = _arguments_read(inner)
            case _:
                assert_never(partition.runs)
        found.update(partition.inputs[k] for k in read)
    return frozenset(found.intersection(range(len(artifact.arguments))))


def _sizes(results: Sequence[Any], sized: Sequence[tuple[int, int]]) -> Any:
    return np.array([results[k].shape[axis] for k, axis in sized], np.int64)
