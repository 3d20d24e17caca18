"""The analysis of a padded program, from its text."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.parse.origins import find_origins, naming_origins
from shlo_disc.pipeline.front_end import legalize_module, parse_text, verify_module
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.ragged.analysis import RaggedAnalysis
from shlo_disc.ragged.explain import spans_of
from shlo_disc.ragged.program import analyse_program
from shlo_disc.ragged.sizes import ragged_sizes


def analyse_text(text: str, file: str, request: Request, ragged: Mapping[str, str | int]) -> RaggedAnalysis:
    """Find out which results are independent of the padding. `ragged`: as for `analyse_ragged`."""
    watch = Stopwatch()
    module = parse_text(text, file, request, watch)
    verify_module(module, watch)
    with naming_origins(module):
        unit = legalize_module(module, request, watch)
    names, sizes = ragged_sizes(module, unit.program, unit.names, ragged)
    analysis = analyse_program(unit.program, sizes)
    spans = spans_of(analysis) | {op.span for op in unit.program.body.walk()}
    return RaggedAnalysis(analysis, names, find_origins(module, spans))
