"""Run the host program step by step in Python: to debug, and to measure what compiling it gains."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import Literal

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Choice, Copy, HostCall, Launch, LaunchGroup
from shlo_disc.runtime.driver import NO_SCRATCH, CallPlan, allot, calls_on_host, sizes_in_python
from shlo_disc.runtime.entry import NativeProgram
from shlo_disc.runtime.host_calls import memory_of
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import LoadedProgram, Pointers, Runtime, pointers, words
from shlo_disc.runtime.memory import aligned
from shlo_disc.runtime.packing import Constants, Packer
from shlo_disc.runtime.steps import BufferPlaces, Buffers, Leaf, Observer, fetch_from_host, leaves, walk
from shlo_disc.size_expr import evaluate

_MOST_THREADS = (1 << 63) - 1  # where no rows are held


class Vm:
    """Executes `Artifact.steps`: the same kernels and results as the interpreter in C."""

    kind: Literal["c", "vm"] = "vm"
    entry_point: NativeProgram | None = None

    def __init__(
        self,
        artifact: Artifact,
        program: LoadedProgram,
        runtime: Runtime,
        observe: Observer | None = None,
    ) -> None:
        """`observe` gets every step after it ran, and all buffers as arrays."""
        self._artifact = artifact
        self._observe = observe
        self._runtime = ctypes.c_void_p(runtime.address)
        self._parallel, self._region = runtime.parallel, runtime.region
        self.constants = Constants(Packer(artifact, program, runtime), keep=observe is not None)
        names = {step.kernel for step in leaves(artifact.steps) if isinstance(step, Launch)}
        self._host_calls = calls_on_host(artifact, runtime)
        self._program = program  # keeps the kernels loaded
        self._kernels = {name: ctypes.c_void_p(program.address(name)) for name in names}

    def plan(self, raw: tuple[int, ...]) -> CallPlan:
        """Check the sizes and compute the others, in Python."""
        return allot(self._artifact, sizes_in_python(self._artifact, raw))

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """Fill the results, one step after the other."""
        symbols = dict(zip(self._artifact.symbols, plan.registers, strict=False))
        whole = {} if self._observe is None else self._held_whole(symbols)
        aside = {slot: memory.ctypes.data for slot, memory in whole.items()}
        places = BufferPlaces(arguments, results, self.constants.pointers, arena.value or 0, aside)
        buffers = Buffers(self._artifact, symbols, places, fetch_from_host)
        memory = memory_of((owner, self.constants))
        walk(self._artifact.steps, buffers, partial(self._execute, memory), self._observe)

    def _held_whole(self, symbols: Mapping[str, int]) -> dict[int, Array]:
        """Memory for all rows of tile-local temporaries, as each launch runs alone when it is observed."""
        buffers = self._artifact.buffers
        sizes = {buffer.memory: buffer.whole for buffer in buffers if buffer.whole is not None}
        rooms = {memory: aligned(evaluate(size, symbols)) for memory, size in sizes.items()}
        return {slot: rooms[buffer.memory] for slot, buffer in enumerate(buffers) if buffer.whole is not None}

    def _execute(self, memory: object, step: Leaf, buffers: Buffers) -> None:
        match step:
            case HostCall():
                assert self._host_calls is not None, "a program with host calls binds them when it is loaded"
                self._host_calls.run(step, buffers, memory)
            case Launch():
                self._launch(step, buffers)
            case LaunchGroup():
                self._by_rows(step, buffers)
            case Copy(source, target):
                ctypes.memmove(buffers.address(target), buffers.address(source), buffers.size(target))
            case Choice():
                raise InternalError(f"a choice between GPU kernels in a program for the CPU: {step.variants[0].label}")

    def _launch(self, step: Launch, buffers: Buffers) -> None:
        extent, grain, scratch = (buffers.value(size) for size in (step.extent, step.grain, step.scratch))
        is_done = step.unless is not None and buffers.address(step.unless)
        if extent > 0 and not is_done:
            done = self._parallel(
                self._runtime,
                self._kernels[step.kernel],
                pointers([buffers.address(slot) for slot in step.buffers]),
                words([buffers.value(size) for size in step.symbols]),
                ctypes.c_int64(extent), ctypes.c_int64(grain), ctypes.c_int64(scratch),
            )  # fmt: skip
            if not done:
                raise MemoryError(NO_SCRATCH)

    def _by_rows(self, region: LaunchGroup, buffers: Buffers) -> None:
        """Run a launch group, each launch as a `ShloMember` of `device/call/runtime.h`: all of its fields are words."""
        kept, members, most_threads = list[object](), list[int](), _MOST_THREADS
        for member in region.members:
            launch = member.launch
            slots = pointers([buffers.address(slot) for slot in launch.buffers])
            dims, unit_dims = (
                words([buffers.value(size) for size in sizes]) for sizes in (launch.symbols, member.symbols)
            )
            sizes = (launch.extent, launch.grain, launch.scratch)
            held = words([part for row in member.held for part in (row.position, buffers.value(row.size))])
            kept += (slots, dims, unit_dims, held)
            for row in member.held:
                bytes_ = buffers.size(launch.buffers[row.position])
                most_threads = min(most_threads, bytes_ // max(1, buffers.value(row.size)))
            members += (self._kernels[launch.kernel].value or 0, ctypes.addressof(slots), ctypes.addressof(dims))
            members += (*map(buffers.value, sizes), ctypes.addressof(unit_dims))
            members += (buffers.value(member.tasks), buffers.value(member.extent))
            members += (ctypes.addressof(held), len(member.held), len(launch.buffers))
        sizes = (region.units, region.grain, region.work, region.scratch)
        done = self._region(
            self._runtime, words(members), ctypes.c_int64(len(region.members)),
            *(ctypes.c_int64(buffers.value(size)) for size in sizes), ctypes.c_int64(most_threads),
        )  # fmt: skip
        if not done:
            raise MemoryError(NO_SCRATCH)
