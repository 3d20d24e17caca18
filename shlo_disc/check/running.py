"""Ways to run a program, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.access import is_free
from shlo_disc.check import xla
from shlo_disc.check.compiling import BuildConfig, Prepare, Run, compiled_ways
from shlo_disc.check.deviations import xla_deviation
from shlo_disc.check.function_errors import Implementation
from shlo_disc.check.names import OPTIMIZED_XLA, xla_is_installed
from shlo_disc.check.rounding import perturbed_runs
from shlo_disc.diagnostics import CompileError, RuntimeShapeError, Source, Span, ToolchainError, UnsupportedOpError
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.ir.core import Module, Op
from shlo_disc.ir.rewrite import Replacement, Surroundings, replace_ops
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.passes.dce import eliminate_dead_ops
from shlo_disc.passes.partition_scheduling import inputs_of
from shlo_disc.records import record
from shlo_disc.target_names import HOST
from shlo_disc.targets import target_named

Array: TypeAlias = NDArray[Any]

_KEPT = 24  # programs that are kept ready to run
_SIZES_KEPT = 4


@record
class Stop:
    """Why there are no results.

    `unsupported`: the way lacks a feature. `refused`: it refuses these sizes. `rejected`: it refuses the program.
    `error`: any other exception. `crash` and `timeout`: the process that ran it ended.
    """

    kind: Literal["unsupported", "refused", "rejected", "error", "crash", "timeout"]
    message: str

    @property
    def first_line(self) -> str:
        return self.message.partition("\n")[0]


Outcome: TypeAlias = Stop | tuple[Array, ...]


class Ways(Protocol):
    """Runs modules in several ways."""

    def run(self, way: str, module: Module, inputs: Sequence[Array]) -> Outcome:
        """Run a module in one way; nothing is raised."""
        ...

    def samples(
        self, way: str, module: Module, inputs: Sequence[Array], result: int, numbers: range
    ) -> Sequence[Array]:
        """Give one result of runs of the reference, each with different rounding that is legal for `way`.

        Gives nothing if the reference cannot run.
        """
        ...

    def deviation(self, way: str, module: Module, inputs: Sequence[Array]) -> str:
        """Give the known reason why a way may break the specification for these inputs; else an empty text."""
        ...


class InProcess:
    """Runs programs in this process, which a crash ends."""

    def __init__(self, prepare: Mapping[str, Prepare], device: str = HOST) -> None:
        """`device`: the device of the ways that use this compiler."""
        self._prepare, self._device = prepare, device
        self._ready = lru_cache(_KEPT)(self._prepared)
        self._sampled_call: object = None  # the call that `_samples` belong to
        self._samples = dict[
            tuple[tuple[int, ...], int], Sequence[Array]
        ]()  # by the results of a part, and the number of the run

    def _prepared(self, way: str, module: Module) -> Run | Stop:
        return _guarded(lambda: self._prepare[way](module))

    def run(self, way: str, module: Module, inputs: Sequence[Array]) -> Outcome:
        """Run a module in one way."""
        ready = self._ready(way, module)
        if isinstance(ready, Stop):
            return ready
        # A way may overwrite arguments that the program donates.
        return _guarded(lambda: tuple([np.asarray(x) for x in ready([x.copy() for x in inputs])]))

    def samples(
        self, way: str, module: Module, inputs: Sequence[Array], result: int, numbers: range
    ) -> Sequence[Array]:
        """Give one result of runs of the reference, each with different rounding that is legal for `way`.

        Gives nothing if the reference cannot run.
        """
        found = _guarded(lambda: self._sampled(way, module, inputs, result, numbers))
        return [] if isinstance(found, Stop) else found

    def _sampled(
        self, way: str, module: Module, inputs: Sequence[Array], result: int, numbers: range
    ) -> Sequence[Array]:
        """Cache the runs: several ways use the same ones, and results that share ops come from one run."""
        part, place = _computing(module, result)
        call = (_implementation(way), module, tuple([(x.shape, x.tobytes()) for x in inputs]))
        if call != self._sampled_call:
            self._sampled_call, self._samples = call, {}
        program = _part(module, part)
        for number in numbers:
            if (part, number) not in self._samples:
                (self._samples[part, number],) = perturbed_runs(program, inputs, (number,), call[0])
        return [self._samples[part, number][place] for number in numbers]

    def deviation(self, way: str, module: Module, inputs: Sequence[Array]) -> str:
        """Give the known reason why a way may break the specification for these inputs; else an empty text."""
        found = _guarded(lambda: self._deviation(way, module, inputs))
        return "" if isinstance(found, Stop) else found

    def _deviation(self, way: str, module: Module, inputs: Sequence[Array]) -> str:
        if way == "xla":
            return xla_deviation(module, program_of(module), inputs)
        return target_named(self._device).generator().deviation(program_of(module), inputs)


def _implementation(way: str) -> Implementation:
    """The implementation of functions that a way uses; those of all targets are as exact as the CPU's."""
    return "xla" if way == "xla" else "compiled"


def _guarded(action: Callable[[], Any]) -> Any:
    """Run an action, or give its exception as a `Stop`: whatever a way raises is an outcome."""
    try:
        return action()
    except UnsupportedOpError as error:
        return Stop("unsupported", str(error))
    except CompileError as error:
        return Stop("rejected", str(error))
    except RuntimeShapeError as error:
        return Stop("refused", str(error))
    except ToolchainError as error:
        return Stop("error", str(error))
    except Exception as error:  # noqa: BLE001
        return Stop("error", f"{type(error).__name__}: {error}")


@lru_cache(_KEPT)
def program_of(module: Module) -> Program:
    """The DHLO program of a module."""
    return legalize(module)


@lru_cache(4 * _KEPT)
def _computing(module: Module, result: int) -> tuple[tuple[int, ...], int]:
    """The results that share computation with one of them, and its place among these."""
    program = program_of(module)
    (part,) = (part for part in _parts(program) if result in part)
    return part, part.index(result)


@lru_cache(4 * _KEPT)
def _part(module: Module, results: tuple[int, ...]) -> Program:
    """The program reduced to some of its results, and to all late sizes, which its checks may need."""
    program = program_of(module)
    count = len(program.returned)
    kept = (*(program.returned[number] for number in results), *program.body.results[count:])
    late = tuple([replace(each, result=each.result - count + len(results)) for each in program.late])
    return eliminate_dead_ops(replace(program, body=replace(program.body, results=kept), late=late))


def _parts(program: Program) -> Sequence[tuple[int, ...]]:
    """The numbers of the results, grouped by shared ops that compute something."""
    parts = dict[Tensor, set[Tensor]]()
    for op in program.body.ops:
        joined = set[Tensor]().union(*(parts.get(x, ()) for x in inputs_of(op)))
        if joined or not is_free(op):
            joined.update(op.results)
            parts.update(dict.fromkeys(joined, joined))
    found = dict[int, list[int]]()
    for number, tensor in enumerate(program.returned):
        found.setdefault(id(parts.get(tensor, tensor)), []).append(number)
    return [tuple(numbers) for numbers in found.values()]


def _called(op: Op, _surroundings: Surroundings) -> Replacement:
    """Replace a composite by a call of its decomposition: XLA's shape refinement does not enter composites."""
    call = replace(op, name="func.call", attributes={"callee": op.attributes["decomposition"]})
    return Replacement((call,), op.results)


def standard_ways(config: BuildConfig, *, fast_xla: bool = False) -> dict[str, Prepare]:
    """The ways available on this machine. `fast_xla`: for "xla", XLA compiles with little optimization."""

    def interpreter(module: Module) -> Run:
        program = program_of(module)

        def run(inputs: Sequence[Array]) -> Sequence[Array]:
            try:
                return interpret(program, inputs)
            except RuntimeShapeError:  # perhaps by a branch with unused results, which no other way runs
                return interpret(eliminate_dead_ops(program), inputs)

        return run

    def plain(module: Module) -> str:
        return print_module(replace_ops(module, {"stablehlo.composite": _called}))

    def by_xla(module: Module) -> Run:
        return xla.XlaRunner(plain(module), fast=fast_xla)

    def by_optimized_xla(module: Module) -> Run:
        return xla.XlaRunner(plain(module))

    def specialized(module: Module) -> Run:
        """Compile the program anew for the sizes of each call: all its shapes are numbers."""
        text, compiled = plain(module), ways["compiled"]

        @lru_cache(_SIZES_KEPT)
        def at(shapes: tuple[tuple[int, ...], ...]) -> Run:
            try:
                found = xla.refined(text, shapes)
            except Exception as error:  # whatever MLIR raises: XLA cannot refine all that this compiler takes
                raise UnsupportedOpError(
                    f"XLA does not refine these shapes: {error}", Span(Source("", ""), 0, 0)
                ) from error
            return compiled(parse_module(found))

        return lambda inputs: at(tuple([x.shape for x in inputs]))(inputs)

    ways = {**compiled_ways(config), "interpreter": interpreter}
    of_jax = {"xla": by_xla, OPTIMIZED_XLA: by_optimized_xla, "specialized": specialized}
    return ways | (of_jax if xla_is_installed() else {})
