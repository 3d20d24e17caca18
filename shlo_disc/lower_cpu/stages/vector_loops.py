"""Loops over vectors along the last axis of a stage, and the stores of a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shlo_disc.emit.scopes import INDENT
from shlo_disc.kernels.kernel import Scratch, Stage, Store
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext, StageLines

VectorBody = Callable[[str], list[str]]  # the statements for one vector; the argument: how many lanes are left, or ""

STRIP = 4 * LANES  # results of a column reduction that are computed at once


class VectorLoops(StageLines):
    """The last axis of a stage, sixteen elements at a time."""

    def __init__(self, row: RowContext, stage: Stage, ranges: Ranges) -> None:
        super().__init__(row, stage, ranges)
        self.lane = stage.axes[-1]

    @property
    def index(self) -> str:
        """The variable of the loop."""
        return self.lane.symbol.name.removeprefix("%")

    def vectors(self, body: VectorBody, strips: Sequence[str] = (), *, step: str | None = None) -> list[str]:
        """Strips of several vectors if `strips` is given, whole vectors, then the remaining lanes.

        `step`: the increment of the loop over strips, if it is not that of a whole strip.
        """
        name, lane = self.index, self.lane
        first, last = self.bounds(lane)
        size = lane.extent.constant if first == "0" else None
        lines = [f"int64_t {name} = {first};"]
        if "min_" in last or "max_" in last:  # a segment's end, tested in every iteration
            lines.append(f"const int64_t stop = {last};")
            last = "stop"
        if strips:
            on = f"{name} += {STRIP}" if step is None else step
            lines.append(f"for (; {name} + {STRIP} <= {last}; {on}) {{")
            lines += [*(INDENT + x for x in strips), "}"]
        if size is None or size >= LANES:
            lines.append(f"for (; {name} + {LANES} <= {last}; {name} += {LANES}) {{")
            lines += [INDENT + x for x in self.vector(body, "")]
            lines.append("}")
        if size is None or size % LANES:
            lines.append(f"if ({name} < {last}) {{")
            lines.append(f"{INDENT}const int64_t left = {last} - {name};")
            lines += [INDENT + x for x in self.vector(body, "left")]
            lines.append("}")
        return ["{", *(INDENT + x for x in lines), "}"]

    def vector(self, body: VectorBody, left: str) -> list[str]:
        """The statements for one vector, or the first `left` lanes of one; of each of the rows computed at once."""
        emit, lane = self.emit, self.lane
        emit.lane, emit.partial = lane.symbol.name, bool(left)
        try:
            with emit.inside(lane.symbol.name) as shared:
                if not self.row.unroll:
                    shared.lines.extend(body(left))
                    return shared.lines
                with emit.inside() as own:
                    own.lines.extend(body(left))
                return [
                    *shared.lines,
                    "for (int k = 0; k < R; ++k) {",
                    *(INDENT + x for x in own.lines),
                    "}",
                ]
        finally:
            emit.lane, emit.partial = None, False

    def stores(self, left: str) -> list[str]:
        """Print the stores of one vector into the current scope; as a body of loops, return no further lines."""
        scope = self.emit.scope
        for store in self.stage.stores:
            value = self.emit.lanes(store.value)
            scope.lines.append(self.store(store, value, left))
        return []

    def store(self, store: Store, value: str, left: str) -> str:
        """The statement that stores a vector, or the first `left` lanes of one."""
        emit = self.emit
        start = emit.dim_scalar(store.offset)
        if isinstance(store.target, Scratch):
            row = self.spell.scratch_row(store.target.name, arrayed=self.row.unroll)
            left = "" if emit.is_padded(store.target, store.offset) else left
            return self.spell.store_vector(f"{row} + {start}", value, store.target.dtype, left)
        return self.spell.store_vector(f"{store.target.name} + {start}", value, store.target.dtype, left)
