"""What the steps of a compiled program compute and move, for given lengths of its rows and without padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shlo_disc.artifact import Artifact
from shlo_disc.profiling.steps import executed_steps
from shlo_disc.ragged.analysis import RaggedReport, RaggedStep
from shlo_disc.runtime.peak import symbols_at


def with_steps(report: RaggedReport, artifact: Artifact) -> RaggedReport:
    """The report of an analysis, with the steps of the compiled program, whose artifact has its own report.

    Raises `ShloDiscError` if a size of the program is not known, `RuntimeShapeError` if a call of these is refused.
    """
    sizes, full = (_free(artifact, report, k) for k in range(2))
    return replace(report, steps=tuple(_steps(artifact, sizes, full)))


def _free(artifact: Artifact, report: RaggedReport, number: int) -> dict[str, int]:
    """The independent sizes of a program, by name. The sums of lengths are the last late sizes.

    `number`: which of the two numbers of positions they are.
    """
    sums = [one[number] for one in report.positions.values()]
    late = artifact.raw_sizes[artifact.given - len(sums) : artifact.given]
    of_sums = {str(name): value for name, value in zip(late, sums, strict=True)}
    known = {**report.sizes, **of_sums}
    return {name: known[name] for name in artifact.free if name in known}


def _steps(artifact: Artifact, sizes: Mapping[str, int], full: Mapping[str, int]) -> Iterator[RaggedStep]:
    symbols, padded = symbols_at(artifact, sizes), symbols_at(artifact, full)
    for part in artifact.parts:
        for step in executed_steps(part):
            cost, most = step.cost(symbols), step.cost(padded)
            yield RaggedStep(
                kernel=step.name,
                place=step.lines[-1] if step.lines else "",
                flops=cost.flops,
                moved=cost.read + cost.written,
                padded_flops=most.flops,
                padded_moved=most.read + most.written,
                is_of_integers=step.is_of_integers,
                is_attention=step.is_attention,
            )
