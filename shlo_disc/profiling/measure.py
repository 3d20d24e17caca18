"""Measure a profile: calls with a clock between their steps, and calls without, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from shlo_disc.artifact import Artifact
from shlo_disc.call_signature import Signature
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.host_ir import LaunchGroup
from shlo_disc.profiling.profile import Event, MemberProfile, Profile, Seconds, StepProfile
from shlo_disc.profiling.steps import ExecutedStep, StepCost, executed_steps
from shlo_disc.records import record
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.machine_rates import Processor
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.step_times import TimedRun
from shlo_disc.runtime.steps import executed

_Step: TypeAlias = tuple[int, int]  # the number of a part, and of a step that is executed


@record
class ProfiledCall:
    """A call of a program: the program as users call it, the flat one, and the arguments."""

    program: Callable[..., Any]
    executable: Runnable
    signature: Signature | None
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def run(self) -> None:
        """Call the program through its ordinary entry."""
        self.program(*self.args, **self.kwargs)

    def arrays(self) -> Sequence[Any]:
        """The arguments of the flat program, without those that are bound."""
        if self.signature is not None:
            return self.signature.flatten(self.args, dict(self.kwargs))
        return self.args


def profile_call(call: ProfiledCall, described: Artifact, repeat: int, cache_dir: Path | None) -> Profile:
    """The profile of a call. `described`: the program's artifact with its report. Raises `ShloDiscError`."""
    if repeat < 1:
        raise ShloDiscError(f"found repeat={repeat}, expected at least 1")
    executable = call.executable
    runs = list[TimedRun]()
    timed = executable.timed(runs.append)
    fresh, donates = _copies_of_donated(executable, call.arrays()), bool(executable.artifact.donations)
    calls, whole = list[list[TimedRun]](), list[float]()
    for number in range(-1, repeat):  # turn -1 makes plans, wakes threads, and finds out how many steps there are
        given = fresh()
        executable.wait()
        started = time.perf_counter()
        executable.mirror(given) if donates else call.run()
        executable.wait()
        took = time.perf_counter() - started
        executable.mirror(fresh(), timed)
        if number >= 0:
            calls.append(list(runs))
            whole.append(took)
        runs.clear()
    if any(run.lost for one in calls for run in one):
        raise ShloDiscError(
            "found a program that runs more steps in some calls than in others, with the same arguments"
        )
    alone = _alone(executable, fresh, repeat)
    return _Joined(executable.artifact, described, calls, alone).profile(
        _seconds(whole), executable.processor(open_cache(cache_dir))
    )


def _copies_of_donated(executable: Runnable, arrays: Sequence[Any]) -> Callable[[], list[Any]]:
    """A function that gives the arguments of a call, with fresh copies of those that it may overwrite."""
    places = [k for k in range(len(executable.artifact.arguments)) if k not in executable.bound]
    donated = {one.argument for one in executable.artifact.donations}
    arguments = executable.artifact.arguments

    def fresh() -> list[Any]:
        pairs = list(zip(places, arrays, strict=True))
        return [executable.copied(arguments[k], array) if k in donated else array for k, array in pairs]

    return fresh


def _alone(executable: Runnable, fresh: Callable[[], list[Any]], repeat: int) -> Mapping[_Step, float]:
    """The least seconds of each launch of a group when it runs alone, by the number of the part and of the leaf."""
    parts = executable.artifact.parts
    if not any(isinstance(step, LaunchGroup) for part in parts for step in executed(part.steps)):
        return {}
    numbers = {id(part): k for k, part in enumerate(parts)}
    runs, found = list[TimedRun](), dict[_Step, float]()
    timed = executable.timed(runs.append, apart=True)
    for _ in range(repeat + 1):
        executable.mirror(fresh(), timed)
        now = dict[_Step, float]()
        for run in runs:
            for one in run.times:
                key = numbers[id(run.artifact)], one.step
                now[key] = now.get(key, 0.0) + (one.ended - one.began) * 1e-9
        found = {key: min(seconds, found.get(key, seconds)) for key, seconds in now.items()}
        runs.clear()
    return found


class _Joined:
    """The runs of several calls, joined by step, and what is known of each step."""

    def __init__(
        self,
        artifact: Artifact,
        described: Artifact,
        calls: Sequence[Sequence[TimedRun]],
        alone: Mapping[_Step, float],
    ) -> None:
        self._artifact, self._calls, self._alone = artifact, calls, alone
        self._parts = {id(part): k for k, part in enumerate(artifact.parts)}
        self._names = [name for name, _ in artifact.named_parts]
        self._steps = [tuple(executed_steps(part)) for part in described.parts]

    def profile(self, whole: Seconds, processor: Processor) -> Profile:
        times = [self._times(call) for call in self._calls]
        best = min(range(len(times)), key=lambda k: sum(times[k].values()))
        order = sorted({step for one in times for step in one})
        positions = {step: k for k, step in enumerate(order)}
        first = next((run for call in self._calls for run in call), None)
        return Profile(
            program=self._artifact.name,
            device=self._artifact.device,
            machine=processor.name,
            threads=1 if first is None else first.threads,
            repeat=len(times),
            sizes=self._sizes(),
            steps=tuple([self._step(step, [one.get(step, 0.0) for one in times]) for step in order]),
            whole=whole,
            events=tuple(self._events(self._calls[best], positions)),
            rates=processor.rates,
        )

    def _each(self, call: Sequence[TimedRun]) -> Iterator[tuple[_Step, TimedRun, float, float]]:
        for run in call:
            part = self._parts[id(run.artifact)]
            for one in run.times:
                yield (part, one.step), run, one.began * 1e-9, one.ended * 1e-9

    def _times(self, call: Sequence[TimedRun]) -> dict[_Step, float]:
        found = dict[_Step, float]()
        for step, _, began, ended in self._each(call):
            found[step] = found.get(step, 0.0) + ended - began
        return found

    def _step(self, key: _Step, seconds: Sequence[float]) -> StepProfile:
        part, number = key
        step: ExecutedStep = self._steps[part][number]
        runs = [run for found, run, _, _ in self._each(self._calls[0]) if found == key]
        costs = [step.cost(run.symbols) for run in runs]
        total = StepCost()
        for cost in costs:
            total = total.plus(cost)
        return StepProfile(
            part=self._names[part],
            number=step.number,
            kind=step.kind,
            name=step.name,
            groups=step.groups,
            lines=step.lines,
            runs=len(runs),
            seconds=_seconds(seconds),
            bytes_read=total.read,
            bytes_written=total.written,
            flops=total.flops,
            precision=step.precision,
            threads=max((step.threads(run) for run in runs), default=1),
            selections=step.selections(runs[0]) if runs else (),
            members=tuple(self._members(part, step)),
        )

    def _members(self, part: int, step: ExecutedStep) -> Iterator[MemberProfile]:
        if isinstance(step.step, LaunchGroup):
            for k, (launch, group) in enumerate(zip(step.step.launches, step.member_groups, strict=True)):
                alone = self._alone.get((part, step.leaf + k), 0.0)
                yield MemberProfile(launch.kernel, group, step.lines_of(group), alone)

    def _events(self, call: Sequence[TimedRun], positions: Mapping[_Step, int]) -> Iterator[Event]:
        every = list(self._each(call))
        start = min((began for _, _, began, _ in every), default=0.0)
        for step, _, began, ended in every:
            yield Event(positions[step], began - start, ended - start)

    def _sizes(self) -> Mapping[str, int]:
        """The independent sizes, as far as steps know them; else all of the arguments."""
        known = {name: value for run in self._calls[0] for name, value in run.symbols.items()}
        names = self._artifact.free
        if not known.keys() >= set(names):
            names = self._artifact.symbols[: self._artifact.given]
        return {name: known[name] for name in names if name in known}


def _seconds(values: Sequence[float]) -> Seconds:
    return Seconds(min(values), statistics.median(values))
