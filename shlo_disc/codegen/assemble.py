"""The compiled program as plain data for the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from shlo_disc.artifact import (
    Argument,
    Artifact,
    Buffer,
    Case,
    CheckText,
    Constant,
    Copy,
    Launch,
    Result,
    SourceFile,
    Step,
    While,
)
from shlo_disc.codegen.host import (
    CaseStep,
    CopyStep,
    HostBuffer,
    HostProgram,
    HostStep,
    LaunchStep,
    WhileStep,
)
from shlo_disc.dynamic_ops.program import Check, Parameter, Program
from shlo_disc.expr.dim import Dim


def assemble(
    program: Program,
    host: HostProgram,
    kernels: tuple[SourceFile, ...],
    driver: SourceFile,
    names: Sequence[str],
    explanation: str,
) -> Artifact:
    """Put everything the runtime needs into one record; `names` are the user's names of the arguments."""
    raw = program.raw_dims
    return Artifact(
        name=program.name,
        arguments=tuple(_argument(p, name) for p, name in zip(program.parameters, names, strict=True)),
        results=tuple(Result(t.dtype.numpy, tuple(d.python() for d in t.shape)) for t in program.body.results),
        symbols=(*(r.symbol.name for r in raw), *(s.name for s, _ in program.definitions)),
        raw=tuple((r.argument, r.axis) for r in raw),
        definitions=tuple(d.python() for _, d in program.definitions),
        checks=tuple(map(_check, program.checks)),
        buffers=tuple(map(_buffer, host.buffers)),
        constants=tuple(
            Constant(t.dtype.numpy, tuple(value.shape), value.tobytes()) for t, value in program.constants.items()
        ),
        arena_bytes=host.arena_bytes.python(),
        steps=_steps(host.steps),
        kernels=kernels,
        host=driver,
        explanation=explanation,
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
        f"{check.span.where()}\n{check.span.excerpt()}",
    )


def _buffer(buffer: HostBuffer) -> Buffer:
    return Buffer(
        buffer.kind,
        buffer.number,
        buffer.offset.python(),
        buffer.size.python(),
        repr(buffer.tensor),
        buffer.tensor.dtype.numpy,
        _texts(buffer.tensor.shape),
    )


def _texts(dims: Sequence[Dim]) -> tuple[str, ...]:
    return tuple(d.python() for d in dims)


def _steps(steps: Sequence[HostStep]) -> tuple[Step, ...]:
    return tuple(map(_step, steps))


def _step(step: HostStep) -> Step:
    match step:
        case LaunchStep(kernel, slots):
            return Launch(
                kernel.name,
                slots,
                kernel.symbols,
                kernel.extent.python(),
                kernel.grain.python(),
                kernel.scratch.python(),
            )
        case CopyStep(source, target):
            return Copy(source, target)
        case WhileStep(condition, flag, body):
            return While(_steps(condition), flag, _steps(body))
        case CaseStep(index, dtype, branches):
            return Case(index, dtype.numpy, tuple(map(_steps, branches)))
        case _:
            assert_never(step)
