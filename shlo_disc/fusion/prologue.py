"""Prologues: elementwise ops that a product or a scatter computes as it reads, so that their results are not stored.

This runs after grouping. For every result of a row group that only products read as operands, and scatters as indices
or updates, the ops that compute it move into these groups, as far up as elements are cheap: a reduction, a sum per
element, and a costly value that is broadcast stay behind and are stored. A move pays if the bytes saved are worth the
repeated work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, const, maximum, product, total
from shlo_disc.fusion.traffic import buffers_read, bytes_of, elements
from shlo_disc.kernels.contraction import epilogue_index, matrix_form
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_cost import LOOP, element_cost
from shlo_disc.kernels.op_graph import group_inputs, space_of
from shlo_disc.kernels.panels import computed_operands
from shlo_disc.kernels.row_spaces import leading, rows_of
from shlo_disc.kernels.scatter import reads_before_overwriting
from shlo_disc.limits import LARGEST_GROUP

COSTLY = 4  # cost of an element from which a broadcast value is stored rather than recomputed by every reader
PANEL_ROWS = 192  # rows of A per recomputation of a panel of B, if both operands are computed
PANEL_COLUMNS = 64  # columns of B per reread of all of A, if only B is computed
FEWEST_ROWS = 48  # least number of rows of A in a panel for packing B to pay
PANEL_BYTES = 1 << 19  # limit of that many rows: half of an L2 cache, because B's columns pass through it too
READ_AGAIN = 8  # bytes that come from a cache in the time of one from memory
LEFT = "what is left of its reader is its epilogue"
_READERS = frozenset({GroupKind.DOT, GroupKind.SCATTER})


def merge_prologues(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Move ops into the groups that read them, where it pays; retry a result when its readers have changed."""
    merger = _PrologueMerger(plan, body, context)
    roots = [root for group in plan.groups if group.kind is GroupKind.ROWS for root in group.roots]
    asked = dict[Tensor, frozenset[int]]()
    while waiting := [root for root in roots if merger.is_stored(root) and asked.get(root) != merger.read_by(root)]:
        for root in waiting:
            asked[root] = merger.read_by(root)
            merger.consider(root)
    return merger.finished()


@dataclass(frozen=True, slots=True)
class _Move:
    """A move of ops: the groups `before`, the `rest` of the row group without the ops, and the readers with them."""

    before: tuple[Group, ...]
    rest: Group | None
    readers: tuple[Group, ...]
    ops: tuple[Op[object], ...]


class _PrologueMerger:
    """The groups of one body while ops move between them, always in a legal order."""

    def __init__(self, plan: FusionPlan, body: Body, context: Context) -> None:
        self.plan, self.context = plan, context
        self.groups = list(plan.groups)
        self.order = {op: k for k, op in enumerate(body.ops)}
        self.arguments, self.outputs = set(body.arguments), set(body.results)
        self.home = {t: k for k, group in enumerate(plan.groups) for t in group.roots}
        self.gone = set[int]()
        self.readers = dict[Tensor, set[int]]()
        self.reads = dict[int, list[Tensor]]()
        for number, group in enumerate(plan.groups):
            self._read(number, group)
        self.decisions = list[Decision]()

    def _read(self, number: int, group: Group) -> None:
        inputs = group_inputs(group, self.context.producers)
        self.reads[number] = [tensor for tensor in inputs if self.home.get(tensor, number) != number]
        for tensor in self.reads[number]:
            self.readers.setdefault(tensor, set()).add(number)

    def is_stored(self, root: Tensor) -> bool:
        """Whether a row group still computes `root` for others."""
        number = self._stored_by(root)
        return number is not None and self.groups[number].kind is GroupKind.ROWS

    def read_by(self, root: Tensor) -> frozenset[int]:
        """The groups that read `root` from memory."""
        return frozenset(self.readers.get(root, ()))

    def consider(self, root: Tensor) -> None:
        """Move what computes a root of a row group into the groups that read it, or say why not."""
        source = self.home[root]
        readers = sorted(self.readers.get(root, ()))
        if not any(self._is_operand(root, self.groups[k]) for k in readers):
            return
        found = self._refusal(root, readers)
        producer = self.context.producers[root][0]
        move = found if isinstance(found, _Move) else None
        reason = "" if isinstance(found, _Move) else found
        for k in readers:
            kind, label = self.groups[k].kind, self.groups[k].roots[0].name
            if kind in _READERS:
                merged = f"the {kind.value} computes it as it reads it"
                self.decisions.append(Decision(producer, label, not reason, reason or merged))
        if move is not None:
            self._apply(source, readers, move)

    def _is_operand(self, tensor: Tensor, group: Group) -> bool:
        """Whether a group reads `tensor`, or a view of it, only as operands that a prologue may compute."""
        if group.kind not in _READERS or group.anchor is None:
            return False
        alone = replace(group, ops=(self.context.producers[tensor][0], group.anchor))
        flags = computed_operands(alone, self.context.producers)
        first = len(flags) // 2 if group.kind is GroupKind.SCATTER else 0
        return any(flags[first:]) and not any(flags[:first])

    def _refusal(self, root: Tensor, readers: Sequence[int]) -> _Move | str:
        """The move of the ops that compute `root`, or why there is none."""
        if root in self.outputs:
            return "its result is needed in memory"
        if not all(self._is_operand(root, self.groups[k]) for k in readers):
            return "a group that is no product and no scatter reads it too"
        group = self.groups[self.home[root]]
        moved = self._closure(root, group, self._in_memory(readers))
        if not moved:
            return "it is no elementwise formula"
        if any(self._overwrites(self.groups[k], moved) for k in readers):
            return "it reads what the scatter may update in place"
        if any(len(self.groups[k].ops) + len(moved) > LARGEST_GROUP for k in readers):
            return f"the group would have more than {LARGEST_GROUP} ops"
        changed = tuple(self._with(self.groups[k], moved) for k in readers)
        before = (group, *(self.groups[k] for k in readers))
        homes = {t: self._stored_by(t) for t in self._left(group, moved)}
        if any(home is not None and home >= readers[0] for home in homes.values()):
            return "a later group stores what it reads of its group"
        rest = self._without(root, group, [t for t, home in homes.items() if home is None])
        if rest is not None and not self._has_common_rows(rest):
            return "what it reads of its group, and what is left of that, would not have the same rows"
        move = _Move(before, rest, changed, moved)
        return move if self._pays(move) else "computing it where it is read saves less than it costs"

    def _overwrites(self, group: Group, moved: Sequence[Op[object]]) -> bool:
        """Whether moved ops would read an operand of a scatter after the scatter has overwritten it in place."""
        if group.kind is not GroupKind.SCATTER or group.anchor is None:
            return False
        operands = group.anchor.operands[: len(group.anchor.operands) // 2]
        own = {x for x in operands if x in self.arguments or x in self.context.producers}
        reads = group_inputs(Group(GroupKind.ROWS, tuple(moved), (), None, None), self.context.producers)
        if (own - self.context.kept).isdisjoint(reads):
            return False
        return not reads_before_overwriting(self._with(group, moved), self.context.facts, self.context.producers)

    # -- which ops

    def _in_memory(self, readers: Iterable[int]) -> set[Tensor]:
        """The operands that scatters copy, looking through free ops: they are stored whoever else reads them."""
        anchors = [op for k in readers if self.groups[k].kind is GroupKind.SCATTER and (op := self.groups[k].anchor)]
        stack = [t for op in anchors for t in op.operands[: len(op.operands) // 2]]
        found = set[Tensor]()
        while stack:
            tensor = stack.pop()
            found.add(tensor)
            made = self.context.producers.get(tensor)
            if made is not None and is_free(made[0]):
                stack.extend(made[0].operands)
        return found

    def _closure(self, root: Tensor, group: Group, in_memory: Collection[Tensor]) -> tuple[Op[object], ...]:
        """The ops that compute `root` from what is stored, or will be."""
        inside, producers = set(group.ops), self.context.producers
        summed = self._after_reductions(group)
        found, stack = dict[Op[object], None](), [root]
        while stack:
            tensor = stack.pop()
            if tensor in in_memory or (made := producers.get(tensor)) is None:
                continue
            op = made[0]
            if op in inside and op not in found:
                if definition(op).template is not Template.ELEMENT or element_cost(op) >= LOOP:
                    continue
                fewer = tensor is not root and product(tensor.shape) != product(root.shape)
                if fewer and (op in summed or element_cost(op) >= COSTLY):
                    continue
                found[op] = None
            elif op in found or not is_free(op):
                continue
            stack.extend(op.operands)
        return tuple(sorted(found, key=self.order.__getitem__))

    def _after_reductions(self, group: Group) -> set[Op[object]]:
        """The ops of a group that depend on one of its reductions."""
        found, producers = set[Op[object]](), self.context.producers

        def needs(tensor: Tensor) -> bool:
            made = producers.get(tensor)
            if made is None or not (made[0] in group.ops or is_free(made[0])):
                return False
            return made[0] in found or (made[0] not in group.ops and any(map(needs, made[0].operands)))

        for op in group.ops:
            if isinstance(op.attrs, ReduceAttrs) or any(map(needs, op.operands)):
                found.add(op)
        return found

    def _with(self, group: Group, moved: Iterable[Op[object]]) -> Group:
        ops = sorted({*group.ops, *moved}, key=self.order.__getitem__)
        return replace(group, ops=tuple(ops))

    def _left(self, group: Group, moved: Sequence[Op[object]]) -> list[Tensor]:
        """What the moved ops read of the row group that they leave."""
        inside = {t for op in group.ops if op not in moved for t in op.results}
        alone = replace(group, ops=tuple(moved))
        return [t for t in group_inputs(alone, self.context.producers) if t in inside]

    def _stored_by(self, tensor: Tensor) -> int | None:
        """The group that stores a tensor, which others may compute too; None if none does."""
        number = self.home.get(tensor)
        return None if number is None or number in self.gone or tensor not in self.groups[number].roots else number

    def _without(self, root: Tensor, group: Group, stored: Sequence[Tensor]) -> Group | None:
        """What is left of a row group without `root`: its other results, and what it has to store from now on."""
        roots = tuple(dict.fromkeys((*(t for t in group.roots if t is not root), *stored)))
        if not roots:
            return None
        needed, stack, producers = set[Op[object]](), list(roots), self.context.producers
        while stack:
            if (made := producers.get(stack.pop())) is None or made[0] in needed:
                continue
            if made[0] in group.ops:
                needed.add(made[0])
            elif not is_free(made[0]):
                continue
            stack.extend(made[0].operands)
        ops = tuple(op for op in group.ops if op in needed)
        reduces = any(isinstance(op.attrs, ReduceAttrs) for op in ops)
        return replace(group, ops=ops, roots=roots, rows=group.rows if reduces else None)

    def _has_common_rows(self, group: Group) -> bool:
        """Whether the results of a row group lie in one row space."""
        if group.rows is None:
            return all(root.shape == group.roots[0].shape for root in group.roots)
        facts = self.context.facts
        count = rows_of(group.rows, facts)
        return all(leading(root.shape, count, facts) is not None for root in group.roots)

    # -- whether it pays

    def _pays(self, move: _Move) -> bool:
        """Whether a move saves memory traffic, and more than its work costs, at every likely point."""
        points, tile = self.context.points, self.context.abilities.product_tile
        dots = [g for g in move.readers if g.kind is GroupKind.DOT]
        if not all(self._is_thin(g, tile) if tile else self._fits_cache(g) for g in dots):
            return False
        saved, work = self._change(move)
        if not tile:
            for group in dots:
                saved -= self._read_again(group)
        if any(saved.evaluate(point) <= 0 for point in points):
            return False
        for group in dots:
            work += self._repeated(group, move.ops)
        rate = self.context.abilities.machine.additions_per_byte
        return bool(points) and all(saved.evaluate(p) * rate >= work.evaluate(p) for p in points)

    def _change(self, move: _Move) -> tuple[Dim, Dim]:
        """The bytes that a move saves, and the work that it repeats."""
        passed, costs = Counter[Tensor](), Counter[Shape]()  # differences: most entries cancel
        after = [group for group in (move.rest, *move.readers) if group is not None]
        for groups, sign in ((move.before, 1), (after, -1)):
            for group in groups:
                for tensor in (*buffers_read(group, self.context.producers), *group.roots):
                    passed[tensor] += sign
                for op in group.ops:
                    costs[space_of(op, 0)] -= sign * round(element_cost(op))
        saved = total(bytes_of(tensor) * count for tensor, count in passed.items() if count)
        return saved, total(elements(space) * count for space, count in costs.items() if count)

    def _is_thin(self, group: Group, tile: int) -> bool:
        """Whether a product is memory-bound, so that a library would be no faster."""
        assert group.anchor is not None, "a product has its op"
        form = matrix_form(group.anchor, self.context.structures)
        return all(min(form.m.evaluate(p), form.n.evaluate(p)) <= tile for p in self.context.points)

    def _fits_cache(self, group: Group) -> bool:
        """Whether a panel of A, which is computed over the whole depth, stays in the cache of a core."""
        assert group.anchor is not None, "a product has its op"
        lhs, _ = computed_operands(group, self.context.producers)
        if not lhs:
            return True
        depth, size = matrix_form(group.anchor, self.context.structures).k, group.anchor.operands[0].dtype.bytes
        return all(FEWEST_ROWS * depth.evaluate(p) * size <= PANEL_BYTES for p in self.context.points)

    def _read_again(self, group: Group) -> Dim:
        """The cost of reading A again for every panel of B, in bytes of memory."""
        assert group.anchor is not None, "a product has its op"
        computed = computed_operands(group, self.context.producers)
        if computed != (False, True):
            return const(0)
        form = matrix_form(group.anchor, self.context.structures, computed)
        panels = (form.n + (PANEL_COLUMNS - 1)) // PANEL_COLUMNS
        return form.m * form.k * maximum(0, panels - 1) * group.anchor.operands[0].dtype.bytes // READ_AGAIN

    def _repeated(self, group: Group, moved: Sequence[Op[object]]) -> Dim:
        """The work of recomputing panels: in batch loops on which they do not depend, and for each tile."""
        assert group.anchor is not None, "a product has its op"
        computed = computed_operands(group, self.context.producers)
        form = matrix_form(group.anchor, self.context.structures, computed)
        tile = self.context.abilities.product_tile
        once = const(0)
        for op in moved:
            once += product(op.results[0].shape) * round(element_cost(op))
        attrs = cast("DotAttrs", group.anchor.attrs)
        times = product(loop.extent for loop in form.batch[len(attrs.lhs_batch) :])
        if tile:
            times = times * ((form.n if computed[0] else form.m) + (tile - 1)) // tile
        elif all(computed):
            times = times * (form.m + (PANEL_ROWS - 1)) // PANEL_ROWS
        return once * (times - 1)

    # -- the result

    def _apply(self, source: int, readers: Sequence[int], move: _Move) -> None:
        for number, changed in ((source, move.rest), *zip(readers, move.readers, strict=True)):
            if changed is None:
                self.gone.add(number)
            else:
                self.groups[number] = changed
        for number in (source, *readers):
            self._refresh(number)
        if move.rest is not None:
            self._take_product(source, move.rest)

    def _refresh(self, number: int) -> None:
        """Update what is recorded of a changed group: what it stores and reads."""
        for tensor in self.reads.pop(number, ()):
            self.readers[tensor].discard(number)
        if number not in self.gone:
            self.home.update(dict.fromkeys(self.groups[number].roots, number))
            self._read(number, self.groups[number])

    def _take_product(self, number: int, group: Group) -> None:
        """Make what is left of a row group the epilogue of a product whose only reader it is.

        What prevented that may have moved. The product moves to the place of the group: nothing else needs it earlier.
        """
        for tensor in group_inputs(group, self.context.producers):
            before = self.home.get(tensor, number)
            found = self.groups[before]
            if before != number and self._is_epilogue(group, number, found):
                assert found.anchor is not None, "a product has its op"
                ops = sorted((*found.ops, *group.ops), key=self.order.__getitem__)
                self.groups[number] = replace(found, ops=tuple(ops), roots=group.roots)
                self.gone.add(before)
                self._refresh(before)
                self._refresh(number)
                self.decisions.append(Decision(found.anchor, group.roots[0].name, True, LEFT))
                return

    def _is_epilogue(self, group: Group, number: int, product_: Group) -> bool:
        """Whether a product of one result, with no other readers, can compute all of a group as its epilogue."""
        if product_.kind not in (GroupKind.DOT, GroupKind.CONVOLUTION) or product_.anchor is None:
            return False
        result, shape = product_.anchor.results[0], group.roots[0].shape
        if product_.roots != (result,) or self.readers.get(result) != {number} or result in self.outputs:
            return False
        if group.rows is not None or any(root.shape != shape for root in group.roots):
            return False
        facts, producers = self.context.facts, self.context.producers
        return epilogue_index(result, group.roots, group.ops, facts, producers) is not None

    def finished(self) -> FusionPlan:
        """The plan. Refusals of ops that have moved since are dropped; of other decisions the last one holds."""
        groups = tuple(g for k, g in enumerate(self.groups) if k not in self.gone)
        latest = {(d.producer, d.consumer): d for d in self.decisions}
        moved = {d.producer for d in latest.values() if d.merged}
        found = (*self.plan.decisions, *latest.values())
        return FusionPlan(groups, tuple(d for d in found if d.merged or d.producer not in moved))
