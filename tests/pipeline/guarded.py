"""Run a program in memory that ends at a forbidden page: whoever reads or writes beyond a buffer is stopped at once.

Every argument, result, temporary and piece of scratch has memory of its own, filled with NaNs (all bits set), so that
reading what nobody wrote shows too. Launches are split at a random place.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Artifact
from shlo_disc.compiled import Compiled
from shlo_disc.host_ir import Buffer, Launch
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.cpu.vm import Vm
from shlo_disc.runtime.driver import CallPlan
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.library import Pointers, pointers, words
from shlo_disc.runtime.steps import Buffers
from shlo_disc.size_expr import SizeExpr, SizeOp, evaluate

Array = NDArray[Any]

ALIGNMENT, PAGE = 64, mmap.PAGESIZE
ROOM = 1 << 28  # bytes of address space for each temporary; only what it needs is accessible
POISON = 0xFF
MAP_NORESERVE = 0x4000  # Linux's; Python 3.11 has no name for it
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE

_libc = ctypes.CDLL(None, use_errno=True)
_KERNEL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


class Region:
    """Address space that is forbidden but for what is allowed."""

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
        self.memory = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)
        self.address = np.frombuffer(self.memory, np.uint8).ctypes.data
        self._protect(0, size, 0)

    def allow(self, start: int, end: int) -> int:
        """Poison the pages of `[start, end)` and make them accessible; `end` is the end of a page."""
        first = start // PAGE * PAGE
        if end > first:
            self._protect(first, end - first, READ_WRITE)
            ctypes.memset(self.address + first, POISON, end - first)
        return self.address + start

    def _protect(self, start: int, size: int, access: int) -> None:
        done = _libc.mprotect(ctypes.c_void_p(self.address + start), ctypes.c_size_t(size), access)
        assert done == 0, "mprotect"


class Guarded:
    """Memory of `size` bytes before a forbidden page."""

    def __init__(self, size: int, alignment: int = ALIGNMENT) -> None:
        room = -(-size // alignment) * alignment
        pages = -(-max(room, 1) // PAGE) * PAGE
        self.size = size
        self.region = Region(pages + PAGE)
        self.address = self.region.allow(pages - room, pages)

    def slack_is_untouched(self) -> bool:
        """Whether nobody wrote to the bytes between the buffer and the page."""
        end = self.address + self.size
        slack = ctypes.string_at(end, -end % PAGE)
        return slack == bytes([POISON]) * len(slack)


def guarded(compiled: Compiled, seed: int = 0) -> CpuExecutable:
    """The same program, in guarded memory."""
    executable = compiled.executable
    assert isinstance(executable, CpuExecutable), "the CPU's"
    artifact = _apart(executable.artifact)
    return CpuExecutable(artifact, executable.program, executable.runtime, _GuardedVm(artifact, executable, seed))


def _apart(artifact: Artifact) -> Artifact:
    """Each temporary at the end of the first half of a room of its own, which it shares with what lies in its place."""

    def offset(slot: int, buffer: Buffer) -> SizeExpr:
        room = slot if buffer.memory is None else buffer.memory
        lines = SizeOp("//", (SizeOp("+", (buffer.size, ALIGNMENT - 1)), ALIGNMENT))
        return SizeOp("+", (room * ROOM + ROOM // 2, SizeOp("*", (-ALIGNMENT, lines))))

    buffers = tuple(replace(b, offset=offset(k, b)) if b.kind == "arena" else b for k, b in enumerate(artifact.buffers))
    return replace(artifact, buffers=buffers, arena_bytes=0)


class _GuardedVm(Vm):
    """The VM on guarded memory."""

    def __init__(self, artifact: Artifact, executable: CpuExecutable, seed: int) -> None:
        super().__init__(artifact, executable.program, executable.runtime)
        self.artifact = artifact
        self.random = Random(seed)

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        del arena, owner
        symbols = dict(zip(self.artifact.symbols, plan.registers, strict=False))
        kept = [self._copy(k, arguments[k] or 0, symbols) for k in range(len(self.artifact.arguments))]
        sizes = [int(np.prod(shape)) * dtype.itemsize for _, shape, dtype in plan.outputs]
        made = [Guarded(size) for size in sizes]
        temporaries = Region(max(1, len(self.artifact.buffers)) * ROOM)
        for buffer in self.artifact.buffers:
            if buffer.kind == "arena":
                start = evaluate(buffer.offset, symbols)
                temporaries.allow(start, start // ROOM * ROOM + ROOM // 2)
        base = ctypes.c_void_p(temporaries.address)
        packed = [arguments[len(kept) + k] or 0 for k in range(len(self.artifact.packings))]
        inputs, outputs = pointers([*(m.address for m in kept), *packed]), pointers([m.address for m in made])
        super().run(inputs, outputs, plan, base, (kept, made, temporaries))
        assert all(m.slack_is_untouched() for m in made), "a kernel wrote beyond a result"
        for number, (memory, size) in enumerate(zip(made, sizes, strict=True)):
            ctypes.memmove(results[number] or 0, memory.address, size)

    def _copy(self, number: int, address: int, symbols: dict[str, int]) -> Guarded:
        argument = self.artifact.arguments[number]
        shape = [symbols[n] if isinstance(n, str) else n for n in argument.shape]
        itemsize = dtype_of(argument.dtype).itemsize
        memory = Guarded(int(np.prod(shape, dtype=np.int64)) * itemsize, itemsize)
        ctypes.memmove(memory.address, address, memory.size)
        return memory

    def _launch(self, step: Launch, buffers: Buffers) -> None:
        extent, size = buffers.value(step.extent), buffers.value(step.scratch)
        if extent <= 0:
            return
        kernel = _KERNEL(self._kernels[step.kernel].value or 0)
        slots = pointers([buffers.address(slot) for slot in step.buffers])
        dims = words([buffers.value(symbol) for symbol in step.symbols])
        for begin, end in pairwise(self._pieces(extent)):
            scratch = Guarded(size)
            kernel(self._runtime, ctypes.addressof(slots), ctypes.addressof(dims), begin, end, scratch.address)
            assert scratch.slack_is_untouched(), f"{step.kernel} wrote beyond its scratch"

    def _pieces(self, extent: int) -> Sequence[int]:
        return sorted({0, self.random.randint(0, extent), extent})
