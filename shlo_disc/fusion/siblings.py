"""Sibling fusion: independent groups that read the same memory become one kernel."""

from __future__ import annotations

from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import product
from shlo_disc.fusion.cost import ratio
from shlo_disc.fusion.group_builder import GroupDraft
from shlo_disc.fusion.row_fit import column_count
from shlo_disc.fusion.state import FusionState
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.kernels.row_spaces import leading, rows_of, same_rows, without_ones
from shlo_disc.limits import LARGEST_GROUP

MOST_TRIED = 4  # groups that a reader of a tensor is compared with; keeps the time linear
SHARED = 0.25  # the fraction of its memory traffic that a group must share; else its kernel only gets longer


def merge_siblings(state: FusionState) -> None:
    """Merge groups of rows that read the same tensor, in program order."""
    readers = dict[Tensor, list[GroupDraft]]()
    for draft in state.order.ordered():
        if draft.kind is not GroupKind.ROWS:
            continue
        kept = draft
        for other in _candidates(draft, readers):
            if _are_siblings(state, other, draft):
                rows = other.rows if draft.rows is None else draft.rows
                state.decide(draft.ops[0], other, None, "reads what the group reads")
                state.merge(other, draft)
                kept, other.rows = other, rows
                break
        for tensor in draft.loaded:
            known = readers.setdefault(tensor, [])
            if kept not in known:
                known.append(kept)


def _candidates(draft: GroupDraft, readers: dict[Tensor, list[GroupDraft]]) -> list[GroupDraft]:
    """Groups before this one that read a tensor that it reads, the last ones first."""
    found = [other for tensor in draft.loaded for other in readers.get(tensor, [])[-MOST_TRIED:]]
    return list(dict.fromkeys(sorted(found, key=lambda other: -other.place)))[:MOST_TRIED]


def _are_siblings(state: FusionState, a: GroupDraft, b: GroupDraft) -> bool:
    """Whether two groups have the same rows, share much of what they read, and are independent."""
    if len(a.ops) + len(b.ops) > LARGEST_GROUP or not _have_same_rows(state, a, b):
        return False
    shared = state.costs.memory(t for t in a.loaded if t in b.loaded)
    least = min(ratio(d.memory, shared) for d in (a, b))
    return least * SHARED <= 1 and state.order.independent(a, b)


def _have_same_rows(state: FusionState, a: GroupDraft, b: GroupDraft) -> bool:
    if a.rows is not None and b.rows is not None:
        if not same_rows(a.rows, b.rows, state.facts):
            return False
        columns = column_count([*a.reduces, *b.reduces], [*a.roots, *b.roots], state.facts)
        return bool(without_ones(a.rows)) or columns is not None
    if a.rows is None and b.rows is None:
        return _same_shape(a, b)
    rows, roots = (a.rows, b.roots) if b.rows is None else (b.rows, a.roots)
    if rows is None or not without_ones(rows):
        return False
    count = rows_of(rows, state.facts)
    return all(leading(root.shape, count, state.facts) is not None for root in roots)


def _same_shape(a: GroupDraft, b: GroupDraft) -> bool:
    return a.roots[0].shape == b.roots[0].shape and product(a.roots[0].shape).constant != 1
