"""The steps of a program in the order of its text, and how long its buffers live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from shlo_disc.artifact import (
    Artifact,
    Case,
    Choice,
    Command,
    Copy,
    Fill,
    GridLaunch,
    Launch,
    Product,
    Slot,
    Step,
    While,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A step, and how many loops and branches it is inside of. It ends before the step number `end`."""

    step: Step
    depth: int
    end: int


def places(artifact: Artifact) -> tuple[Place, ...]:
    """Every step by its number: a loop stands before its condition and body, a case before its branches."""
    return tuple(_walk(artifact.steps, 0, 0))


def _walk(steps: Sequence[Step], depth: int, number: int) -> Iterator[Place]:
    for step in steps:
        inside = tuple(_walk(_inner(step), depth + 1, number + 1))
        number += 1 + len(inside)
        yield Place(step, depth, number)
        yield from inside


def _inner(step: Step) -> Sequence[Step]:
    match step:
        case While(condition, _, body):
            return (*condition, *body)
        case Case(_, _, branches):
            return [step for branch in branches for step in branch]
        case Launch() | Choice() | Copy():
            return ()
        case _:
            assert_never(step)


def touched(step: Step) -> set[Slot]:
    """The buffers that a step itself reads or writes, not those of steps inside of it."""
    match step:
        case Launch():
            return set(step.buffers)
        case Choice():
            return {slot for variant in step.variants for command in variant.commands for slot in _slots(command)}
        case Copy(source, target):
            return {source, target}
        case While(_, flag, _):
            return {flag}
        case Case(index, _, _):
            return {index}
        case _:
            assert_never(step)


def _slots(command: Command) -> tuple[Slot, ...]:
    match command:
        case GridLaunch():
            return command.buffers
        case Product():
            return command.a, command.b, command.c
        case Copy(source, target):
            return source, target
        case Fill(target, _):
            return (target,)
        case _:
            assert_never(command)


def lifetimes(steps: Sequence[Place]) -> Mapping[Slot, tuple[int, int]]:
    """The first and the last step that needs each buffer.

    What a loop uses and something outside of it uses too lives as long as the loop.
    """
    found = dict[Slot, tuple[int, int]]()
    for number, place in enumerate(steps):
        for slot in touched(place.step):
            first, _ = found.get(slot, (number, number))
            found[slot] = first, number
    loops = [(k, place.end - 1) for k, place in enumerate(steps) if isinstance(place.step, While)]
    for start, end in reversed(loops):  # inner loops first
        for slot, (first, last) in found.items():
            meets = first <= end and last >= start
            if meets and not (start <= first and last <= end):
                found[slot] = min(first, start), max(last, end)
    return found


def kernel_names(step: Step) -> tuple[str, ...]:
    """The kernels that a step itself may launch, each once."""
    match step:
        case Launch(kernel=kernel):
            return (kernel,)
        case Choice(_, variants):
            commands = [command for variant in variants for command in variant.commands]
            return tuple(dict.fromkeys(c.kernel for c in commands if isinstance(c, GridLaunch)))
        case Copy() | While() | Case():
            return ()
        case _:
            assert_never(step)
