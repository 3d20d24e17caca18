"""The loops of a stage, and the state that the stages of a kernel share, however their bodies are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, Scope
from shlo_disc.expr.dim import Sym, product
from shlo_disc.kernels.kernel import Axis, Scratch, Stage, Store
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.records import record

# The bounds of one stage's loops by their symbols, if not 0 and their extents. They hold for one stage: the loops of
# another one are distinct, though they may have the same symbols and extents.
Ranges: TypeAlias = Mapping[Sym, tuple[str, str]]


@record
class RowContext:
    """The state that the stages of one kernel share."""

    emit: Emitter
    spell: VectorSpelling
    unroll: bool


class StageLines:
    """Base class of all ways of printing a stage."""

    def __init__(self, row: RowContext, stage: Stage, ranges: Ranges) -> None:
        self.row, self.stage, self.ranges = row, stage, ranges
        self.emit, self.spell = row.emit, row.spell

    def bounds(self, axis: Axis) -> tuple[str, str]:
        """First index of a loop, and the one after the last."""
        if (known := self.ranges.get(axis.symbol)) is not None:
            return known
        return "0", self.emit.dim_scalar(axis.extent)

    def head(self, axis: Axis) -> str:
        name = axis.symbol.name.removeprefix("%")
        first, last = self.bounds(axis)
        return f"for (int64_t {name} = {first}; {name} < {last}; ++{name}) {{"

    def nest(self, axes: Sequence[Axis], body: list[str]) -> list[str]:
        """Loops around a body; their bounds were printed before."""
        heads = [self.head(axis) for axis in axes]
        lines = [INDENT * depth + head for depth, head in enumerate(heads)]
        lines += [INDENT * len(heads) + line for line in body]
        return lines + [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]


def decode(emit: Emitter, scope: Scope, axes: Sequence[Axis], row: str, *, arrayed: bool = False) -> None:
    """Decompose the number `row` into the indices of `axes`; `arrayed`: of each of the rows computed at once."""
    for number, axis in enumerate(axes):
        inner = product(a.extent for a in axes[number + 1 :])
        text = row if row.isidentifier() else f"({row})"  # becomes a factor
        if inner.constant != 1:
            text = f"{text} / {emit.dim_scalar(inner)}"
        if number:
            text = f"{text} % {emit.dim_scalar(axis.extent)}"
        name = axis.symbol.name.removeprefix("%")
        if arrayed:
            scope.lines.append(f"int64_t {name}[R];")
            scope.pending.append(f"{name}[k] = {text};")
        else:
            scope.lines.append(f"const int64_t {name} = {text};")


def store_text(emit: Emitter, spell: VectorSpelling, store: Store, value: str, unroll: bool) -> str:
    """The statement that stores one element."""
    name = store.target.name
    if isinstance(store.target, Scratch):
        name = spell.scratch_row(name, arrayed=unroll)
    return spell.store(name, emit.dim_scalar(store.offset), value, store.target.dtype)


def rows_store(emit: Emitter, spell: VectorSpelling, store: Store, value: str) -> str:
    """The statement that stores one element of each row, where the rows are the lanes."""
    assert emit.lane is not None, "rows are the lanes"
    split = store.offset.linear(Sym(emit.lane))
    assert split is not None, "a row lies at a distance from the one before"
    start, stride = f"{store.target.name} + {emit.dim_scalar(store.offset)}", split[0]
    if stride.constant == 1:
        return spell.store_vector(start, value, store.target.dtype, "left")
    return spell.store_strided(start, emit.dim_scalar(stride), value, store.target.dtype, "left")
