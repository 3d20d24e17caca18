"""Whether a prologue pays: the memory traffic that it saves, and the work that it repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, const, maximum, product, total
from shlo_disc.fusion.traffic import buffers_read, bytes_of, elements
from shlo_disc.kernels.contraction import matrix_form
from shlo_disc.kernels.groups import Context, Group, GroupKind
from shlo_disc.kernels.op_cost import element_cost
from shlo_disc.kernels.op_graph import space_of
from shlo_disc.kernels.panels import computed_operands
from shlo_disc.records import record

PANEL_ROWS = 192  # rows of A per recomputation of a panel of B, if both operands are computed
PANEL_COLUMNS = 64  # columns of B per reread of all of A, if only B is computed
FEWEST_ROWS = 48  # least number of rows of A in a panel for packing B to pay
PANEL_BYTES = 1 << 19  # limit of that many rows: half of an L2 cache, because B's columns pass through it too
READ_AGAIN = 8  # bytes that come from a cache in the time of one from memory


@record
class PrologueMove:
    """A move of ops: the groups `before`, the `rest` of the row group without the ops, and the readers with them."""

    before: tuple[Group, ...]
    rest: Group | None
    readers: tuple[Group, ...]
    ops: tuple[Op[object], ...]


class PrologueCost:
    """Compares groups before and after a move."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def pays(self, move: PrologueMove) -> bool:
        """Whether a move saves memory traffic, and more than its work costs, at every likely point."""
        points, tile = self._context.points, self._context.abilities.product_tile
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
        rate = self._context.abilities.machine.additions_per_byte
        return bool(points) and all(saved.evaluate(p) * rate >= work.evaluate(p) for p in points)

    def _change(self, move: PrologueMove) -> tuple[Dim, Dim]:
        """The bytes that a move saves, and the work that it repeats."""
        passed, costs = Counter[Tensor](), Counter[Shape]()  # differences: most entries cancel
        after = [group for group in (move.rest, *move.readers) if group is not None]
        for groups, sign in ((move.before, 1), (after, -1)):
            for group in groups:
                for tensor in (*buffers_read(group, self._context.producers), *group.roots):
                    passed[tensor] += sign
                for op in group.ops:
                    costs[space_of(op, 0)] -= sign * round(element_cost(op))
        saved = total(bytes_of(tensor) * count for tensor, count in passed.items() if count)
        return saved, total(elements(space) * count for space, count in costs.items() if count)

    def _is_thin(self, group: Group, tile: int) -> bool:
        """Whether a product is memory-bound, so that a library would be no faster."""
        assert group.anchor is not None, "a product has its op"
        form = matrix_form(group.anchor, self._context.structures)
        return all(min(form.m.evaluate(p), form.n.evaluate(p)) <= tile for p in self._context.points)

    def _fits_cache(self, group: Group) -> bool:
        """Whether a panel of A, which is computed over the whole depth, stays in the cache of a core."""
        assert group.anchor is not None, "a product has its op"
        lhs, _ = computed_operands(group, self._context.producers)
        if not lhs:
            return True
        depth, size = matrix_form(group.anchor, self._context.structures).k, group.anchor.operands[0].dtype.bytes
        return all(FEWEST_ROWS * depth.evaluate(p) * size <= PANEL_BYTES for p in self._context.points)

    def _read_again(self, group: Group) -> Dim:
        """The cost of reading A again for every panel of B, in bytes of memory."""
        assert group.anchor is not None, "a product has its op"
        computed = computed_operands(group, self._context.producers)
        if computed != (False, True):
            return const(0)
        form = matrix_form(group.anchor, self._context.structures, computed)
        panels = (form.n + (PANEL_COLUMNS - 1)) // PANEL_COLUMNS
        return form.m * form.k * maximum(0, panels - 1) * group.anchor.operands[0].dtype.bytes // READ_AGAIN

    def _repeated(self, group: Group, moved: Sequence[Op[object]]) -> Dim:
        """The work of recomputing panels: in batch loops on which they do not depend, and for each tile."""
        assert group.anchor is not None, "a product has its op"
        computed = computed_operands(group, self._context.producers)
        form = matrix_form(group.anchor, self._context.structures, computed)
        tile = self._context.abilities.product_tile
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
