"""Walk the steps of a program in Python: loops, branches, and buffers as arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias, assert_never

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import (
    Buffer,
    Case,
    Choice,
    Command,
    Copy,
    Fill,
    GridLaunch,
    HostCall,
    Launch,
    LaunchGroup,
    Product,
    Slot,
    Step,
    While,
)
from shlo_disc.records import record
from shlo_disc.runtime.interop import Array, dtype_of
from shlo_disc.runtime.library import Pointers
from shlo_disc.size_expr import SizeExpr, evaluate

Fetch: TypeAlias = Callable[[int, int], bytes | memoryview]


@record
class BufferPlaces:
    """The addresses of the buffers of a call; `aside` overrides those of some slots."""

    arguments: Pointers
    results: Pointers
    constants: Pointers
    arena: int
    aside: Mapping[Slot, int] = field(default_factory=dict[Slot, int])


class Buffers(Mapping[Slot, Array]):
    """The buffers of one call, each viewed as an array of its dtype and shape; `fetch` reads their bytes."""

    def __init__(self, artifact: Artifact, symbols: Mapping[str, int], places: BufferPlaces, fetch: Fetch) -> None:
        self._buffers = artifact.buffers
        self.symbols = symbols
        self._outside = {"argument": places.arguments, "result": places.results, "constant": places.constants}
        self._arena, self._aside = places.arena, places.aside
        self._arguments = len(artifact.arguments)
        self._fetch = fetch

    def __getitem__(self, slot: Slot) -> Array:
        buffer = self._buffers[slot]
        return self.typed(slot, buffer.dtype, self._whole(buffer))

    def __iter__(self) -> Iterator[Slot]:
        return iter(range(len(self._buffers)))

    def __len__(self) -> int:
        return len(self._buffers)

    def value(self, size: SizeExpr) -> int:
        """A size of this call."""
        return evaluate(size, self.symbols)

    def size(self, slot: Slot) -> int:
        """The bytes of a buffer."""
        return self.value(self._buffers[slot].size)

    def address(self, slot: Slot) -> int:
        """The address of a buffer."""
        buffer = self._buffers[slot]
        given = None if buffer.packed is None else self.address(buffer.packed)
        if given or (given == 0 and not self.value(buffer.size)):
            return given
        if (aside := self._aside.get(slot)) is not None:
            return aside
        if buffer.kind == "arena":
            return self._arena + self.value(buffer.offset)
        if buffer.kind == "null":
            return 0
        if buffer.kind == "packed":
            return self._outside["argument"][self._arguments + buffer.number] or 0
        if buffer.kind not in self._outside:
            raise InternalError(
                f"a buffer of kind {buffer.kind!r}, expected argument, result, constant, arena or packed"
            )
        return self._outside[buffer.kind][buffer.number] or 0

    def typed(self, slot: Slot, dtype: str, shape: tuple[int, ...]) -> Array:
        """A buffer as an array; valid during this call."""
        kind = dtype_of(dtype)
        size = math.prod(shape) * kind.itemsize
        address = self.address(slot)
        if size and not address:
            raise LookupError(f"buffer {slot} is not kept: calls read a packed form of it, or none is there")
        raw = self._fetch(address, size) if size else b""
        return np.ndarray(shape, kind, buffer=raw)

    def shape(self, slot: Slot) -> tuple[int, ...]:
        """The shape of the array in a buffer."""
        return tuple(map(self.value, self._buffers[slot].shape))

    def _whole(self, buffer: Buffer) -> tuple[int, ...]:
        """The buffer's shape; if that does not cover its bytes, all its elements in one dimension."""
        shape = tuple(map(self.value, buffer.shape))
        itemsize = dtype_of(buffer.dtype).itemsize
        size = self.value(buffer.size if buffer.whole is None else buffer.whole)
        return shape if math.prod(shape) * itemsize == size else (size // itemsize,)


Observer: TypeAlias = Callable[[Step, Mapping[Slot, Array]], None]
Leaf: TypeAlias = Launch | LaunchGroup | Choice | HostCall | Copy  # a step that is executed, not walked
Execute: TypeAlias = Callable[[Leaf, Buffers], None]


def walk(steps: Sequence[Step], buffers: Buffers, execute: Execute, observe: Observer | None) -> None:
    """Run steps one after the other; `observe` gets each one after it ran, and all buffers as arrays."""
    for step in steps:
        match step:
            case LaunchGroup() if observe is not None:  # one launch after the other, so that each is observed
                walk(step.launches, buffers, execute, observe)
                continue
            case Launch() | LaunchGroup() | Choice() | HostCall() | Copy():
                execute(step, buffers)
            case While(condition, flag, body):
                walk(condition, buffers, execute, observe)
                while buffers[flag].reshape(-1)[0]:
                    walk(body, buffers, execute, observe)
                    walk(condition, buffers, execute, observe)
            case Case(index, index_dtype, branches):
                picked = int(buffers.typed(index, index_dtype, ()))
                last = len(branches) - 1
                walk(branches[picked if 0 <= picked <= last else last], buffers, execute, observe)
            case _:
                assert_never(step)
        if observe is not None:
            observe(step, buffers)


def executed(steps: Iterable[Step]) -> Iterator[Leaf]:
    """All steps that are executed, not walked, also in loops and branches, in the order of the text."""
    for step in steps:
        match step:
            case Launch() | LaunchGroup() | Choice() | HostCall() | Copy():
                yield step
            case While(condition, _, body):
                yield from executed((*condition, *body))
            case Case(_, _, branches):
                for branch in branches:
                    yield from executed(branch)
            case _:
                assert_never(step)


def leaves(steps: Iterable[Step]) -> Iterator[Launch | Choice | HostCall | Copy]:
    """The same, with the launches of a group one after the other in its place."""
    for step in executed(steps):
        if isinstance(step, LaunchGroup):
            yield from step.launches
        else:
            yield step


def has_control_flow(steps: Sequence[Step]) -> bool:
    """Whether the host has to read data in order to continue."""
    return any(isinstance(step, While | Case) for step in steps)


def host_calls(steps: Iterable[Step]) -> tuple[HostCall, ...]:
    """All calls of functions of Python, by their number."""
    return tuple(step for step in leaves(steps) if isinstance(step, HostCall))


def slots_of(command: Command) -> tuple[Slot, ...]:
    """The buffers that a command reads and writes."""
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


def fetch_from_host(address: int, size: int) -> memoryview:
    """A writable view of bytes of this process."""
    return memoryview((ctypes.c_char * size).from_address(address))
