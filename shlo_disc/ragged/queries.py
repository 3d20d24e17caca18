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
from shlo_disc.ragged.steps import OpAnalysis, read_in_bodies
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
            products = _products_of(op.results[0], pair, analysis, users, kept)
            if products is not None:
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


def _products_of(
    tensor: Tensor, pair: Pair, analysis: ProgramAnalysis, users: dict[Tensor, list[Op[Any]]], kept: set[Tensor]
) -> dict[Op[Any], Pair] | None:
    """The products that read what is made of a tensor; None if anything that is made of it has not its rows."""
    found, seen, waiting = dict[Op[Any], Pair](), {(tensor, pair)}, [(tensor, pair)]
    while waiting:
        x, rows = waiting.pop()
        if x in kept:
            return None
        for op, number in _reads(x, users):
            there = _rows_in(analysis.context.steps[op], number, rows)
            if there is None:
                return None
            if contract.DOT.defines(op):
                found[op] = there
                continue
            reached = {(result, there) for result in op.results} - seen
            seen |= reached
            waiting += reached
    return found


def _reads(tensor: Tensor, users: dict[Tensor, list[Op[Any]]]) -> Iterator[tuple[Op[Any], int]]:
    """The ops that take a tensor, and as which operand."""
    for op in users.get(tensor, ()):
        for number, operand in enumerate(op.operands):
            if operand is tensor:
                yield op, number


def _rows_in(step: OpAnalysis, number: int, pair: Pair) -> Pair | None:
    """The pair of an op's results along which it reads that of an operand."""
    places = step.reading.places[number]
    row, position = (None, None) if places is None else (places[pair.row], places[pair.position])
    found = [None if place is None else single_position(place) for place in (row, position)]
    kept = [k for k in found if k is not None and k < step.reading.kept]
    return Pair(pair.source, kept[0], kept[1]) if len(kept) == len(found) else None
