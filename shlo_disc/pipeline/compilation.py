"""The compiler in the order it runs: from StableHLO text to an artifact."""

from __future__ import annotations

from shlo_disc.artifact import Artifact
from shlo_disc.fusion.planners import FUSIONS
from shlo_disc.gc_pause import gc_paused
from shlo_disc.host.peaks import iteration_size_names
from shlo_disc.ir.core import Module
from shlo_disc.kernels.groups import Fuse
from shlo_disc.parse.origins import naming_origins
from shlo_disc.passes.partitions import is_partitioned
from shlo_disc.pipeline.back_end import assemble_artifact, generate_code, memory_need, run_passes
from shlo_disc.pipeline.front_end import legalize_module, parse_text, verify_module
from shlo_disc.pipeline.partitions import compile_partitions
from shlo_disc.pipeline.ragged_rows import pack_rows
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.pipeline.units import Compilation, CompilationUnit, CompiledUnit


@gc_paused()
def compile_text(text: str, file: str, request: Request, watch: Stopwatch, fuse: Fuse | None = None) -> Artifact:
    """StableHLO text to an artifact. `fuse`: as in `compile_module`."""
    module = parse_text(text, file, request, watch)
    return compile_module(module, request, watch, fuse)


@gc_paused()
def compile_module(module: Module, request: Request, watch: Stopwatch, fuse: Fuse | None = None) -> Artifact:
    """Compile a parsed module to an artifact.

    `fuse` is the fusion planner; None takes the one that the options name. An artifact of another planner must not be
    cached by `request.key`, which does not identify it. Only `compile_for` caches artifacts, and it passes no planner.
    """
    verify_module(module, watch)
    with naming_origins(module):
        unit = pack_rows(module, legalize_module(module, request, watch), request, watch)
        planner = watch.timed("fuse", fuse or FUSIONS[request.options.fusion])
        compilation = Compilation(module, request, watch, planner, iteration_size_names(unit.program))
        return compile_unit(compilation, unit).artifact


def compile_unit(compilation: Compilation, unit: CompilationUnit) -> CompiledUnit:
    """Compile a legalized program: the module's, or what a loop or a branch in partitions runs."""
    unit = run_passes(compilation, unit)
    if is_partitioned(unit.program):
        return compile_partitions(compilation, unit, compile_unit)
    code = generate_code(compilation, unit)
    artifact = assemble_artifact(compilation, unit, code)
    return CompiledUnit(artifact, memory_need(unit, code))
