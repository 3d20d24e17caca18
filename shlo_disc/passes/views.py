"""Cuts long chains of views by materializing a tensor on the way.

Views are inlined at every read, so a chain of n views that is read at every link would give n formulas of up to n
steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.analysis.access import VIEWS
from shlo_disc.dynamic_ops.elementwise import CONVERT
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.limits import LONGEST_VIEWS
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite


def cut_views(program: Program) -> Program:
    """Insert an identity op that is no view after every `LONGEST_VIEWS` views of views."""
    lengths = dict[Tensor, int]()

    def change(op: Op[Any], _producers: Producers) -> Changed:
        if op.name not in VIEWS:
            return op
        (result,) = op.results
        length = 1 + max(lengths.get(x, 0) for x in op.operands)
        if length < LONGEST_VIEWS:
            lengths[result] = length
            return op
        viewed = replace(result, name=f"{result.name}_viewed")
        return replace(op, results=(viewed,)), CONVERT.op((viewed,), NoAttrs(), (result,), op.span)

    return rewrite(program, change)


CUT_VIEWS = Pass("cut_views", cut_views)
