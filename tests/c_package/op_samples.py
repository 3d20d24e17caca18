"""The samples of DHLO's ops as programs, many in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shlo_disc.artifact import Artifact
from shlo_disc.dynamic_ops.program import Body, Op, Parameter, Program, Tensor
from shlo_disc.expr.facts import Facts
from shlo_disc.fusion.planners import FUSIONS
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import Request, Stopwatch
from shlo_disc.pipeline.compilation import compile_unit
from shlo_disc.pipeline.units import Compilation, CompilationUnit
from shlo_disc.schedules.tables import Scheduling
from tests.dynamic_ops.sampling import Sample


def artifact_of(samples: Sequence[Sample], scheduling: Scheduling) -> Artifact:
    """A program that takes the inputs of all samples, in order, and returns all their results."""
    program = _program(samples)
    names = [parameter.tensor.name for parameter in program.parameters]
    request = Request("cpu", CompileOptions(), scheduling=scheduling)
    module = parse_module("func.func @main() { return }")  # of which reports show lines
    compilation = Compilation(module, request, Stopwatch(), FUSIONS["full"], iter(()))
    return compile_unit(compilation, CompilationUnit(program, names, frozenset())).artifact


def _program(samples: Sequence[Sample]) -> Program:
    ops = [_renamed(sample.op, number) for number, sample in enumerate(samples)]
    arguments = tuple([tensor for op in ops for tensor in op.operands])
    results = tuple([tensor for op in ops for tensor in op.results])
    parameters = tuple([Parameter(tensor, tensor.shape) for tensor in arguments])
    return Program("main", parameters, (), (), (), Facts(), Body(arguments, tuple(ops), results), {}, {}, {}, {})


def _renamed(op: Op[Any], number: int) -> Op[Any]:
    def renamed(tensor: Tensor) -> Tensor:
        return replace(tensor, name=f"s{number}_{tensor.name}")

    return replace(op, operands=tuple(map(renamed, op.operands)), results=tuple(map(renamed, op.results)))
