"""The whole compiler, in the order it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.limits import limits
from shlo_disc.analysis.sizes import Point, likely_points
from shlo_disc.artifact import Artifact, Branches, Loop, SourceFile
from shlo_disc.boundary import boundary
from shlo_disc.call_signature import Signature
from shlo_disc.choices import read_hints, read_options
from shlo_disc.compiled import Compiled
from shlo_disc.custom_calls import find_hook
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.dynamic_ops.control import OUTLINED_WHILE, OutlinedAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program
from shlo_disc.exported import (
    allow_empty,
    bind_platform,
    deserialize,
    is_exported,
    looks_serialized,
    read_exported,
)
from shlo_disc.expr.dim import Sym
from shlo_disc.fusion.planners import FUSIONS
from shlo_disc.gc_pause import gc_paused
from shlo_disc.host.assemble import assemble
from shlo_disc.host.describe import describe
from shlo_disc.host.partitions import control, join, value_names
from shlo_disc.host.peaks import Need, iteration_size_names, need_of_control, need_of_part, peak, with_results
from shlo_disc.host.plan import plan_host
from shlo_disc.host.program import HostProgram
from shlo_disc.ir.core import Module
from shlo_disc.kernels.groups import Context, Fuse, FusionPlan
from shlo_disc.legalize.constraints import check_likely
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.parse.bytecode import open_program, text_of
from shlo_disc.parse.origins import naming_origins
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.passes import PASSES
from shlo_disc.passes.partitions import is_partitioned, split
from shlo_disc.passes.precision import demand_highest_precision
from shlo_disc.runtime.backend import Backend
from shlo_disc.runtime.building.cache import digest, open_cache, package_digest
from shlo_disc.runtime.steps import host_calls
from shlo_disc.runtime.threads import available_threads
from shlo_disc.schedules.tables import UNKNOWN, Scheduling
from shlo_disc.target_names import HOST
from shlo_disc.targets import default_target, target_named
from shlo_disc.verify.ops import verify

_DEFAULTS, _NO_HINTS = CompileOptions(), Hints()
KERNEL_FILES = 2  # compiled in parallel, if there are cores for it; more cost more in headers than they save


class Stopwatch:
    """Seconds spent in each named stage; those of a stage inside another one count for the inner one alone."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = dict[str, float]()
        self._clock = clock
        self._inside = 0.0  # seconds of the stages within the current one

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        before, self._inside = self._inside, 0.0
        start = self._clock()
        with boundary(name):
            yield
        took = self._clock() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + took - self._inside
        self._inside = before + took

    def timed(self, name: str, fuse: Fuse) -> Fuse:
        """Time a fusion planner as a stage."""

        def watched(body: Body, context: Context) -> FusionPlan:
            with self.stage(name):
                return fuse(body, context)

        return watched


@dataclass(frozen=True, slots=True)
class Request:
    """One compilation: the device, the options, and what the caller declares about the program."""

    device: str = HOST
    options: CompileOptions = _DEFAULTS
    signature: Signature | None = None
    hints: Hints = _NO_HINTS
    scheduling: Scheduling = UNKNOWN

    @property
    def key(self) -> tuple[str, ...]:
        """The cache key besides the text and the compiler; valid only if the options name the fusion planner."""
        signature, options = self.signature, self.options
        known = () if signature is None else (*signature.arguments, str(signature.platform))
        chosen = (options.fusion, options.matmul_precision, self.device)
        return repr(known), repr(chosen), repr(self.hints), repr(self.scheduling)


@gc_paused()
def compile_text(text: str, file: str, request: Request, watch: Stopwatch, fuse: Fuse | None = None) -> Artifact:
    """StableHLO text to an artifact: parse, verify, prove, fuse, generate. `fuse`: as in `compile_module`."""
    with watch.stage("parse"):
        module = parse_module(text, file)
        if request.signature is not None:
            module = bind_platform(module, request.signature.platform)
        if request.hints.allows_empty:
            module = allow_empty(module)
    return compile_module(module, request, watch, fuse)


@gc_paused()
def compile_module(module: Module, request: Request, watch: Stopwatch, fuse: Fuse | None = None) -> Artifact:
    """Compile a parsed module to an artifact.

    `fuse` is the fusion planner; None takes the one that the options name. An artifact of another planner must not be
    cached by `request.key`, which does not identify it. Only `compile_for` caches artifacts, and it passes no planner.
    """
    names = () if request.signature is None else request.signature.arguments
    with watch.stage("verify"):
        verify(module)
    with naming_origins(module), watch.stage("legalize"):
        program = legalize(module, names, request.hints.constraints)
        check_likely(program, request.hints.likely)
        limits(program)  # raises for tensors that no call can have
        donated = _donated(program, request)
    known = names or tuple(f"argument {k}" for k in range(len(program.parameters)))
    with naming_origins(module):
        planner = watch.timed("fuse", fuse or FUSIONS[request.options.fusion])
        generator = _Generator(module, request, watch, planner, iteration_size_names(program))
        return generator.whole(program, known, donated)[0]


@dataclass(frozen=True, slots=True)
class _Generator:
    """Makes artifacts. `is_inner`: of a loop's or a branch's program; `iterations`: names of sizes that it computes."""

    module: Module
    request: Request
    watch: Stopwatch
    fuse: Fuse
    iterations: Iterator[Sym]
    is_inner: bool = False

    def whole(self, program: Program, names: Sequence[str], donated: frozenset[int]) -> tuple[Artifact, Need]:
        """The artifact of a legalized program, and the memory that it needs."""
        with self.watch.stage("passes"):
            generator = target_named(self.request.device).generator()
            for step in (*generator.first, *PASSES, *generator.last):
                with boundary(step.name):
                    program = step.run(program)
            if self.request.options.matmul_precision == "highest":
                program = demand_highest_precision(program)
        if is_partitioned(program):
            return self.partitions(program, names, donated)
        host, artifact = self(program, names, donated)
        need = need_of_part(host)
        return artifact, with_results(program, need) if self.is_inner else need

    def __call__(self, program: Program, names: Sequence[str], donated: frozenset[int]) -> tuple[HostProgram, Artifact]:
        """The host program and artifact of a program without late sizes; `names` are those of its arguments."""
        with self.watch.stage("generate"):
            points = likely_points(program, dict(self.request.hints.likely))
            host, driver, kernels = _generate(program, self.request, points, self.fuse, donated)
        with self.watch.stage("describe"):
            report = describe(program, host, names, points, self.module)
            artifact = assemble(program, host, kernels, driver, names, report)
        return host, replace(artifact, device=self.request.device)

    def partitions(self, program: Program, names: Sequence[str], donated: frozenset[int]) -> tuple[Artifact, Need]:
        """The artifact of a program in partitions; a donated argument is overwritten by the last one, if it takes it.

        The carries of a loop are overwritten as early as possible: after an error they are not visible.
        """
        cut = split(program, donated if self.is_inner else ())
        program = cut.program
        called = value_names(program, cut, names)
        parts = list[tuple[Need, Artifact | Loop | Branches]]()
        for partition in cut.partitions:
            if not isinstance(partition.runs, Program):
                parts.append(self._control(partition.runs))
                continue
            free = donated.union(partition.last) if partition is cut.partitions[-1] else set(partition.last)
            given = frozenset(k for k, number in enumerate(partition.inputs) if number in free)
            host, artifact = self(partition.runs, [called[number] for number in partition.inputs], given)
            parts.append((need_of_part(host), artifact))
        with self.watch.stage("describe"):
            need = peak(program, cut, [need for need, _ in parts], is_inner=self.is_inner)
            host = HostProgram((), (), (), need.bytes, ())
            points = likely_points(program, dict(self.request.hints.likely))
            report = describe(program, host, names, points, self.module)
            whole = assemble(replace(program, constants={}), host, (), SourceFile("host", ""), names, report)
        whole = replace(whole, device=self.request.device)
        return join(whole, program, cut, [part for _, part in parts], need.iterations), need

    def _control(self, op: Op[OutlinedAttrs]) -> tuple[Need, Loop | Branches]:
        """Compile a loop or branches; the body of a loop may overwrite what is carried."""
        inner = replace(self, is_inner=True, request=replace(self.request, hints=_NO_HINTS))
        carried = frozenset(range(len(op.results) - 1)) if OUTLINED_WHILE.defines(op) else frozenset[int]()
        found = list[tuple[Artifact, Need]]()
        for number, program in enumerate(op.attrs.programs):
            names = [f"%{parameter.tensor.name}" for parameter in program.parameters]
            found.append(inner.whole(program, names, carried if number else frozenset()))
        need = need_of_control(op, [need for _, need in found], self.iterations)
        return need, control(op, [artifact for artifact, _ in found])


def _donated(program: Program, request: Request) -> frozenset[int]:
    """The numbers of the program's parameters that a call may overwrite. Raises `ShloDiscError` for an unknown one.

    Marks in the text are the exported function's and count for those who call that: they are used only if the caller
    of shlo_disc asks for them.
    """
    signature, count = request.signature, len(program.parameters)
    kept = tuple(range(count)) if signature is None else signature.kept
    leaves = count if signature is None else len(signature.names)
    for number in request.hints.donated:
        if not 0 <= number < leaves:
            expected = (
                f"numbers of flat arguments, from 0 to {leaves - 1}" if leaves else "none: there are no arguments"
            )
            raise ShloDiscError(f"found the number {number} in donate, expected {expected}")
    if request.hints.donates_marked:
        return frozenset(k for k, parameter in enumerate(program.parameters) if parameter.is_marked_donated)
    return frozenset(k for k, leaf in enumerate(kept) if leaf in request.hints.donated)


def _generate(
    program: Program, request: Request, points: tuple[Point, ...], fuse: Fuse, donated: frozenset[int]
) -> tuple[HostProgram, SourceFile, tuple[SourceFile, ...]]:
    """The host program, its driver, and the kernels of one target."""
    generator, producers = target_named(request.device).generator(), producers_of(program.body)
    lowering = generator.start(program, producers, request.scheduling)
    context = Context(program.facts, producers, lowering.abilities, points, program.kept(donated))
    host = plan_host(program, context, fuse, lowering.lower, donated)
    files = lowering.sources(min(KERNEL_FILES, available_threads()))
    return host, SourceFile("host", generator.print_host(program, host)), files


def compile_program(  # noqa: PLR0913 - what is known and wished of one program
    program: Any,
    *,
    device: str | None = None,
    constraints: Sequence[str] = (),
    likely: Mapping[str, Sequence[int]] | None = None,
    donate: Sequence[int] | Literal["marked"] = (),
    threads: int | None = None,
    options: CompileOptions | None = None,
) -> Compiled:
    """Compile StableHLO in any form; `shlo_disc.compile` also takes functions, and describes the arguments."""
    target = default_target() if device is None else target_named(device)
    options = read_options(options, threads)
    hints = read_hints(constraints, likely, donate)
    return compile_for(target.open(options), program, options, hints=hints)


@boundary("compile")
def compile_for(
    backend: Backend,
    program: Any,
    options: CompileOptions,
    *,
    hints: Hints = _NO_HINTS,
    names: Sequence[str] | None = None,
) -> Compiled:
    """Compile for a device of this machine. `names`: of an export's arguments, instead of JAX's."""
    watch, target = Stopwatch(), target_named(backend.target)
    with watch.stage("read"):
        text, file, signature = read_source(program, target.platform, isolate=options.isolate_reader)
    if signature is not None and names is not None:
        signature = replace(signature, names=tuple(names))
    cache = open_cache(options.cache_dir)
    request = Request(target.name, options, signature, hints, target.scheduling(options, text))
    key = digest(text, file, *request.key, target.version or "", package_digest())
    artifact = None if target.version is None else cache.load_artifact(key)
    if artifact is None or not _has_hooks(artifact):  # compiling reports the place of a missing one
        artifact = compile_text(text, file, request, watch)
        if target.version is not None:
            cache.store_artifact(key, artifact)
    return Compiled(backend.load(artifact, options, watch.seconds), signature)


def _has_hooks(artifact: Artifact) -> bool:
    """Whether there is a registered function for every custom call that needs one."""
    calls = [call for part in artifact.parts for call in host_calls(part.steps)]
    targets = [str(call.attributes["target"]) for call in calls if call.callee == "custom_call"]
    return all(find_hook(target, artifact.device) is not None for target in targets)


def read_source(program: Any, platform: str, *, isolate: bool | None = None) -> tuple[str, str, Signature | None]:
    """The text, the name for errors, and the signature (pytrees) of a program in any form.

    `platform`: JAX's name of the platform to use if there are several. `isolate`: `CompileOptions.isolate_reader`.
    """
    if is_exported(program):
        text, name, signature = read_exported(program, platform, isolate=isolate)
        return text, f"<{name}>", signature
    match program:
        case Module():
            return print_module(program, locations=True), "<module>", None
        case bytearray() | memoryview():
            return read_source(bytes(cast("bytearray", program)), platform, isolate=isolate)
        case str() | bytes() | os.PathLike():
            found, name = open_program(cast("str", program))
            if isinstance(found, str):
                return found, name, None
            if looks_serialized(found):
                restored = deserialize(found, "" if isinstance(program, bytes) else name)
                return read_source(restored, platform, isolate=isolate)
            return text_of(found, name, isolate=isolate is not False), name, None
        case _:
            raise ArgumentTypeError(
                f"found a program of type {type(program).__name__}, "
                "expected a jax.export.Exported, StableHLO text, a path to it, or MLIR bytecode\n"
                "  help: export a JAX function first: jax.export.export(jax.jit(function))(*specs)"
            )
