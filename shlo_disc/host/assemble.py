"""The compiled program as plain data for the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, fields, is_dataclass, replace
from itertools import count
from typing import Any, assert_never, cast

from shlo_disc.analysis.limits import limits
from shlo_disc.analysis.sizes import free_symbols
from shlo_disc.artifact import Argument, Artifact, CheckText, Result, SizeLimit, SourceFile, UnbackedSize
from shlo_disc.diagnostics import Span, from_line
from shlo_disc.dynamic_ops.program import Check, Parameter, Program, Tensor
from shlo_disc.emit.remarks import require_plain
from shlo_disc.expr.dim import Dim, of
from shlo_disc.host.program import ControlSource, GridRef, HostCallRef, HostProgram, HostStep, KernelRef, LaunchStep
from shlo_disc.host.size_bounds import numbered_bounds
from shlo_disc.host_ir import (
    Buffer,
    Case,
    Choice,
    Command,
    Constant,
    Copy,
    Fill,
    GridLaunch,
    HostCall,
    Launch,
    LaunchGroup,
    Member,
    Product,
    Step,
    Variant,
    While,
)
from shlo_disc.records import record
from shlo_disc.report_model import ReportModel
from shlo_disc.size_expr import SizeExpr


def assemble(
    program: Program,
    host: HostProgram,
    kernels: tuple[SourceFile, ...],
    driver: SourceFile,
    names: Sequence[str],
    report: ReportModel,
) -> Artifact:
    """Put everything the runtime needs into one record; `names` are the user's names of the arguments."""
    definitions = (*program.definitions, *host.definitions)
    numbers = _Numbers()
    return Artifact(
        name=program.name,
        arguments=tuple(_argument(p, name) for p, name in zip(program.parameters, names, strict=True)),
        results=tuple(Result(t.dtype.numpy, _sizes(t.shape)) for t in program.returned),
        symbols=(*(symbol.name for symbol in program.given), *(s.name for s, _ in definitions)),
        raw=tuple((r.argument, r.axis) for r in program.raw_dims),
        unbacked_sizes=tuple(UnbackedSize(r.argument, r.element) for r in program.unbacked_dims),
        definitions=tuple(d.size_expr() for _, d in definitions),
        checks=tuple(map(_check, program.checks)),
        buffers=cast("tuple[Buffer, ...]", _finished(host.buffers)),
        constants=tuple(
            Constant(t.dtype.numpy, tuple(value.shape), value.tobytes()) for t, value in program.constants.items()
        ),
        arena_bytes=host.arena_bytes.size_expr(),
        steps=tuple([_step(step, numbers) for step in host.steps]),
        kernels=tuple(map(require_plain, kernels)),
        host=require_plain(driver),
        report=report,
        index_spaces=_sizes(host.index_spaces),
        free=tuple(symbol.name for symbol in free_symbols(program)),
        raw_sizes=tuple(
            program.facts.unfolded(program.facts.canonical(of(symbol))).size_expr() for symbol in program.given
        ),
        donations=host.donations,
        packings=tuple([_launch(step) for step in host.packings]),
        conditions=_sizes(host.conditions),
        products=numbered_bounds(host.bounds, [symbol.name for symbol in program.given]),
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
        _sizes(check.values),
        _place(check.span) + from_line(check.origin),
    )


def _place(span: Span) -> str:
    return f"{span.where()}\n{span.excerpt()}"


def _sizes(dims: Sequence[Dim]) -> tuple[SizeExpr, ...]:
    return tuple([d.size_expr() for d in dims])


def _finished(planned: Any) -> Any:
    """Convert a record of the plan for the artifact: dims become `SizeExpr`s, references to its source None."""
    match planned:
        case Dim():
            return planned.size_expr()
        case ControlSource() | Tensor():
            return None
        case tuple():
            return tuple([_finished(each) for each in cast("tuple[Any, ...]", planned)])
        case _ if is_dataclass(planned) and not isinstance(planned, type):
            changed = {one.name: _finished(getattr(planned, one.name)) for one in fields(planned)}
            return replace(planned, **changed)
        case _:
            return planned


@record
class _Numbers:
    """Counters of choices and host calls, in the order of the steps."""

    choices: Iterator[int] = field(default_factory=count)
    host_calls: Iterator[int] = field(default_factory=count)


def _step(step: HostStep, numbers: _Numbers) -> Step:
    match step:
        case LaunchStep():
            return _leaf(step, numbers)
        case LaunchGroup(members):
            launched = tuple([replace(_finished(_bare(m)), launch=_launch(m.launch)) for m in members])
            return replace(_finished(replace(step, members=())), members=launched)
        case Copy():
            return step
        case While(condition, flag, body):
            return While(_steps(condition, numbers), flag, _steps(body, numbers))
        case Case(index, dtype, branches):
            return Case(index, dtype, tuple([_steps(branch, numbers) for branch in branches]))
        case _:
            assert_never(step)


def _steps(steps: Sequence[HostStep], numbers: _Numbers) -> tuple[Step, ...]:
    return tuple([_step(step, numbers) for step in steps])


def _bare(member: Member[Dim, LaunchStep]) -> Member[Dim, None]:
    """A member without its launch."""
    return Member(None, member.symbols, member.tasks, member.extent, member.held)


def _launch(step: LaunchStep) -> Launch:
    kernel = step.kernel
    assert isinstance(kernel, KernelRef), "threads share what runs on the CPU"
    launch = replace(kernel.launch, buffers=step.slots, replaced=step.replaced, unless=step.unless)
    return cast("Launch", _finished(launch))


def _leaf(step: LaunchStep, numbers: _Numbers) -> Launch | Choice | HostCall:
    kernel, slots = step.kernel, step.slots
    match kernel:
        case GridRef():
            variants = tuple([_variant(v, slots) for v in kernel.variants])
            return Choice(next(numbers.choices), cast("tuple[Variant, ...]", _finished(variants)))
        case HostCallRef():
            first = len(slots) - kernel.results
            number = next(numbers.host_calls)
            return HostCall(
                number, kernel.name, kernel.library, slots[:first], slots[first:], kernel.attributes, kernel.place
            )
        case KernelRef():
            return _launch(step)
        case _:
            assert_never(kernel)


def _variant(variant: Variant[Dim], slots: Sequence[int]) -> Variant[Dim]:
    """The variant with commands that name slots, not positions in the slots of its step."""
    return replace(variant, commands=tuple([_command(one, slots) for one in variant.commands]))


def _command(command: Command[Dim], slots: Sequence[int]) -> Command[Dim]:
    match command:
        case GridLaunch(buffers=buffers):
            return replace(command, buffers=tuple([slots[k] for k in buffers]))
        case Product(a, b, c):
            return replace(command, a=slots[a], b=slots[b], c=slots[c])
        case Copy(source, target):
            return Copy(slots[source], slots[target])
        case Fill(target, byte):
            return Fill(slots[target], byte)
        case _:
            assert_never(command)
