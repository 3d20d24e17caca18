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
from shlo_disc.size_expr import SizeExpr


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
        results=tuple(Result(t.dtype.numpy, tuple(d.size_expr() for d in t.shape)) for t in program.returned),
        symbols=(*(symbol.name for symbol in program.given), *(s.name for s, _ in definitions)),
        raw=tuple((r.argument, r.axis) for r in program.raw_dims),
        readings=tuple(Reading(r.argument, r.element) for r in program.readings),
        definitions=tuple(d.size_expr() for _, d in definitions),
        checks=tuple(map(_check, program.checks)),
        buffers=tuple(map(_buffer, host.buffers)),
        constants=tuple(
            Constant(t.dtype.numpy, tuple(value.shape), value.tobytes()) for t, value in program.constants.items()
        ),
        arena_bytes=host.arena_bytes.size_expr(),
        steps=_steps(host.steps, _Numbers()),
        kernels=tuple(map(require_plain, kernels)),
        host=require_plain(driver),
        overview=overview,
        index_spaces=_sizes(host.index_spaces),
        free=tuple(symbol.name for symbol in free_symbols(program)),
        raw_sizes=tuple(
            program.facts.unfolded(program.facts.canonical(of(symbol))).size_expr() for symbol in program.given
        ),
        donations=host.donations,
        packings=tuple([_run(step) for step in host.packings]),
        conditions=_sizes(host.conditions),
        limits=tuple([SizeLimit(_sizes(x.dims), x.unit, x.what, _place(x.span)) for x in limits(program)]),
    )


def _argument(parameter: Parameter, name: str) -> Argument:
    shape = tuple(d.constant if d.constant is not None else str(d) for d in parameter.raw_shape)
    return Argument(name, parameter.tensor.dtype.numpy, shape)


def _check(check: Check) -> CheckText:
    return CheckText(
        check.lhs.size_expr(),
        check.relation.value,
        check.rhs.size_expr(),
        check.message,
        tuple(d.size_expr() for d in check.values),
        _place(check.span) + from_line(check.origin),
    )


def _place(span: Span) -> str:
    return f"{span.where()}\n{span.excerpt()}"


def _buffer(buffer: HostBuffer) -> Buffer:
    return Buffer(
        buffer.kind,
        buffer.number,
        buffer.offset.size_expr(),
        buffer.size.size_expr(),
        repr(buffer.tensor),
        buffer.tensor.dtype.numpy,
        _sizes(buffer.tensor.shape),
        buffer.first,
        buffer.last,
        buffer.memory,
        buffer.packed,
        None if buffer.whole is None else buffer.whole.size_expr(),
    )


def _sizes(dims: Sequence[Dim]) -> tuple[SizeExpr, ...]:
    return tuple(d.size_expr() for d in dims)


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
    sizes = (kernel.extent.size_expr(), kernel.grain.size_expr(), kernel.scratch.size_expr())
    chosen = tuple(map(_selection, kernel.selections))
    return Launch(kernel.name, step.slots, kernel.symbols, *sizes, step.replaced, chosen, step.unless)


def _region(step: RegionStep) -> Region:
    members = [
        Member(
            *(_run(m.launch), m.symbols, m.pieces.size_expr(), m.extent.size_expr()),
            tuple([(held.position, held.size.size_expr()) for held in m.held]),
        )
        for m in step.members
    ]
    return Region(tuple(members), *_sizes((step.rows, step.units, step.grain, step.work, step.scratch)))


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
    m, n, k, batch = _sizes((chosen.shape.m, chosen.shape.n, chosen.shape.k, chosen.shape.batch))
    return Selection(
        chosen.product,
        m,
        n,
        k,
        batch,
        chosen.candidates,
        chosen.rates,
        chosen.number.size_expr(),
        chosen.threads,
        chosen.how,
    )


def _variant(variant: CallVariant, slots: Sequence[int]) -> Variant:
    guards = tuple(Guard(g.lhs.size_expr(), g.relation, g.rhs.size_expr()) for g in variant.guards)
    return Variant(variant.label, guards, variant.aligned, tuple(_command(call, slots) for call in variant.calls))


def _command(call: Call, slots: Sequence[int]) -> Command:
    match call:
        case GridCall():
            return GridLaunch(
                call.kernel,
                tuple(slots[k] for k in call.buffers),
                call.symbols,
                call.blocks.size_expr(),
                call.threads,
                call.shared.size_expr(),
                call.cycles.size_expr(),
                call.latency.size_expr(),
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
        a_offset=call.a_offset.size_expr(),
        b_offset=call.b_offset.size_expr(),
        c_offset=call.c_offset.size_expr(),
        a_leading=call.a_leading.size_expr(),
        b_leading=call.b_leading.size_expr(),
        c_leading=call.c_leading.size_expr(),
        a_transposed=call.a_transposed,
        b_transposed=call.b_transposed,
        m=call.m.size_expr(),
        n=call.n.size_expr(),
        k=call.k.size_expr(),
        batch=tuple(BatchLoop(*_sizes((b.extent, b.a_stride, b.b_stride, b.c_stride))) for b in call.batch),
        dtypes=(call.dtypes[0].numpy, call.dtypes[1].numpy),
        compute=call.compute,
    )
