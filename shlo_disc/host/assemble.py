"""The compiled program as plain data for the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import assert_never

from shlo_disc.analysis.limits import limits
from shlo_disc.analysis.sizes import free_symbols
from shlo_disc.artifact import (
    Argument,
    Artifact,
    BatchLoop,
    Buffer,
    Case,
    CheckText,
    Choice,
    Command,
    Constant,
    Copy,
    Fill,
    GridLaunch,
    Guard,
    HostCall,
    Launch,
    Member,
    Product,
    Reading,
    Region,
    Result,
    SizeLimit,
    SourceFile,
    Step,
    Variant,
    While,
)
from shlo_disc.diagnostics import Span, from_line
from shlo_disc.dynamic_ops.program import Check, Parameter, Program
from shlo_disc.emit.remarks import require_plain
from shlo_disc.expr.dim import Dim, of
from shlo_disc.host.program import (
    Call,
    CallVariant,
    CaseStep,
    Chosen,
    CopyCall,
    CopyStep,
    FillCall,
    GridCall,
    GridRef,
    HostBuffer,
    HostCallRef,
    HostProgram,
    HostStep,
    KernelRef,
    LaunchStep,
    ProductCall,
    RegionStep,
    WhileStep,
)
from shlo_disc.overview import Overview
from shlo_disc.schedules.selection import Selection


def assemble(
    program: Program,
    host: HostProgram,
    kernels: tuple[SourceFile, ...],
    driver: SourceFile,
    names: Sequence[str],
    overview: Overview,
) -> Artifact:
    """Put everything the runtime needs into one record; `names` are the user's names of the arguments."""
    definitions = (*program.definitions, *host.definitions)
    return Artifact(
        name=program.name,
        arguments=tuple(_argument(p, name) for p, name in zip(program.parameters, names, strict=True)),
        results=tuple(Result(t.dtype.numpy, tuple(d.python() for d in t.shape)) for t in program.returned),
        symbols=(*(symbol.name for symbol in program.given), *(s.name for s, _ in definitions)),
        raw=tuple((r.argument, r.axis) for r in program.raw_dims),
        readings=tuple(Reading(r.argument, r.element) for r in program.readings),
        definitions=tuple(d.python() for _, d in definitions),
        checks=tuple(map(_check, program.checks)),
        buffers=tuple(map(_buffer, host.buffers)),
        constants=tuple(
            Constant(t.dtype.numpy, tuple(value.shape), value.tobytes()) for t, value in program.constants.items()
        ),
        arena_bytes=host.arena_bytes.python(),
        steps=_steps(host.steps, _Numbers()),
        kernels=tuple(map(require_plain, kernels)),
        host=require_plain(driver),
        overview=overview,
        index_spaces=_texts(host.index_spaces),
        free=tuple(symbol.name for symbol in free_symbols(program)),
        raw_sizes=tuple(
            program.facts.unfolded(program.facts.canonical(of(symbol))).python() for symbol in program.given
        ),
        donations=host.donations,
        packings=tuple([_run(step) for step in host.packings]),
        conditions=_texts(host.conditions),
        limits=tuple([SizeLimit(_texts(x.dims), x.unit, x.what, _place(x.span)) for x in limits(program)]),
    )


def _argument(parameter: Parameter, name: str) -> Argument:
    shape = tuple(d.constant if d.constant is not None else str(d) for d in parameter.raw_shape)
    return Argument(name, parameter.tensor.dtype.numpy, shape)


def _check(check: Check) -> CheckText:
    return CheckText(
        check.lhs.python(),
        check.relation.value,
        check.rhs.python(),
        check.message,
        tuple(d.python() for d in check.values),
        _place(check.span) + from_line(check.origin),
    )


def _place(span: Span) -> str:
    return f"{span.where()}\n{span.excerpt()}"


def _buffer(buffer: HostBuffer) -> Buffer:
    return Buffer(
        buffer.kind,
        buffer.number,
        buffer.offset.python(),
        buffer.size.python(),
        repr(buffer.tensor),
        buffer.tensor.dtype.numpy,
        _texts(buffer.tensor.shape),
        buffer.first,
        buffer.last,
        buffer.memory,
        buffer.packed,
        None if buffer.whole is None else buffer.whole.python(),
    )


def _texts(dims: Sequence[Dim]) -> tuple[str, ...]:
    return tuple(d.python() for d in dims)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What counts choices and host calls, in the order of the steps."""

    choices: Iterator[int] = field(default_factory=count)
    host_calls: Iterator[int] = field(default_factory=count)


def _steps(steps: Sequence[HostStep], numbers: _Numbers) -> tuple[Step, ...]:
    return tuple(_step(step, numbers) for step in steps)


def _step(step: HostStep, numbers: _Numbers) -> Step:
    match step:
        case LaunchStep():
            return _launch(step, numbers)
        case RegionStep():
            return _region(step)
        case CopyStep(source, target):
            return Copy(source, target)
        case WhileStep(condition, flag, body):
            return While(_steps(condition, numbers), flag, _steps(body, numbers))
        case CaseStep(index, dtype, branches):
            return Case(index, dtype.numpy, tuple(_steps(branch, numbers) for branch in branches))
        case _:
            assert_never(step)


def _run(step: LaunchStep) -> Launch:
    kernel = step.kernel
    assert isinstance(kernel, KernelRef), "threads share what runs on the CPU"
    sizes = (kernel.extent.python(), kernel.grain.python(), kernel.scratch.python())
    chosen = tuple(map(_selection, kernel.selections))
    return Launch(kernel.name, step.slots, kernel.symbols, *sizes, step.replaced, chosen, step.unless)


def _region(step: RegionStep) -> Region:
    members = [
        Member(
            *(_run(m.launch), m.symbols, m.pieces.python(), m.extent.python()),
            tuple([(held.position, held.size.python()) for held in m.held]),
        )
        for m in step.members
    ]
    return Region(tuple(members), *_texts((step.rows, step.units, step.grain, step.work, step.scratch)))


def _launch(step: LaunchStep, numbers: _Numbers) -> Step:
    kernel, slots = step.kernel, step.slots
    match kernel:
        case GridRef():
            return Choice(next(numbers.choices), tuple(_variant(v, slots) for v in kernel.variants))
        case HostCallRef():
            first = len(slots) - kernel.results
            number = next(numbers.host_calls)
            return HostCall(number, kernel.name, slots[:first], slots[first:], kernel.attributes, kernel.place)
        case KernelRef():
            return _run(step)
        case _:
            assert_never(kernel)


def _selection(chosen: Chosen) -> Selection:
    m, n, k, batch = _texts((chosen.shape.m, chosen.shape.n, chosen.shape.k, chosen.shape.batch))
    return Selection(
        chosen.product,
        m,
        n,
        k,
        batch,
        chosen.candidates,
        chosen.rates,
        chosen.number.python(),
        chosen.threads,
        chosen.how,
    )


def _variant(variant: CallVariant, slots: Sequence[int]) -> Variant:
    guards = tuple(Guard(g.lhs.python(), g.relation, g.rhs.python()) for g in variant.guards)
    return Variant(variant.label, guards, variant.aligned, tuple(_command(call, slots) for call in variant.calls))


def _command(call: Call, slots: Sequence[int]) -> Command:
    match call:
        case GridCall():
            return GridLaunch(
                call.kernel,
                tuple(slots[k] for k in call.buffers),
                call.symbols,
                call.blocks.python(),
                call.threads,
                call.shared.python(),
                call.cycles.python(),
                call.latency.python(),
                call.pipelined,
            )
        case ProductCall():
            return _product(call, slots)
        case CopyCall(source, target):
            return Copy(slots[source], slots[target])
        case FillCall(target, byte):
            return Fill(slots[target], byte)
        case _:
            assert_never(call)


def _product(call: ProductCall, slots: Sequence[int]) -> Product:
    return Product(
        a=slots[call.a],
        b=slots[call.b],
        c=slots[call.c],
        a_offset=call.a_offset.python(),
        b_offset=call.b_offset.python(),
        c_offset=call.c_offset.python(),
        a_leading=call.a_leading.python(),
        b_leading=call.b_leading.python(),
        c_leading=call.c_leading.python(),
        a_transposed=call.a_transposed,
        b_transposed=call.b_transposed,
        m=call.m.python(),
        n=call.n.python(),
        k=call.k.python(),
        batch=tuple(BatchLoop(*_texts((b.extent, b.a_stride, b.b_stride, b.c_stride))) for b in call.batch),
        dtypes=(call.dtypes[0].numpy, call.dtypes[1].numpy),
        compute=call.compute,
    )
