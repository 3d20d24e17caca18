"""Packing: rows of a padded program are joined without their padding, and what is linear in them is computed so.

Values within the lengths are stored as packed tensors: CoRa's layout of ragged tensors (Fegade et al., MLSys 2022,
section 4), whose offsets are computed once in a call (`row_offsets.py`). An op whose points within the lengths are all
that is needed (`demand.py`) is computed on packed tensors where a rule here knows how. All others are computed on
padded ones, as the program says. Where these need elements that are one known number, they are; others are replaced by
elements of the same row, so that nothing infinite is computed from them that is not computed from these anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops import contract, elementwise
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Check, LateUnbackedDim, Op, Program, Tensor
from shlo_disc.expr.dim import Sym
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ragged.building import OpList
from shlo_disc.ragged.demand import Demand, Demands, demands_of, lengths_of_result
from shlo_disc.ragged.packed_ops import RULES, SUMS, PackedOps, PackedStep, elementwise_op, place_of
from shlo_disc.ragged.pairs import Pair, Pairs, is_within
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.queries import hidden_queries
from shlo_disc.ragged.row_offsets import RowOffsets
from shlo_disc.ragged.steps import OpAnalysis, read_in_bodies
from shlo_disc.ragged.storage import PackedValue, Storage
from shlo_disc.ragged.values import depends
from shlo_disc.ragged.walk import is_elementwise


class _RowPacking:
    """Goes through a program once, and makes the packed one."""

    def __init__(self, analysis: ProgramAnalysis, demands: Demands, storage: Storage) -> None:
        self._analysis, self._demands, self._storage, self._pairs = analysis, demands, storage, storage.pairs
        self._packed = PackedOps(analysis, storage)
        self._hidden = hidden_queries(analysis, demands, storage.pairs)
        self._of_products = set[Tensor]()  # padded values that padded products of rows made

    def run(self, body: Body) -> None:
        """Add the ops of the packed program."""
        for op in body.ops:
            if not self._is_packed(op):
                self._keep(op)

    def _is_packed(self, op: Op[Any]) -> bool:
        """Add the packed form of an op, if it has one."""
        step = self._analysis.context.steps.get(op)
        if step is None or len(op.results) != 1 or op not in self._demands.points:
            return False
        (result,) = op.results
        pair = self._pairs.of(result)
        if pair is None:
            return self._is_contracted(op, step)
        rule = elementwise_op if is_elementwise(op) else RULES.get(op.name)
        if rule is None or not self._begins(op) or not self._is_needed_within(op, pair):
            return False
        layout = self._storage.layout(result, pair)
        operands = zip(op.operands, step.reading.places, strict=True)
        aligned = tuple([self._packed.is_aligned(x, places, pair) for x, places in operands])
        made = rule(self._packed, PackedStep(op, step, layout, aligned))
        if made is None:
            return False
        self._storage.packed[result] = PackedValue(made, layout)
        return True

    def _begins(self, op: Op[Any]) -> bool:
        """Whether an op has a packed operand, or one that packing begins with.

        It begins with the arguments and what is made of them, and again with products: what is between products of
        rows, as attention is, remains padded.
        """
        if any(x in self._storage.packed for x in op.operands):
            return True
        if contract.DOT.defines(op):
            return True
        of = self._analysis.context.of
        return any(depends(of(x)) and x not in self._of_products for x in op.operands)

    def _keep(self, op: Op[Any]) -> None:
        """Add an op as it is, on padded operands."""
        for tensor in (*op.operands, *read_in_bodies(op)):
            if tensor in self._storage.packed:
                self._storage.as_padded(tensor)
        if (pair := self._hidden.scores.get(op)) is not None:
            self._storage.ops.ops.append(self._without_rows(op, pair))
        elif (pair := self._hidden.products.get(op)) is not None:
            self._with_zeros(op, pair)
        else:
            self._storage.ops.ops.append(op)
        self._storage.padded.update(op.results)
        ragged = [x for x in op.operands if self._pairs.mentioned(self._analysis.context.of(x))]
        if any(x in self._of_products for x in op.operands) or (contract.DOT.defines(op) and ragged):
            self._of_products.update(op.results)

    def _without_rows(self, op: Op[Any], pair: Pair) -> Op[Any]:
        """A selection of scores that hides the rows of queries beyond the lengths, too."""
        where, ops = op.operands[0], self._storage.ops
        inside = ops.reshape(self._inside(op, pair), where.shape, op.span)
        return replace(op, operands=(ops.binary(BinaryFn.AND, where, inside, op.span), *op.operands[1:]))

    def _with_zeros(self, op: Op[Any], pair: Pair) -> None:
        """Add a product with values, whose rows of hidden queries are zeros."""
        (result,), ops, span = op.results, self._storage.ops, op.span
        made = ops.tensor(result.shape, result.dtype, span)
        ops.add(replace(op, results=(made,)))
        inside = ops.reshape(self._inside(op, pair), result.shape, span)
        zeros = ops.constant(0, result.dtype, result.shape, span)
        ops.add(elementwise.SELECT.op((inside, made, zeros), NoAttrs(), (result,), span))

    def _inside(self, op: Op[Any], pair: Pair) -> Tensor:
        """Whether rows of an op's result are within the lengths, with a dim for each factor."""
        factors = self._analysis.context.of(op.results[0]).factors
        return self._storage.rows[pair.source].inside(factors, pair)

    def _is_contracted(self, op: Op[Any], step: OpAnalysis) -> bool:
        """Add an op that sums over all positions of all rows, if it does."""
        rule = SUMS.get(op.name)
        for number, x in enumerate(op.operands if rule is not None else ()):
            own, places = self._stored_pair(x), step.reading.places[number]
            if rule is None or own is None or places is None:
                continue
            row, position = place_of(places, own.row), place_of(places, own.position)
            if row is None or position is None or min(row, position) < step.reading.kept:
                continue
            pair = Pair(own.source, row, position)
            if self._is_needed_within(op, pair) and rule(self._packed, op, number, pair):
                self._storage.padded.add(op.results[0])
                return True
        return False

    def _stored_pair(self, x: Tensor) -> Pair | None:
        """The pair along which a value is packed, or may be."""
        own = self._storage.packed.get(x)
        return self._pairs.of(x) if own is None else own.layout.pair

    def _is_needed_within(self, op: Op[Any], pair: Pair) -> bool:
        """Whether an op is needed within the lengths alone, of a pair of its space."""
        space = self._analysis.context.steps[op].reading.space
        return is_within(pair, self._demands.points[op], self._analysis.context.space(space))


def pack(analysis: ProgramAnalysis, names: Sequence[str]) -> Program:
    """The program of an analysis that proved all results, computed within the lengths; zeros are beyond them.

    Args:
        analysis: the program, and the proof.
        names: of the program's arguments, for errors.

    Returns:
        The program. It reads the lengths' sum while it runs, and refuses lengths that are none.
    """
    program, demands = analysis.program, demands_of(analysis)
    ops, taken = (
        OpList("packed"),
        {each.name for each in program.given} | {each.name for each, _ in program.definitions},
    )
    rows, sums, checks = dict[int, RowOffsets](), dict[Sym, Tensor](), list[Check]()
    for size in analysis.sizes:
        symbol = Sym(_free(f"sum_{size.name}", taken))
        offsets = RowOffsets(size, program.parameters[size.argument], symbol, ops)
        rows[size.argument] = offsets
        sums[symbol] = offsets.late_size(analysis.least)
        checks.append(offsets.check(names[size.argument], analysis.least, program.facts))
    padded = {*(each.tensor for each in program.parameters), *program.constants}
    storage = Storage(ops, rows, Pairs(analysis, demands), analysis.context, padded)
    _RowPacking(analysis, demands, storage).run(program.body)
    returned = [_result(tensor, analysis, storage) for tensor in program.returned]
    read = [storage.as_padded(tensor) for tensor in program.body.results[len(returned) :]]
    first = len(returned) + len(read)
    body = Body(program.body.arguments, tuple(ops.ops), (*returned, *read, *sums.values()))
    late = [LateUnbackedDim(symbol, first + k, 0, x.span) for k, (symbol, x) in enumerate(sums.items())]
    facts = program.facts.with_late(sums)
    for offsets in rows.values():
        facts = facts.assume_at_least(offsets.total, 0, "sums of lengths are not negative", offsets.lengths.span)
    return replace(program, body=body, late=(*program.late, *late), checks=(*program.checks, *checks), facts=facts)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _result(tensor: Tensor, analysis: ProgramAnalysis, storage: Storage) -> Tensor:
    """A result with zeros beyond the lengths."""
    value, ops, span = analysis.context.of(tensor), storage.ops, tensor.span
    within = lengths_of_result(value, analysis)
    pairs = storage.pairs.mentioned(value, Demand(tuple(within), frozenset()))
    packed = storage.packed.get(tensor)
    if packed is not None and pairs == [packed.layout.pair]:
        return storage.with_fill(packed, 0, tensor.shape, span)
    found = storage.as_padded(tensor)
    for pair in pairs:
        factors = value.factors
        mask = storage.rows[pair.source].inside(factors, pair)
        x = ops.reshape(found, factors, span)
        found = ops.reshape(ops.select(mask, x, ops.constant(0, x.dtype, factors, span), span), tensor.shape, span)
    return found
