"""The step that joins the rows of ragged arguments without their padding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from shlo_disc.diagnostics import ShloDiscError, Span, counted
from shlo_disc.dynamic_ops import contract
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.ir.core import Module
from shlo_disc.parse.origins import find_origins
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.pipeline.units import CompilationUnit
from shlo_disc.ragged.explain import assumption_texts, error_text, size_text, spans_of
from shlo_disc.ragged.packing import pack
from shlo_disc.ragged.program import analyse_program
from shlo_disc.ragged.sizes import ragged_sizes

_PRODUCTS = frozenset({contract.DOT.name, contract.CONVOLUTION.name})


def pack_rows(module: Module, unit: CompilationUnit, request: Request, watch: Stopwatch) -> CompilationUnit:
    """Compute within the lengths alone, if the caller says that sizes are ragged.

    Raises `ShloDiscError` if a result within the lengths may depend on the padding, with the ops on the way.
    """
    if not request.hints.ragged:
        return unit
    with watch.stage("pack"):
        names, sizes = ragged_sizes(module, unit.program, unit.names, dict(request.hints.ragged))
        analysis = analyse_program(unit.program, sizes)
        products = [op.span for op in unit.program.body.ops if op.name in _PRODUCTS]
        origins = find_origins(module, spans_of(analysis) | set(products))

        def origin(span: Span) -> str:
            return origins.get(span) or span.where()

        causes = enumerate([verdict.cause for verdict in analysis.verdicts])
        errors = [error_text(number, cause, names, origin) for number, cause in causes if cause is not None]
        if errors:
            raise ShloDiscError("\n".join(errors))
        packed = pack(analysis, names)
        notes = [size_text(each, names) for each in analysis.sizes]
        notes += _padded_products(packed, len(sizes), origin)
    program = replace(packed, notes=(*packed.notes, *notes, *assumption_texts(analysis, origin)))
    return replace(unit, program=program)


def _padded_products(program: Program, ragged: int, origin: Callable[[Span], str]) -> Iterator[str]:
    """Which matrix products and convolutions are computed within the lengths, and where the others are.

    `ragged`: how many of the late sizes, the last ones, are sums of lengths.
    """
    sums = {each.symbol for each in program.late[-ragged:]}
    products = [op for op in program.body.ops if op.name in _PRODUCTS]

    def is_padded(op: Op[Any]) -> bool:
        return not any(sums & size.symbols() for x in (*op.operands, *op.results) for size in x.shape)

    padded = Counter(origin(op.span) for op in products if is_padded(op))
    if products:
        yield f"ragged: {len(products) - padded.total()} of {counted(len(products), 'product')} on joined rows"
    for where, count in padded.items():
        yield f"ragged: padded at {where}: {counted(count, 'product')}"
