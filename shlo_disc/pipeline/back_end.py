"""The steps from DHLO to an artifact: passes, fusion and code generation, report and assembly."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import Point, likely_points
from shlo_disc.artifact import Artifact, SourceFile
from shlo_disc.boundary import boundary
from shlo_disc.host.assemble import assemble
from shlo_disc.host.describe import describe
from shlo_disc.host.peaks import Need, need_of_part, with_results
from shlo_disc.host.plan import plan_host
from shlo_disc.kernels.groups import Context
from shlo_disc.passes import PASSES
from shlo_disc.passes.precision import demand_highest_precision
from shlo_disc.pipeline.units import Compilation, CompilationUnit, GeneratedCode
from shlo_disc.runtime.threads import available_threads
from shlo_disc.targets import target_named

KERNEL_FILES = 2  # compiled in parallel, if there are cores for it; more cost more in headers than they save


def run_passes(compilation: Compilation, unit: CompilationUnit) -> CompilationUnit:
    """Rewrite the program by the passes of the target and those of all targets."""
    request, program = compilation.request, unit.program
    with compilation.watch.stage("passes"):
        generator = target_named(request.device).generator()
        for step in (*generator.first, *PASSES, *generator.last):
            with boundary(step.name):
                program = step.run(program)
        if request.options.matmul_precision == "highest":
            program = demand_highest_precision(program)
    return replace(unit, program=program)


def generate_code(compilation: Compilation, unit: CompilationUnit) -> GeneratedCode:
    """Fuse the ops of a program without late sizes, print a kernel for each group, and plan steps and memory."""
    request, program = compilation.request, unit.program
    with compilation.watch.stage("generate"):
        points = points_of(unit)
        generator, producers = target_named(request.device).generator(), producers_of(program.body)
        lowering = generator.start(program, producers, request.scheduling)
        context = Context(program.facts, producers, lowering.abilities, points)
        host = plan_host(program, context, compilation.fuse, lowering.lower, unit.donated)
        kernels = lowering.sources(min(KERNEL_FILES, available_threads()))
        driver = SourceFile("host", generator.print_host(program, host))
    return GeneratedCode(host, driver, kernels, points)


def assemble_artifact(compilation: Compilation, unit: CompilationUnit, code: GeneratedCode) -> Artifact:
    """Describe what was compiled for reports, and put everything that the runtime needs into one record."""
    program, names = unit.program, unit.names
    with compilation.watch.stage("describe"):
        report = describe(program, code.host, names, code.points, compilation.module)
        artifact = assemble(program, code.host, code.kernels, code.driver, names, report)
    return replace(artifact, device=compilation.request.device)


def points_of(unit: CompilationUnit) -> tuple[Point, ...]:
    """The sizes that a unit is optimized for."""
    return likely_points(unit.program, dict(unit.likely))


def memory_need(unit: CompilationUnit, code: GeneratedCode) -> Need:
    """The memory that a program without late sizes needs."""
    need = need_of_part(code.host)
    return with_results(unit.program, need) if unit.is_inner else need
