"""The steps of a program in textual order, and the lifetimes of its buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Case, Choice, Copy, GridLaunch, HostCall, Launch, LaunchGroup, Slot, Step, While
from shlo_disc.records import record


@record
class StepPlace:
    """A step, and its nesting depth in loops and branches. It ends before the step number `end`."""

    step: Step
    depth: int
    end: int


def places(artifact: Artifact) -> tuple[StepPlace, ...]:
    """Every step by its number: a loop precedes its condition and body, a case its branches."""
    return tuple(_walk(artifact.steps, 0, 0))


def _walk(steps: Sequence[Step], depth: int, number: int) -> Iterator[StepPlace]:
    for step in steps:
        inside = tuple(_walk(_inner(step), depth + 1, number + 1))
        number += 1 + len(inside)
        yield StepPlace(step, depth, number)
        yield from inside


def _inner(step: Step) -> Sequence[Step]:
    match step:
        case While(condition, _, body):
            return (*condition, *body)
        case Case(_, _, branches):
            return [step for branch in branches for step in branch]
        case LaunchGroup():
            return step.launches
        case Launch() | Choice() | HostCall() | Copy():
            return ()
        case _:
            assert_never(step)


def lifetimes(artifact: Artifact) -> Mapping[Slot, tuple[int, int]]:
    """The first and the last step that uses each buffer; buffers that are never used are left out."""
    moments = tuple(_moments(artifact.steps, 0))
    return {
        slot: (moments[buffer.first], moments[buffer.last])
        for slot, buffer in enumerate(artifact.buffers)
        if buffer.first <= buffer.last and buffer.last < len(moments)
    }


def _moments(steps: Sequence[Step], number: int) -> Iterator[int]:
    """The step of each moment (see `Buffer`): a loop's flag is read after the last step of its condition."""
    for step in steps:
        match step:
            case While(condition, _, body):
                tested = number + count(condition)
                yield from _moments(condition, number + 1)
                yield tested
                yield from _moments(body, tested + 1)
            case Case():
                yield number
                yield from _moments(_inner(step), number + 1)
            case LaunchGroup():
                yield from _moments(step.launches, number + 1)
            case Launch() | Choice() | HostCall() | Copy():
                yield number
            case _:
                assert_never(step)
        number += count([step])


def count(steps: Sequence[Step]) -> int:
    """The number of steps, including those in loops and branches."""
    return sum(1 + count(_inner(step)) for step in steps)


def kernel_names(step: Step) -> tuple[str, ...]:
    """The kernels that a step itself may launch, each once."""
    match step:
        case Launch(kernel=kernel):
            return (kernel,)
        case Choice(_, variants):
            commands = [command for variant in variants for command in variant.commands]
            return tuple(dict.fromkeys(c.kernel for c in commands if isinstance(c, GridLaunch)))
        case HostCall() | Copy() | While() | Case() | LaunchGroup():
            return ()
        case _:
            assert_never(step)
