"""Which dimensions of two operands a product pairs: batching ones it keeps, contracting ones it sums over."""

from __future__ import annotations

from shlo_disc.dialects.checks import list_fields
from shlo_disc.dialects.dims import Dims, unique, within_rank
from shlo_disc.dialects.record import Check
from shlo_disc.dialects.types import Shape, sizes_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.records import record


@record
class Pairing:
    """Four lists in an attribute that is a record."""

    record: str

    @property
    def lhs_batching(self) -> Dims:
        return Dims("lhs_batching_dimensions", self.record)

    @property
    def rhs_batching(self) -> Dims:
        return Dims("rhs_batching_dimensions", self.record)

    @property
    def lhs_contracting(self) -> Dims:
        return Dims("lhs_contracting_dimensions", self.record)

    @property
    def rhs_contracting(self) -> Dims:
        return Dims("rhs_contracting_dimensions", self.record)

    def lists(self, *labels: str) -> dict[str, Check]:
        """Make the constraints that the four are lists of numbers."""
        lists = (self.lhs_batching, self.rhs_batching, self.lhs_contracting, self.rhs_contracting)
        return list_fields(self.record, {dims.name: label for dims, label in zip(lists, labels, strict=True)})

    def constraints(self) -> dict[str, Check]:
        """Make the constraints on the lists, under the labels of `dot_general`."""
        return {
            "C1": _as_many(self.lhs_batching, self.rhs_batching),
            "C2": _as_many(self.lhs_contracting, self.rhs_contracting),
            "C3": unique(self.lhs_batching, self.lhs_contracting),
            "C4": unique(self.rhs_batching, self.rhs_contracting),
            "C5": within_rank(self.lhs_batching, "lhs"),
            "C6": within_rank(self.lhs_contracting, "lhs"),
            "C7": within_rank(self.rhs_batching, "rhs"),
            "C8": within_rank(self.rhs_contracting, "rhs"),
            "C9": _same_sizes(self.lhs_batching, self.rhs_batching),
            "C10": _same_sizes(self.lhs_contracting, self.rhs_contracting),
        }

    def lhs_free(self, view: OpView) -> tuple[int, ...]:
        """The free dimensions of `lhs`, neither batching nor contracting."""
        used = {*self.lhs_batching.of(view), *self.lhs_contracting.of(view)}
        return tuple([dim for dim in range(view.rank("lhs")) if dim not in used])

    def rhs_free(self, view: OpView) -> tuple[int, ...]:
        """The free dimensions of `rhs`, neither batching nor contracting."""
        used = {*self.rhs_batching.of(view), *self.rhs_contracting.of(view)}
        return tuple([dim for dim in range(view.rank("rhs")) if dim not in used])

    def shape(self, view: OpView, *, without: tuple[int, ...] = ()) -> Shape:
        """The shape of the product, without some dimensions of `rhs`."""
        lhs, rhs = view.shape("lhs"), view.shape("rhs")
        left = (*self.lhs_batching.of(view), *self.lhs_free(view))
        right = [dim for dim in self.rhs_free(view) if dim not in without]
        return (*[lhs[dim] for dim in left], *[rhs[dim] for dim in right])


def _as_many(lhs: Dims, rhs: Dims) -> Check:
    def check(view: OpView) -> Refusal | None:
        found = lhs.of(view), rhs.of(view)
        if len(found[0]) == len(found[1]):
            return None
        return Refusal(f"'{lhs.name}' and '{rhs.name}' to be equally many", f"{list(found[0])} and {list(found[1])}")

    return check


def _same_sizes(lhs: Dims, rhs: Dims) -> Check:
    def check(view: OpView) -> Refusal | None:
        for left, right in zip(lhs.of(view), rhs.of(view), strict=True):
            sizes = view.shape("lhs")[left], view.shape("rhs")[right]
            if not sizes_agree(*sizes):
                return Refusal(
                    f"dimension {left} of 'lhs' and dimension {right} of 'rhs' to have one size",
                    f"{sizes[0]} and {sizes[1]}",
                )
        return None

    return check
