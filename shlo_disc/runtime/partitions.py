"""A program with sizes that become known during a call: its partitions run one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from shlo_disc.artifact import Argument, Artifact, Branches, Callee, Loop
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.runtime.arguments import check_count, check_sizes
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span, bound_memory, span_of
from shlo_disc.runtime.control import BranchRunner, Inner, LoopRunner, PartRunner, Single
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.executable import Executable, Stats
from shlo_disc.runtime.executors import Executor, MeasuringExecutor, TimingExecutor, TracingExecutor
from shlo_disc.runtime.interop import jax_types
from shlo_disc.runtime.steps import Observer
from shlo_disc.runtime.xla.platform import XlaProgram

if TYPE_CHECKING:  # few programs are profiled
    from shlo_disc.runtime.building.cache import Cache
    from shlo_disc.runtime.machine_rates import Processor
    from shlo_disc.runtime.step_times import Note

Runner: TypeAlias = PartRunner | LoopRunner | BranchRunner


class _Stage(NamedTuple):
    """A partition that is ready to run. `stored`: whether a later one takes each result, and whether it is returned."""

    run: Runner
    inputs: tuple[int, ...]
    owned: tuple[int, ...]  # the positions of inputs that nothing needs afterwards
    last: tuple[int, ...]
    stored: tuple[tuple[bool, bool], ...]


class _BoundArguments(NamedTuple):
    """Bound arguments by number: shapes, spans, arrays (None where parts have them), whether some are JAX's."""

    shapes: Mapping[int, tuple[int, ...]]
    given: Mapping[int, Span]
    arrays: Mapping[int, Any]
    of_jax: bool


class PartitionedExecutable:
    """Runs the partitions of one artifact at any sizes. May be called from several threads at once.

    Partitions pass arrays to later ones; the last one that takes an array releases or overwrites it. A size that a
    partition computes is read where the next one binds its arguments: that waits for the device.
    """

    entry = None

    def __init__(self, artifact: Artifact, runners: Sequence[Runner]) -> None:
        self.artifact = artifact
        self.stages = _stages(artifact, runners)
        self.held = _BoundArguments({}, {}, {}, of_jax=False)
        self.seconds: Mapping[str, float] = {}
        self.notes = tuple(dict.fromkeys(note for part in self.parts for note in part.notes))

    @property
    def parts(self) -> tuple[Executable, ...]:
        """All programs that a call may run, in the order of `artifact.parts`."""
        return tuple([part for stage in self.stages for part in stage.run.parts])

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`; see the executables of the partitions."""
        return self.execute(arrays, Executor(), is_inner=False)

    def mirror(
        self, arrays: Sequence[Any], run: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
    ) -> tuple[object, ...]:
        """Run this, or `run`, and return arrays of the library that the arguments came from."""
        return self.parts[0].mirror(arrays, run or self, of_jax=self.held.of_jax)

    def bind(self, given: Mapping[int, Any]) -> PartitionedExecutable:
        """The same program with some arguments bound, by number: in every part that takes them. Nothing is compiled."""
        arguments, part = self.artifact.arguments, self.parts[0]
        arrays = {k: part.prepared(arguments[k], given[k]) for k in sorted(given)}
        shapes = {k: tuple(array.shape) for k, array in arrays.items()}
        check_sizes(self.artifact, shapes)
        rest, stages = dict[int, Any](dict.fromkeys(arrays)), list[_Stage]()
        for stage in self.stages:
            places = {k: arrays[number] for k, number in enumerate(stage.inputs) if number in arrays}
            run, taken = stage.run.bind(places) if places else (stage.run, frozenset[int]())
            rest.update((stage.inputs[k], array) for k, array in places.items() if k not in taken)
            stages.append(stage._replace(run=run))
        rest.update((k, arrays[k]) for k in self.artifact.returned if k in arrays)
        bound = copy(self)
        bound.stages = tuple(stages)
        spans = {k: span_of(array) for k, array in arrays.items()}
        bound.held = _BoundArguments(shapes, spans, rest, bool(jax_types(tuple(given.values()))))
        return bound

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        return self.held.shapes

    @property
    def kept(self) -> tuple[Span, ...]:
        """The spans of the bound arrays that calls read unpacked."""
        rest = [span_of(array) for array in self.held.arrays.values() if array is not None]
        return (*rest, *(span for part in self.parts for span in part.kept))

    @property
    def bound_memory(self) -> BoundMemory:
        """The memory of the bound arguments."""
        return bound_memory(self.artifact, self.held.given, self.kept, self.packed)

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """The packed forms of bound arguments, part by part."""
        return tuple([one for part in self.parts for one in part.packed])

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """Raise `ShloDiscError`: sizes of products become known one partition after the other."""
        del sizes
        raise ShloDiscError("found a program in partitions, expected one whole program on the CPU")

    @property
    def is_on_host(self) -> bool:
        """Whether kernels compute in the host's memory."""
        return self.parts[0].is_on_host

    @property
    def for_xla(self) -> XlaProgram:
        """The first partition, as XLA calls it: its platform is that of all of them."""
        return self.parts[0].for_xla

    @property
    def log(self) -> Log | None:
        """The schedules that calls took, if they are traced."""
        return self.parts[0].log

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step of each partition after it ran, and the buffers of that partition."""
        return self.execute(arrays, TracingExecutor(observe), is_inner=False)

    def timed(self, note: Note, *, apart: bool = False) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """A function that runs the program, and notes the times of the steps of each partition."""
        executor = TimingExecutor(note, apart=apart)
        return lambda arrays: self.execute(arrays, executor, is_inner=False)

    def processor(self, cache: Cache) -> Processor:
        """What it runs on."""
        return self.parts[0].processor(cache)

    def wait(self) -> None:
        """Wait until everything is computed that this thread has called programs for."""
        self.parts[0].wait()

    def copied(self, argument: Argument, value: Any) -> Any:
        """A copy of a caller's array, converted to what this program takes."""
        return self.parts[0].copied(argument, value)

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs, measured in such a call."""
        meter = MeasuringExecutor()
        self.execute(arrays, meter, is_inner=False)
        return meter.peak

    @property
    def stats(self) -> Stats:
        """Calls and compile times; signatures are the most of any partition, graphs and replays those of all."""
        each = [part.stats for part in self.parts]
        return Stats(
            1, each[0].calls, max(one.signatures for one in each), self.seconds, each[0].driver,
            sum(one.graphs for one in each), sum(one.replays for one in each),
        )  # fmt: skip

    def execute(self, arrays: Sequence[Any], executor: Executor, *, is_inner: bool) -> tuple[Any, ...]:
        """Run the program. The results of an inner one are temporaries of the whole call."""
        bound = self.held.arrays
        check_count(self.artifact, arrays, bound)
        brought = iter(arrays)
        count = len(self.artifact.arguments)
        values = [bound[k] if k in bound else next(brought) for k in range(count)]
        for run, taken, owned, last, stored in self.stages:
            inputs = [values[number] for number in taken]
            found = run(inputs, owned, executor)
            del inputs
            for array, (is_taken, is_returned) in zip(found, stored, strict=True):
                values.append(array if is_taken or is_returned else None)
                if is_taken or (is_inner and is_returned):
                    executor.keep(array)
            for number in last:
                if number >= count:
                    executor.release(values[number])
                values[number] = None  # nothing needs it any more
        return tuple([values[number] for number in self.artifact.returned])


Runnable: TypeAlias = Executable | PartitionedExecutable


def _stages(artifact: Artifact, runners: Sequence[Runner]) -> tuple[_Stage, ...]:
    handed = frozenset(number for partition in artifact.partitions for number in partition.last)
    returned, start = frozenset(artifact.returned), len(artifact.arguments)
    found = list[_Stage]()
    for partition, runner in zip(artifact.partitions, runners, strict=True):
        numbers = range(start, start + _count(partition.runs))
        owned = tuple([k for k, number in enumerate(partition.inputs) if number in partition.last])
        stored = tuple([(number in handed, number in returned) for number in numbers])
        found.append(_Stage(runner, partition.inputs, owned, partition.last, stored))
        start = numbers.stop
    return tuple(found)


def _count(runs: Artifact | Loop | Branches) -> int:
    """How many results a partition has; the last one of a loop or of branches holds sizes."""
    match runs:
        case Loop(_, body):
            return len(body.artifact.results)  # sizes take the place of the body's predicate
        case Branches(branches):
            return len(branches[0].artifact.results) + 1
        case Artifact():
            return len(runs.results)
        case _:
            assert_never(runs)


def load(artifact: Artifact, build: Callable[[Artifact], Executable], threads: int = 1) -> Runnable:
    """Build an artifact, or all its parts in `threads` threads, and make it ready to run."""
    if not artifact.partitions:
        return build(artifact)
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  most programs have one part

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(build, artifact.parts))
    took = time.perf_counter() - started
    executable = _assembled(artifact, iter(parts))
    loading = sum(part.seconds["load"] for part in parts)
    executable.seconds = {**parts[0].seconds, "build": took - loading, "load": loading}
    return executable


def _assembled(artifact: Artifact, parts: Iterator[Executable]) -> PartitionedExecutable:
    """Assemble a program from its parts, which come in the order of `artifact.parts`."""

    def inner(callee: Callee) -> Inner:
        return _assembled(callee.artifact, parts) if callee.artifact.partitions else Single(next(parts))

    def runner(runs: Artifact | Loop | Branches) -> Runner:
        match runs:
            case Loop(condition, body):
                return LoopRunner(runs, inner(condition), inner(body))
            case Branches(branches):
                return BranchRunner(runs, tuple(map(inner, branches)), tuple([one.takes for one in branches]))
            case Artifact():
                return PartRunner(next(parts), tuple(range(len(runs.arguments))))
            case _:
                assert_never(runs)

    return PartitionedExecutable(artifact, [runner(partition.runs) for partition in artifact.partitions])
