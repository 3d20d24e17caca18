"""An advice as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shlo_disc.advisor.ways import WayToServe
from shlo_disc.diagnostics import counted

if TYPE_CHECKING:
    from shlo_disc.advisor.advice import Advice

_SHOWN = 8  # buckets of a column


def calls_of(advice: Advice) -> str:
    """How many calls, or batches of them, an advice is about."""
    return counted(advice.calls, *(("batch", "batches") if advice.batch else ("call",)))


def table(advice: Advice) -> str:
    """What the calls are, a line for each way, and notes."""
    size = f" of {advice.batch}" if advice.batch else ""
    shapes = counted(advice.shapes, "different shape")
    head = f"{calls_of(advice)}{size} ({', '.join(advice.names)}), {shapes}; work: {advice.cost}"
    has_seconds = any(way.seconds is not None for way in advice.ways)
    columns = ["way", "work", "padding", "compilations", *(["compile s"] if has_seconds else []), "padded to"]
    rows = [columns, *[_cells(way, has_seconds=has_seconds) for way in advice.ways]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([head, *lines, *[f"note: {one}" for one in advice.notes]])


def _line(cells: list[str], widths: list[int]) -> str:
    """The first cell and the last one begin at the left, numbers end at the right."""
    numbers = [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True)]
    return "  ".join([cells[0].ljust(widths[0]), *numbers, cells[-1]]).rstrip()


def _cells(way: WayToServe, *, has_seconds: bool) -> list[str]:
    seconds = ["" if way.seconds is None else f"{way.seconds:.1f}"] if has_seconds else []
    buckets = "; ".join(map(_shown, way.buckets))
    return [way.name, f"{way.ratio:.2f}x", f"{way.padding:.0%}", str(way.compilations), *seconds, buckets]


def _shown(buckets: tuple[int, ...]) -> str:
    cut = buckets if len(buckets) <= _SHOWN else (*buckets[: _SHOWN - 1], "...", buckets[-1])
    return " ".join(map(str, cut))
