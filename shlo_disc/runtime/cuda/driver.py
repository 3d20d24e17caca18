"""Run a program on a GPU: by the generated host program, or step by step in Python; both through a device's table."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import (
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
    Step,
    While,
)
from shlo_disc.records import record
from shlo_disc.runtime.callees import Libraries, bind
from shlo_disc.runtime.cuda.commands import execute
from shlo_disc.runtime.cuda.device import Device, LoadedKernel
from shlo_disc.runtime.cuda.table import OUT_OF_MEMORY, Functions
from shlo_disc.runtime.driver import Sizes, sizes_in_c, sizes_in_python
from shlo_disc.runtime.host_calls import HostCalls, Session
from shlo_disc.runtime.library import LoadedProgram, Pointers, Words, pointers
from shlo_disc.runtime.steps import BufferPlaces, Buffers, Leaf, Observer, host_calls, leaves, walk
from shlo_disc.size_expr import evaluate

_MOST_32_BIT = 2**31 - 2**24  # elements; the margin is for what is added to an index: a grid's stride


def kernel_names(artifact: Artifact) -> list[str]:
    """Every kernel once, in the order in which the program's steps name them: the order of `functions`."""
    choices = (step for step in leaves(artifact.steps) if isinstance(step, Choice))
    commands = (command for choice in choices for variant in choice.variants for command in variant.commands)
    return list(dict.fromkeys(command.kernel for command in commands if isinstance(command, GridLaunch)))


def has_products(artifact: Artifact) -> bool:
    """Whether any variant calls cuBLAS."""
    choices = (step for step in leaves(artifact.steps) if isinstance(step, Choice))
    return any(isinstance(c, Product) for choice in choices for v in choice.variants for c in v.commands)


@record
class GpuCall:
    """One call, ready to be queued. `owner` keeps its memory alive for the arrays that host calls get."""

    places: BufferPlaces
    symbols: Words
    functions: Pointers
    kernels: Mapping[str, LoadedKernel]
    choices: Sequence[int]
    owner: object


def calls_on_device(artifact: Artifact, device: Device) -> HostCalls | None:
    """The host calls of a program for a GPU; None if it has none."""
    if not host_calls(artifact.steps):
        return None
    libraries = Libraries("cuda", device.bind_fft, device.bind_routine, device.as_array, device.on_host)
    return HostCalls(artifact, lambda call: bind(call, libraries), device.view)


@record
class NativeGpuProgram:
    """A program that C runs alone.

    Attributes:
        run: the address of `shlo_run`.
        commands: what errors call its commands, by their numbers.
        handlers: builds what XLA calls; see `Builder`.
        owner: keeps the program loaded.
    """

    run: int
    commands: Sequence[str]
    handlers: Callable[[str], Path]
    owner: object


class GpuDriver(Protocol):
    """Queues the commands of a program."""

    kind: Literal["c", "vm"]
    native: NativeGpuProgram | None  # None if Python takes part

    def sizes(self, raw: tuple[int, ...]) -> Sizes:
        """Check the sizes, and compute all others from them."""
        ...

    def run(self, table: int, call: GpuCall) -> None:
        """Queue all commands through the table at an address."""
        ...


class GpuHostDriver:
    """The generated C++ host program."""

    kind: Literal["c", "vm"] = "c"

    def __init__(
        self, artifact: Artifact, program: LoadedProgram, device: Device, xla_handlers: Callable[[str], Path]
    ) -> None:
        self._artifact, self._explain = artifact, device.explain_error
        self._host_calls = calls_on_device(artifact, device)
        self._program = program  # keeps the functions loaded
        self._plan = program.function("shlo_plan", ctypes.c_int64)
        self._run = program.function("shlo_run", ctypes.c_int64)
        self._commands = ["cublasSetStream", *_labels(artifact.steps)]
        self.native: NativeGpuProgram | None = None
        if self._host_calls is None:
            self.native = NativeGpuProgram(program.address("shlo_run"), self._commands, xla_handlers, program)

    def sizes(self, raw: tuple[int, ...]) -> Sizes:
        return sizes_in_c(self._artifact, self._plan, raw)

    def run(self, table: int, call: GpuCall) -> None:
        places = call.places
        choices = (ctypes.c_int32 * max(1, len(call.choices)))(*call.choices)
        session = Session(call.owner)
        asked = () if self._host_calls is None else (self._host_calls.function, ctypes.py_object(session))
        failed = self._run(
            ctypes.c_void_p(table), places.arguments, places.results, places.constants, call.symbols,
            ctypes.c_void_p(places.arena), call.functions, choices, *asked,
        )  # fmt: skip
        if session.has_failed:
            session.raise_error()
        if failed:
            command, code = failed >> 32, failed & 0xFFFFFFFF
            raise command_failed(self._commands[command], code, self._explain(code))


class GpuVm:
    """Executes `Artifact.steps`: the same kernels and results as the generated host program."""

    kind: Literal["c", "vm"] = "vm"
    native: NativeGpuProgram | None = None

    def __init__(self, artifact: Artifact, device: Device, observe: Observer | None = None) -> None:
        """`observe` gets every step after it ran, and all buffers as arrays."""
        self._artifact, self._fetch, self._explain = artifact, device.download, device.explain_error
        self._host_calls, self._observe = calls_on_device(artifact, device), observe

    def sizes(self, raw: tuple[int, ...]) -> Sizes:
        return sizes_in_python(self._artifact, raw)

    def run(self, table: int, call: GpuCall) -> None:
        functions = Functions(table)
        symbols = dict(zip(self._artifact.symbols, call.symbols, strict=False))

        def step(step: Leaf, buffers: Buffers) -> None:
            self.execute(call, step, buffers, functions)

        buffers = Buffers(self._artifact, symbols, call.places, self._fetch)
        walk(self._artifact.steps, buffers, step, self._observe)

    def execute(self, call: GpuCall, step: Leaf, buffers: Buffers, functions: Functions) -> None:
        """Queue the commands of a step."""

        def one(command: Command) -> None:
            if code := execute(command, buffers, functions, call.kernels):
                raise command_failed(_label(command), code, self._explain(code))

        match step:
            case HostCall():
                assert self._host_calls is not None, "a program with host calls binds them when it is loaded"
                self._host_calls.run(step, buffers, call.owner)
            case Choice(number, variants):
                for command in variants[call.choices[number]].commands:
                    one(command)
            case Copy():
                one(step)
            case Launch() | LaunchGroup():
                raise InternalError(f"a launch for CPU threads in a program for a GPU: {step}")


def command_failed(command: str, code: int, why: str) -> InternalError | MemoryError:
    """The error for a command that the device refused: `MemoryError` where it has no memory."""
    return (MemoryError if code in OUT_OF_MEMORY else InternalError)(f"{command} failed: {why}")


def is_wide(artifact: Artifact, symbols: Mapping[str, int]) -> bool:
    """Whether some number of elements needs 64-bit indices."""
    return any(evaluate(space, symbols) > _MOST_32_BIT for space in artifact.index_spaces)


def _labels(steps: Sequence[Step]) -> Iterator[str]:
    """Descriptions of the commands of the generated text, in its order."""
    for step in steps:
        match step:
            case Choice(_, variants):
                yield from (_label(x) for v in variants for c in v.commands for x in _parts(c))
            case HostCall(place=place):
                yield place
            case Copy():
                yield _label(step)
            case While(condition, _, body):
                yield from _labels(condition)
                yield "reading the flag of a loop"
                yield from _labels(body)
            case Case(_, _, branches):
                yield "reading the number of a branch"
                for branch in branches:
                    yield from _labels(branch)
            case Launch() | LaunchGroup():
                raise InternalError(f"a launch for CPU threads in a program for a GPU: {step}")
            case _:
                assert_never(step)


def _parts(command: Command) -> tuple[Command, ...]:
    """The numbered commands of a command: a product may turn out to be a fill, which has a number of its own."""
    return (Fill(command.c, 0), command) if isinstance(command, Product) else (command,)


def _label(command: Command) -> str:
    match command:
        case GridLaunch():
            return f"kernel {command.kernel}"
        case Product():
            return f"product of {command.dtypes[0]} by cuBLAS"
        case Copy():
            return "copy"
        case Fill():
            return "fill"
        case _:
            assert_never(command)


def function_pointers(names: Sequence[str], kernels: Mapping[str, LoadedKernel]) -> Pointers:
    """The handles that the generated host program takes."""
    return pointers([kernels[name].handle for name in names])
