"""The step that joins the rows of ragged arguments without their padding."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.diagnostics import ShloDiscError, Span
from shlo_disc.ir.core import Module
from shlo_disc.parse.origins import find_origins
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.pipeline.units import CompilationUnit
from shlo_disc.ragged.explain import assumption_texts, error_text, size_text, spans_of
from shlo_disc.ragged.packing import pack
from shlo_disc.ragged.program import analyse_program
from shlo_disc.ragged.sizes import ragged_sizes


def pack_rows(module: Module, unit: CompilationUnit, request: Request, watch: Stopwatch) -> CompilationUnit:
    """Compute within the lengths alone, if the caller says that sizes are ragged.

    Raises `ShloDiscError` if a result within the lengths may depend on the padding, with the ops on the way.
    """
    if not request.hints.ragged:
        return unit
    with watch.stage("pack"):
        names, sizes = ragged_sizes(module, unit.program, unit.names, dict(request.hints.ragged))
        analysis = analyse_program(unit.program, sizes)
        origins = find_origins(module, spans_of(analysis))

        def origin(span: Span) -> str:
            return origins.get(span) or span.where()

        causes = enumerate([verdict.cause for verdict in analysis.verdicts])
        errors = [error_text(number, cause, names, origin) for number, cause in causes if cause is not None]
        if errors:
            raise ShloDiscError("\n".join(errors))
        notes = [size_text(each, names) for each in analysis.sizes]
        packed = pack(analysis, names)
    program = replace(packed, notes=(*packed.notes, *notes, *assumption_texts(analysis, origin)))
    return replace(unit, program=program)
