"""Plan a call from its sizes, and run it: by the interpreter of bytecode in C, or by the VM in Python."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, Protocol

import numpy as np

from shlo_disc.artifact import LARGEST_SIZE, Artifact
from shlo_disc.bytecode import HostCode
from shlo_disc.diagnostics import InternalError, RuntimeShapeError
from shlo_disc.records import record
from shlo_disc.runtime.checks import broken, verify, verify_layout
from shlo_disc.runtime.entry import NativeProgram
from shlo_disc.runtime.host_calls import HostCalls, Session, memory_of, view_on_host
from shlo_disc.runtime.host_code import LoadedHostCode
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.library import LoadedProgram, Pointers, Runtime, Words, words
from shlo_disc.runtime.limits import verify_limits
from shlo_disc.runtime.memory import POOL, Shelf
from shlo_disc.runtime.packing import Constants, Packer
from shlo_disc.runtime.steps import has_control_flow, host_calls
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import evaluate

RAISED, NO_MEMORY = 1, 2  # how a run ended: `ShloEnd` of runtime.h
NO_SCRATCH = "no memory for what the calling thread needs for itself while it computes\n  help: call with smaller sizes"


class Output(NamedTuple):
    """One result to allocate."""

    shelf: Shelf
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


@record
class CallPlan:
    """What a call needs that depends on its sizes alone."""

    registers: Words  # the values of the symbols, and for C what else it computed
    shapes: tuple[tuple[int, ...], ...]  # of the results
    outputs: tuple[Output, ...]
    arena_bytes: int
    arena: Shelf


class Sizes(NamedTuple):
    """Derived sizes of one call."""

    symbols: Words  # and behind them the other registers of bytecode
    shapes: tuple[tuple[int, ...], ...]  # of the results
    arena_bytes: int


class Driver(Protocol):
    """Runs a program whose arrays are bound."""

    kind: Literal["c", "vm"]
    entry_point: NativeProgram | None  # for calls that C serves alone, if it can
    constants: Constants

    def plan(self, raw: tuple[int, ...]) -> CallPlan:
        """Check the sizes, and compute all others from them."""
        ...

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """Fill the results. Releases the GIL.

        The addresses of packed operands follow `arguments`, null where an operand is not packed. `owner` keeps all
        memory of the call alive for the arrays that host calls get. Exceptions of host calls propagate. Raises
        `MemoryError` if there is no scratch memory; the results are undefined then.
        """
        ...


class HostDriver:
    """The interpreter of bytecode (`device/call/host_code.h`)."""

    kind: Literal["c", "vm"] = "c"

    def __init__(
        self,
        artifact: Artifact,
        program: LoadedProgram,
        runtime: Runtime,
        code: HostCode,
        constants: Constants | None = None,
    ) -> None:
        """`constants`: those of another driver of the program, if there is one."""
        self._artifact = artifact
        self._loaded = LoadedHostCode(code, program)
        self._address = ctypes.c_void_p(self._loaded.address)
        self._plan, self._run = runtime.plan_call, runtime.run_call
        self._runtime = ctypes.c_void_p(runtime.address)
        self.constants = constants or Constants(Packer(artifact, program, runtime))
        self._host_calls = calls_on_host(artifact, runtime)
        is_steady = self._host_calls is None and not has_control_flow(artifact.steps)
        kept = (self.constants, self._loaded)
        self.entry_point: NativeProgram | None = NativeProgram(
            self._loaded.address, self.constants.pointers, is_steady, self._host_calls, kept
        )

    def plan(self, raw: tuple[int, ...]) -> CallPlan:
        plan = partial(self._plan, self._address)
        return allot(self._artifact, sizes_in_c(self._artifact, plan, raw, self._loaded.code))

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        given = (self._runtime, arguments, results, self.constants.pointers, plan.registers, arena)
        if self._host_calls is None:
            end = self._run(self._address, *given, None, None)
        else:
            session = Session(memory_of((owner, self.constants)))
            end = self._run(self._address, *given, self._host_calls.function, ctypes.py_object(session))
            if end == RAISED:
                session.raise_error()
        if end == NO_MEMORY:
            raise MemoryError(NO_SCRATCH)


def calls_on_host(artifact: Artifact, runtime: Runtime) -> HostCalls | None:
    """The host calls of a program for the CPU; None if it has none."""
    if not host_calls(artifact.steps):
        return None
    from shlo_disc.runtime.callees import bind_on_host  # noqa: PLC0415  few programs have host calls

    return HostCalls(artifact, lambda call: bind_on_host(call, runtime.threads), view_on_host)


def sizes_in_c(
    artifact: Artifact, plan: Callable[..., int], raw: tuple[int, ...], code: HostCode | None = None
) -> Sizes:
    """The sizes of a call, from `plan`: a generated `shlo_plan`, or that of bytecode. Raises like `sizes_in_python`.

    Sizes read from elements of arrays may have any value: they are checked here, in exact integers.
    """
    _refuse_large(artifact, raw)
    if artifact.unbacked_sizes:
        verify(artifact, Symbols(artifact, raw))
    symbols = words([0] * (len(artifact.symbols) if code is None else code.kept))
    dims = words([0] * sum(len(result.shape) for result in artifact.results))
    arena = ctypes.c_int64()
    failed = plan(words(raw), symbols, dims, ctypes.byref(arena))
    if failed < 0:  # some formula may overflow (few calls are so large), or a condition of the layout does not hold
        return sizes_in_python(artifact, raw, code)
    if failed:
        raise broken(artifact, artifact.checks[failed - 1], Symbols(artifact, raw))
    return Sizes(symbols, _shapes(artifact, list(dims)), arena.value)


def sizes_in_python(artifact: Artifact, raw: tuple[int, ...], code: HostCode | None = None) -> Sizes:
    """The same, evaluated in Python.

    Raises `RuntimeShapeError` for a violated check and for an array that does not fit into 64 bits, `MemoryError` for
    temporaries that do not, and `InternalError` for a violated condition of the memory layout.
    """
    _refuse_large(artifact, raw)
    symbols = Symbols(artifact, raw)
    verify(artifact, symbols)
    verify_limits(artifact, symbols)
    verify_layout(artifact, symbols)
    values = [symbols[name] for name in artifact.symbols]
    values = values if code is None else code.values(values)
    dims = [evaluate(size, symbols) for result in artifact.results for size in result.shape]
    return Sizes(words(values), _shapes(artifact, dims), evaluate(artifact.arena_bytes, symbols))


def _refuse_large(artifact: Artifact, raw: tuple[int, ...]) -> None:
    """Refuse sizes that are too large for i32, or nearly so: all arithmetic of sizes relies on this."""
    for size, (argument, axis) in zip(raw, artifact.raw, strict=False):
        if size > LARGEST_SIZE:
            raise RuntimeShapeError(
                f"{artifact.arguments[argument].name}, dim {axis}: found size {size}, expected at most {LARGEST_SIZE}: "
                "a dynamic size, and positions a little beyond it, are i32\n"
                "  help: give the dim a static size, or split it into two"
            )


def _shapes(artifact: Artifact, dims: list[int]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    at = 0
    for number, result in enumerate(artifact.results):
        shape = tuple(dims[at : at + len(result.shape)])
        at += len(shape)
        if min(shape, default=0) < 0:
            raise InternalError(f"result {number} has the shape {shape}, expected no negative size")
        found.append(shape)
    return tuple(found)


def allot(artifact: Artifact, sizes: Sizes) -> CallPlan:
    """The plan of a call on the host: its sizes, and what to allocate."""
    outputs: list[Output] = []
    for result, shape in zip(artifact.results, sizes.shapes, strict=True):
        dtype = dtype_of(result.dtype)
        outputs.append(Output(POOL.shelf(math.prod(shape) * dtype.itemsize), shape, dtype))
    return CallPlan(sizes.symbols, sizes.shapes, tuple(outputs), sizes.arena_bytes, POOL.shelf(sizes.arena_bytes))
