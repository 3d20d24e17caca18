"""A simulated thread pool: launches are cut into chunks that run in random order, on one thread.

Real threads share only long launches, and produce few of the possible orders. Here every launch is cut at random
places, however small; the chunks run in random order, and chunks of a launch group interleave as on threads. So a
program whose results depend on how launches are divided gives other bits, even with small inputs.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Artifact
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.cpu.vm import Vm
from shlo_disc.runtime.driver import CallPlan
from shlo_disc.runtime.library import Pointers, Runtime
from shlo_disc.runtime.memory import aligned

_KERNEL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
_PARALLEL = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3
)
_REGION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 6)
_RESERVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_DONE = 1  # success: there was enough memory
_GARBAGE = 0xFF  # NaN in every type of floats, -1 in every type of integers
_PIECES = 3  # chunks of each thread, at most


class _Runtime(ctypes.Structure):
    """`ShloRuntime` of `device/call/runtime.h`."""

    _fields_: ClassVar = [
        ("parallel", _PARALLEL),
        ("threads", ctypes.c_int64),
        ("region", _REGION),
        ("reserve", _RESERVE),
    ]


class _HeldRows(ctypes.Structure):
    """`ShloHeld`."""

    _fields_: ClassVar = [("buffer", ctypes.c_int64), ("bytes", ctypes.c_int64)]
    buffer: int
    bytes: int


class _GroupMember(ctypes.Structure):
    """`ShloMember`."""

    _fields_: ClassVar = [
        ("kernel", ctypes.c_void_p),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("dims", ctypes.c_void_p),
        ("extent", ctypes.c_int64),
        ("grain", ctypes.c_int64),
        ("scratch_bytes", ctypes.c_int64),
        ("unit_dims", ctypes.c_void_p),
        ("unit_tasks", ctypes.c_int64),
        ("unit_extent", ctypes.c_int64),
        ("held", ctypes.POINTER(_HeldRows)),
        ("held_count", ctypes.c_int64),
        ("count", ctypes.c_int64),
    ]
    kernel: int
    buffers: Any
    dims: int
    extent: int
    grain: int
    scratch_bytes: int
    unit_dims: int
    unit_tasks: int
    unit_extent: int
    held: Any
    held_count: int
    count: int


class DividingPool:
    """A pool of `threads` threads, as far as kernels can see. Equal seeds give equal chunks and orders."""

    def __init__(self, threads: int, seed: int = 0) -> None:
        self._threads = threads
        self._random = Random(seed)
        self._error: BaseException | None = None
        self.parallel = _PARALLEL(self._parallel)
        self.region = _REGION(self._region)
        self._reserve = _RESERVE(_reserved)
        self._head = _Runtime(self.parallel, threads, self.region, self._reserve)

    def executable(self, artifact: Artifact, plain: CpuExecutable) -> CpuExecutable:
        """The same program on this pool, run by the VM."""
        address = ctypes.addressof(self._head)
        runtime = replace(
            plain.runtime, address=address, threads=self._threads, parallel=self._checked(self.parallel),
            region=self._checked(self.region),
        )  # fmt: skip
        return _Divided(artifact, plain, runtime, self)

    def _checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Raise after a call what its callback raised, as exceptions are lost in C."""

        def call(*arguments: Any) -> Any:
            done = function(*arguments)
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return done

        return call

    def _parallel(self, runtime: int, kernel: int, buffers: int, dims: int, *sizes: int) -> int:
        extent, _grain, scratch_bytes = sizes
        try:
            call = _KERNEL(kernel)
            for begin, end in self._shuffled(extent):
                scratch = _scratch(scratch_bytes)
                call(runtime, buffers, dims, begin, end, scratch.ctypes.data)
        except BaseException as error:  # noqa: BLE001  raised by `_checked`
            self._error = error
        return _DONE

    def _region(self, runtime: int, members: int, *sizes: int) -> int:
        count, units, _grain, _work, scratch_bytes, most_threads = sizes
        try:
            every = list((_GroupMember * count).from_address(members))
            holds = any(member.held_count for member in every)
            if units > 0 and (holds or self._random.random() < 0.75):
                self._by_rows(runtime, every, (units, min(self._threads, most_threads)), scratch_bytes, holds=holds)
                return _DONE
            for member in every:
                extents = (member.extent, member.grain, member.scratch_bytes)
                where = ctypes.cast(member.buffers, ctypes.c_void_p).value or 0
                self._parallel(runtime, member.kernel, where, member.dims, *extents)
        except BaseException as error:  # noqa: BLE001  raised by `_checked`
            self._error = error
        return _DONE

    def _by_rows(
        self, runtime: int, members: Sequence[_GroupMember], sizes: tuple[int, int], scratch_bytes: int, *, holds: bool
    ) -> None:
        """Run units of rows on several simulated threads, whose launches interleave. `sizes`: their numbers."""
        units, threads = sizes
        shares: list[list[tuple[int, int]]] = [[] for _ in range(threads)]
        for piece in self._shuffled(units):
            self._random.choice(shares).append(piece)

        def thread(number: int, pieces: Iterable[tuple[int, int]]) -> Iterator[None]:
            scratch = _scratch(scratch_bytes)
            for first, last in pieces:
                step = 1 if holds else last - first
                for begin in range(first, last, step):
                    for member in members:
                        _run_member(runtime, member, (begin, min(begin + step, last)), number, scratch)
                        yield

        running = [thread(number, pieces) for number, pieces in enumerate(shares)]
        while running:
            one = self._random.choice(running)
            if next(one, self) is self:
                running.remove(one)

    def _shuffled(self, extent: int) -> list[tuple[int, int]]:
        """Chunks of [0, extent), in random order."""
        if extent <= 0:
            return []
        count = self._random.choice((0, 1, 2, _PIECES * self._threads))
        cuts = sorted({0, extent, *[self._random.randrange(extent) for _ in range(count)]})
        pieces = list(itertools.pairwise(cuts))
        self._random.shuffle(pieces)
        return pieces


def _reserved(_runtime: int, _bytes: int) -> int:
    return _DONE


def _scratch(size: int) -> NDArray[np.uint8]:
    memory = aligned(max(size, 64)).view(np.uint8)
    memory.fill(_GARBAGE)
    return memory


def _run_member(
    runtime: int, it: _GroupMember, units: tuple[int, int], number: int, scratch: NDArray[np.uint8]
) -> None:
    """Run some units of one launch, as `run_member` of `pool.h` does on thread `number`."""
    begin, end = units
    first, last = begin * it.unit_tasks, min(end * it.unit_tasks, it.unit_extent)
    if first >= last:
        return
    buffers = (ctypes.c_void_p * max(1, it.count))(*[it.buffers[k] for k in range(it.count)])
    for k in range(it.held_count):
        held = it.held[k]
        buffers[held.buffer] = (buffers[held.buffer] or 0) + (number - begin) * held.bytes
    _KERNEL(it.kernel)(runtime, ctypes.addressof(buffers), it.unit_dims, first, last, scratch.ctypes.data)


class _Divided(CpuExecutable):
    """A program on a `DividingPool`, in memory that holds garbage."""

    def __init__(self, artifact: Artifact, plain: CpuExecutable, runtime: Runtime, pool: DividingPool) -> None:
        super().__init__(artifact, plain.program, runtime, _PoisoningVm(artifact, plain.program, runtime))
        self.seconds = plain.seconds
        self._pool = pool  # kept alive: kernels call it


class _PoisoningVm(Vm):
    """Fills temporaries and results with garbage before each call."""

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """Poison temporaries and results, then run the steps."""
        if arena.value:
            ctypes.memset(arena.value, _GARBAGE, plan.arena_bytes)
        given = {address for address in arguments if address}
        for address, (_, shape, dtype) in zip(results, plan.outputs, strict=False):
            if address and address not in given:  # a donated argument may be a result
                ctypes.memset(address, _GARBAGE, math.prod(shape) * dtype.itemsize)
        super().run(arguments, results, plan, arena, owner)
