"""Queries beyond the lengths: rows of masked scores that nothing needs.

Attention runs on padded tensors. It skips blocks of scores that a mask hides, so the rows of queries beyond the lengths
are hidden, too, where nothing but the products with the values reads what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shlo_disc.dynamic_ops import contract, elementwise
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.ragged.demand import Demands
from shlo_disc.ragged.pairs import Pair, Pairs, is_within
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.states import Known
from shlo_disc.ragged.steps import read_in_bodies
from shlo_disc.ragged.values import single_position, whole_state
from shlo_disc.records import record


@record(eq=False)
class HiddenQueries:
    """The rows to hide: of masked scores, by the op that selects them, and of the products with values, to be zeros."""

    scores: dict[Op[Any], Pair]
    products: dict[Op[Any], Pair]


def hidden_queries(analysis: ProgramAnalysis, demands: Demands, pairs: Pairs) -> HiddenQueries:
    """Find the scores whose rows beyond the lengths may be hidden."""
    found = HiddenQueries({}, {})
    users = dict[Tensor, list[Op[Any]]]()
    for op in analysis.program.body.ops:
        for x in dict.fromkeys(op.operands):
            users.setdefault(x, []).append(op)
    kept = {*analysis.program.body.results, *(x for op in analysis.program.body.ops for x in read_in_bodies(op))}
    for op in analysis.program.body.ops:
        for pair in _rows_of_scores(op, analysis, demands, pairs):
            products = dict[Op[Any], Pair]()
            if _reach(op.results[0], pair, analysis, users, kept, products):
                found.scores[op] = pair
                found.products.update(products)
                break
    return found


def _rows_of_scores(op: Op[Any], analysis: ProgramAnalysis, demands: Demands, pairs: Pairs) -> Iterator[Pair]:
    """The pairs of masked scores beyond which nothing is needed, if an op selects some."""
    if not elementwise.SELECT.defines(op) or op.results[0] not in demands.tensors:
        return
    fill = whole_state(analysis.context.of(op.operands[2]))
    if not isinstance(fill, Known) or fill.value != float("-inf"):
        return
    result = op.results[0]
    value, demand = analysis.context.of(result), demands.tensors[result]
    mentioned = pairs.mentioned(value, demand)
    signs = analysis.context.space(value.factors)
    if len(mentioned) > 1:
        yield from (pair for pair in mentioned if is_within(pair, demand, signs))


def _reach(
    tensor: Tensor,
    pair: Pair,
    analysis: ProgramAnalysis,
    users: dict[Tensor, list[Op[Any]]],
    kept: set[Tensor],
    products: dict[Op[Any], Pair],
) -> bool:
    """Whether all that is made of a tensor has its rows, up to products, which are collected."""
    if tensor in kept:
        return False
    for op in users.get(tensor, ()):
        step = analysis.context.steps[op]
        for x, places in zip(op.operands, step.reading.places, strict=True):
            if x is not tensor:
                continue
            rows = None if places is None else (places[pair.row], places[pair.position])
            if rows is None or rows[0] is None or rows[1] is None:
                return False
            row, position = single_position(rows[0]), single_position(rows[1])
            if row is None or position is None or max(row, position) >= step.reading.kept:
                return False
            there = Pair(pair.source, row, position)
            if contract.DOT.defines(op):
                products[op] = there
            elif not _reach(op.results[0], there, analysis, users, kept, products):
                return False
    return True
