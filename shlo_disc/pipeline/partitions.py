"""Programs in partitions, cut where sizes become known during a call: each partition is compiled by itself.

A partition is a program whose sizes are known when it starts, or a loop or a choice between branches. What these run
are programs like the module's, so they are compiled by `compile_unit` again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from shlo_disc.artifact import Artifact, Branches, Loop, SourceFile
from shlo_disc.dynamic_ops.control import OUTLINED_WHILE, OutlinedAttrs
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.host.partitions import control, join, value_names
from shlo_disc.host.peaks import Need, need_of_control, need_of_part, peak
from shlo_disc.host.program import HostProgram
from shlo_disc.passes.partitions import split
from shlo_disc.pipeline.back_end import assemble_artifact, generate_code, points_of
from shlo_disc.pipeline.units import Compilation, CompilationUnit, CompiledUnit, GeneratedCode

CompileUnit: TypeAlias = Callable[[Compilation, CompilationUnit], CompiledUnit]


def compile_partitions(compilation: Compilation, unit: CompilationUnit, compile_unit: CompileUnit) -> CompiledUnit:
    """Compile a program in partitions; `compile_unit` compiles what loops and branches run.

    A donated argument is overwritten by the last partition, if that takes it. The carries of a loop are overwritten as
    early as possible: after an error they are not visible.
    """
    cut = split(unit.program, unit.donated if unit.is_inner else ())
    unit = replace(unit, program=cut.program)
    names = value_names(unit.program, cut, unit.names)
    parts = list[tuple[Need, Artifact | Loop | Branches]]()
    for partition in cut.partitions:
        if not isinstance(partition.runs, Program):
            parts.append(_compile_control(compilation, partition.runs, compile_unit))
            continue
        dead = unit.donated.union(partition.last) if partition is cut.partitions[-1] else set(partition.last)
        donated = frozenset(k for k, number in enumerate(partition.inputs) if number in dead)
        inputs = [names[number] for number in partition.inputs]
        parts.append(_compile_part(compilation, replace(unit, program=partition.runs, names=inputs, donated=donated)))
    with compilation.watch.stage("describe"):
        need = peak(unit.program, cut, [need for need, _ in parts], is_inner=unit.is_inner)
        code = GeneratedCode(HostProgram((), (), (), need.bytes, ()), SourceFile("host", ""), (), points_of(unit))
    whole = assemble_artifact(compilation, replace(unit, program=replace(unit.program, constants={})), code)
    return CompiledUnit(join(whole, unit.program, cut, [part for _, part in parts], need.iterations), need)


def _compile_part(compilation: Compilation, unit: CompilationUnit) -> tuple[Need, Artifact]:
    """Compile a partition without loops, branches and late sizes."""
    code = generate_code(compilation, unit)
    return need_of_part(code.host), assemble_artifact(compilation, unit, code)


def _compile_control(
    compilation: Compilation, op: Op[OutlinedAttrs], compile_unit: CompileUnit
) -> tuple[Need, Loop | Branches]:
    """Compile a loop or branches; the body of a loop may overwrite what is carried."""
    carried = frozenset(range(len(op.results) - 1)) if OUTLINED_WHILE.defines(op) else frozenset[int]()
    found = list[CompiledUnit]()
    for number, program in enumerate(op.attrs.programs):
        names = [f"%{parameter.tensor.name}" for parameter in program.parameters]
        donated = carried if number else frozenset[int]()
        found.append(compile_unit(compilation, CompilationUnit(program, names, donated, is_inner=True)))
    need = need_of_control(op, [one.need for one in found], compilation.iterations)
    return need, control(op, [one.artifact for one in found])
