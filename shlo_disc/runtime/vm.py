"""Run the host program step by step in Python: to debug, and to measure what compiling it gains."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

import numpy as np

from shlo_disc.artifact import Artifact, Buffer, Case, Copy, Launch, Slot, Step, While
from shlo_disc.diagnostics import InternalError
from shlo_disc.runtime.driver import Constants, Plan, plan_in_python
from shlo_disc.runtime.formulas import evaluate
from shlo_disc.runtime.interop import Array, dtype_of
from shlo_disc.runtime.library import Pointers, Program, Runtime, pointers, words

Observer: TypeAlias = Callable[[Step, Mapping[Slot, Array]], None]


class Vm:
    """Executes `Artifact.steps`: the same kernels and results as the generated host program."""

    def __init__(
        self,
        artifact: Artifact,
        program: Program,
        runtime: Runtime,
        observe: Observer | None = None,
    ) -> None:
        """`observe` sees every step after it ran, and all buffers as arrays."""
        self._artifact = artifact
        self._observe = observe
        self._runtime = ctypes.c_void_p(runtime.address)
        self._parallel = runtime.parallel
        self._constants = Constants(artifact)
        names = {step.kernel for step in _launches(artifact.steps)}
        self._kernels = {name: ctypes.c_void_p(program.address(name)) for name in names}

    def plan(self, raw: tuple[int, ...]) -> Plan:
        """Check the sizes and compute the others, in Python."""
        return plan_in_python(self._artifact, raw)

    def run(self, arguments: Pointers, results: Pointers, plan: Plan, arena: ctypes.c_void_p) -> None:
        """Fill the results, one step after the other."""
        symbols = dict(zip(self._artifact.symbols, plan.symbols, strict=False))
        buffers = _Buffers(self._artifact, symbols, (arguments, results, self._constants.pointers), arena.value or 0)
        self._steps(self._artifact.steps, buffers)

    def _steps(self, steps: Sequence[Step], buffers: _Buffers) -> None:
        for step in steps:
            match step:
                case Launch():
                    self._launch(step, buffers)
                case Copy(source, target):
                    ctypes.memmove(buffers.address(target), buffers.address(source), buffers.size(target))
                case While(condition, flag, body):
                    self._steps(condition, buffers)
                    while buffers[flag].reshape(-1)[0]:
                        self._steps(body, buffers)
                        self._steps(condition, buffers)
                case Case(index, index_dtype, branches):
                    picked = int(buffers.typed(index, index_dtype, ()))
                    last = len(branches) - 1
                    self._steps(branches[picked if 0 <= picked <= last else last], buffers)
                case _:
                    assert_never(step)
            if self._observe is not None:
                self._observe(step, buffers)

    def _launch(self, step: Launch, buffers: _Buffers) -> None:
        extent, grain, scratch = (buffers.value(size) for size in (step.extent, step.grain, step.scratch))
        if extent > 0:
            self._parallel(
                self._runtime,
                self._kernels[step.kernel],
                pointers([buffers.address(slot) for slot in step.buffers]),
                words([buffers.value(size) for size in step.dims]),
                ctypes.c_int64(extent), ctypes.c_int64(grain), ctypes.c_int64(scratch),
            )  # fmt: skip


class _Buffers(Mapping[Slot, Array]):
    """The buffers of one call, each seen as an array of its dtype and shape."""

    def __init__(
        self,
        artifact: Artifact,
        symbols: Mapping[str, int],
        outside: tuple[Pointers, Pointers, Pointers],
        arena: int,
    ) -> None:
        self._buffers = artifact.buffers
        self._symbols = symbols
        self._outside = dict(zip(("argument", "result", "constant"), outside, strict=True))
        self._arena = arena

    def __getitem__(self, slot: Slot) -> Array:
        buffer = self._buffers[slot]
        return self.typed(slot, buffer.dtype, self._shape(buffer))

    def __iter__(self) -> Iterator[Slot]:
        return iter(range(len(self._buffers)))

    def __len__(self) -> int:
        return len(self._buffers)

    def value(self, formula: str) -> int:
        """A size of this call."""
        return evaluate(formula, self._symbols)

    def size(self, slot: Slot) -> int:
        """The bytes of a buffer."""
        return self.value(self._buffers[slot].size)

    def address(self, slot: Slot) -> int:
        """Where a buffer is."""
        buffer = self._buffers[slot]
        if buffer.kind == "arena":
            return self._arena + self.value(buffer.offset)
        if buffer.kind not in self._outside:
            raise InternalError(f"a buffer of kind {buffer.kind!r}, expected argument, result, constant or arena")
        return self._outside[buffer.kind][buffer.number] or 0

    def typed(self, slot: Slot, dtype: str, shape: tuple[int, ...]) -> Array:
        """A buffer as an array; valid during this call."""
        kind = dtype_of(dtype)
        size = math.prod(shape) * kind.itemsize
        raw = (ctypes.c_char * size).from_address(self.address(slot)) if size else b""
        return np.ndarray(shape, kind, buffer=memoryview(raw))

    def _shape(self, buffer: Buffer) -> tuple[int, ...]:
        """The buffer's shape; all its bytes in a row if it gives none."""
        shape = tuple(map(self.value, buffer.shape))
        itemsize = dtype_of(buffer.dtype).itemsize
        size = self.value(buffer.size)
        return shape if math.prod(shape) * itemsize == size else (size // itemsize,)


def _launches(steps: Iterable[Step]) -> Iterator[Launch]:
    for step in steps:
        match step:
            case Launch():
                yield step
            case Copy():
                pass
            case While(condition, _, body):
                yield from _launches((*condition, *body))
            case Case(_, _, branches):
                for branch in branches:
                    yield from _launches(branch)
            case _:
                assert_never(step)
