"""Windows that move over dimensions: those of convolutions, `reduce_window` and `select_and_scatter`."""

from __future__ import annotations

from collections.abc import Callable

from shlo_disc.dialects.checks import refuse_count
from shlo_disc.dialects.record import Check
from shlo_disc.dialects.types import Shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DenseAttr
from shlo_disc.ir.spelling import spell_type
from shlo_disc.records import record

Rank = Callable[[OpView], int]


@record
class Window:
    """How a window of `size` elements moves over one dimension; None for numbers known only at run time."""

    size: int | None
    stride: int
    low: int | None
    high: int | None
    base_dilation: int
    dilation: int

    def count(self, size: int | None) -> int | None:
        """Return the number of places in a dimension of `size` where the window can stand.

        >>> Window(2, 1, 0, 0, 1, 1).count(4), Window(2, 2, 1, 1, 1, 3).count(4), Window(5, 1, 0, 0, 1, 1).count(4)
        (3, 2, 0)
        """
        if size is None or self.size is None or self.low is None or self.high is None:
            return None
        padded = self.low + _dilate(size, self.base_dilation) + self.high
        width = _dilate(self.size, self.dilation)
        return 0 if padded == 0 or width > padded else (padded - width) // self.stride + 1


def _dilate(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1 if size else 0


def windows(view: OpView, sizes: Shape, base_dilations: str = "", dilations: str = "") -> tuple[Window, ...]:
    """Return the windows of an op, by the names of its attributes; lists left out stand for ones, a padding for zeros.

    Strides beyond the dimensions are ignored.
    """
    ones = (1,) * len(sizes)
    names = ("window_strides", base_dilations, dilations)
    strides, *columns = [view.integers(name, ones) if name else ones for name in names]
    rows = zip(sizes, paddings(view, len(sizes)), strides[: len(sizes)], *columns, strict=True)
    return tuple(
        [
            Window(size, stride, low, high, base_dilation, dilation)
            for size, (low, high), stride, base_dilation, dilation in rows
        ]
    )


def paddings(view: OpView, rank: int) -> tuple[tuple[int | None, int | None], ...]:
    """Return what is added before and behind each dimension, by an attribute or by an operand."""
    if "padding" not in view.values:
        rows = view.rows("padding") or ((0, 0),) * rank
        return tuple([(low, high) for low, high in rows])
    numbers = view.constant("padding") or (None,) * (2 * rank)
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def for_each_dimension(name: str, rank: Rank) -> Check:
    """Make the constraint that a list, unless it is left out, has one number for each dimension."""
    return lambda view: refuse_count(f"'{name}'", view.integers(name), rank(view)) if view.has(name) else None


def padding_for_each_dimension(rank: Rank) -> Check:
    """Make the constraint `shape(padding) = [rank, 2]`."""

    def check(view: OpView) -> Refusal | None:
        found = view.attribute("padding")
        if not isinstance(found, DenseAttr) or found.type.shape == (rank(view), 2):
            return None
        return Refusal(f"'padding' to be of shape {rank(view)}x2", spell_type(found.type))

    return check
