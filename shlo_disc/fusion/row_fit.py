"""Whether an op stays within the rows of a group, and which rows a group has with one more reduction."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.analysis.reads import Space
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index
from shlo_disc.fusion.cost import Amounts, divided, largest, plus, ratio, times
from shlo_disc.fusion.group_builder import GroupDraft
from shlo_disc.fusion.state import FusionState, MergeRefusal
from shlo_disc.kernels.groups import Machine
from shlo_disc.kernels.op_graph import reduced_dims, row_space, space_of
from shlo_disc.kernels.row_spaces import (
    claims_of,
    leading,
    row_number,
    rows_of,
    same_rows,
    show_rows,
    without_ones,
)


def joined_rows(state: FusionState, op: Op[object], draft: GroupDraft) -> Shape | MergeRefusal:
    """The rows of a group with the reduction `op` in it: its own, or coarser ones if the machine stays busy."""
    rows = row_space(op)
    assert rows is not None, "a reduction fixes a row space"
    if draft.rows is None or same_rows(draft.rows, rows, state.facts):
        finer = max(draft.rows or (), rows, key=lambda r: len(without_ones(r)))  # fewest divisions of the row number
        return _fits(state, op, draft, finer) or finer
    different = MergeRefusal(
        f"its rows {show_rows(rows, state.facts)} are not the group's rows {show_rows(draft.rows, state.facts)}",
        claims_of(rows, draft.rows, state.facts),
    )
    for coarse in (draft.rows, rows):
        if _fits(state, op, draft, coarse) is None:
            if _stays_busy(state, op, draft, coarse):
                return coarse
            return MergeRefusal(f"one row per {show_rows(coarse, state.facts)} would keep too few workers busy")
    return different


def _stays_busy(state: FusionState, op: Op[object], draft: GroupDraft, rows: Shape) -> bool:
    """Whether one kernel with few rows is faster than one for `op` and one for the rest, which have more rows."""
    if not without_ones(rows) and product(space_of(op, 0)).constant is None:
        return False  # an unbounded number of rows, which one row would hold all at once
    costs, machine = state.costs, state.costs.machine
    assert draft.rows is not None, "the group has rows that differ"
    own = row_space(op)
    assert own is not None, "a reduction fixes a row space"
    passed, work = costs.memory(op.results), largest(draft.memory, draft.work)
    alone = plus(costs.memory(state.loaded(op)), state.size(op))
    count = costs.size(rows)
    in_row = divided(state.size(op), count)
    if any(size * op.operands[0].dtype.bytes > machine.row_bytes for size in in_row):
        return False  # row scratch would not fit in the memory near a worker
    together = plus(costs.launch, _serial(plus(work, alone), count, machine))
    apart = plus(
        _serial(plus(work, passed), costs.size(draft.rows), machine),
        _serial(plus(alone, passed), costs.size(own), machine),
    )
    return ratio(together, plus(apart, times(costs.launch, 2))) <= 1


def _is_short(state: FusionState, op: Op[object], draft: GroupDraft) -> bool:
    """Whether the group and `op` are one row so short that one worker needs no longer than a launch.

    This is for likely sizes: targets distribute a row that turns out to be long.
    """
    costs = state.costs
    group, alone = largest(draft.memory, draft.work), plus(costs.memory(state.loaded(op)), state.size(op))
    return all(amount <= costs.machine.short_row for amount in plus(group, alone))


def _serial(work: Amounts, rows: Amounts, machine: Machine) -> Amounts:
    """The time of work if each row is computed by one worker."""
    return tuple(amount * max(1.0, machine.workers / count) for amount, count in zip(work, rows, strict=True))


def result_refusal(state: FusionState, op: Op[object], draft: GroupDraft) -> MergeRefusal | None:
    """Why a group may not store the results of `op`, which computes elements."""
    for tensor in op.results:
        if draft.rows is None:
            if tensor.shape != draft.roots[0].shape:
                return MergeRefusal("its result is needed in memory and has another shape than the group's")
        elif leading(tensor.shape, rows_of(draft.rows, state.facts), state.facts) is None:
            claims = claims_of(tensor.shape, draft.rows, state.facts)
            return MergeRefusal("its result is needed in memory and does not have the rows of the group", claims)
    return None


def _fits(state: FusionState, op: Op[object], draft: GroupDraft, rows: Shape) -> MergeRefusal | None:
    """Why the group may not have these rows with the reduction `op` in it."""
    count, facts = rows_of(rows, state.facts), state.facts
    if not without_ones(rows) and any(without_ones(t.shape) for t in draft.roots):
        columns = column_count([op, *draft.reduces], draft.roots, facts)
        shared_out = columns is not None and _keeps_row(state, op, draft, columns, whole=True)
        if not shared_out and not _is_short(state, op, draft):
            return MergeRefusal("it reduces everything, and the group has more than one row")
    for root in draft.roots:
        if leading(root.shape, count, facts) is None:
            claims = claims_of(root.shape, rows, facts)
            return MergeRefusal(f"a result of the group does not have the rows {show_rows(rows, facts)}", claims)
    reductions = [op] if draft.rows == rows else [op, *draft.reduces]
    for reduction in reductions:
        own = row_space(reduction)
        assert own is not None, "a reduction fixes a row space"
        if leading(own, count, facts) is None:
            return MergeRefusal(
                f"its rows {show_rows(own, facts)} are not the group's rows {show_rows(rows, facts)}",
                claims_of(own, rows, facts),
            )
        if not _keeps_row(state, reduction, draft, count):
            return MergeRefusal("a consumer reads another row of it")
    return None


def column_count(reductions: Sequence[Op[object]], roots: Sequence[Tensor], facts: Facts) -> Dim | None:
    """The number of columns of a group that reduces and stores each by itself; None for other groups.

    Such a group has one row, but kernels distribute its columns.
    """
    counts = {rows_of(root.shape, facts) for root in roots}
    for op in reductions:
        dims, shape = reduced_dims(op), op.operands[0].shape
        counts.add(rows_of(shape[len(dims) :], facts) if sorted(dims) == list(range(len(dims))) else const(1))
    (count, *others) = counts
    return None if others or count.constant == 1 else count


def _keeps_row(state: FusionState, op: Op[object], draft: GroupDraft, count: Dim, *, whole: bool = False) -> bool:
    """Whether every path from `op` to the group's results stays in one of `count` rows.

    `whole`: the rows are all elements of each tensor on the path, like the columns that a reduction keeps. Equally many
    leading dims of a larger tensor do not count: in a square matrix they would be the rows that were reduced.
    """
    pending, seen = [op], {op}
    while pending:
        producer = pending.pop()
        for user in state.nodes.consumers[producer]:
            if user not in draft.visits:
                continue
            if not _same_row(state, producer, user, count, whole=whole):
                return False
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return True


def _same_row(state: FusionState, producer: Op[object], user: Op[object], count: Dim, *, whole: bool) -> bool:
    """Whether `user` reads `producer` only in its own row."""
    met = False
    for reads in state.reads.of(user):
        space = reads.space
        for access in reads.accesses:
            if access.tensor not in producer.results:
                continue
            met = True
            if whole and not all(rows_of(one, space.facts) == count for one in (space.shape, access.tensor.shape)):
                return False
            key = space, access.index, access.tensor.shape, count
            if (known := state.same_row.get(key)) is None:
                known = state.same_row[key] = _is_own_row(*key)
            if not known:
                return False
    return met


def _is_own_row(space: Space, index: Index, shape: Shape, count: Dim) -> bool:
    """Whether element `index` of a tensor lies in the current row of the space, of `count` rows."""
    here, there = leading(space.shape, count, space.facts), leading(shape, count, space.facts)
    if here is None or there is None:
        return False
    own = row_number(space.index, space.shape, here, space.facts)
    return row_number(index, shape, there, space.facts) == own
