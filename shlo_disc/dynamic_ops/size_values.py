"""Small integers of which every element is known as a dim, and how the program computed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shlo_disc.expr.dim import Dim
from shlo_disc.expr.dtypes import DType
from shlo_disc.ir import core as ir


@dataclass(frozen=True, slots=True)
class Contents:
    """A small integer (or i1: 0 and 1) value of which every element is known as a dim; row-major.

    `made`: how it was computed, where it was; it tells two equal values not apart.
    """

    dims: tuple[Dim, ...]
    shape: tuple[int, ...]
    dtype: DType
    made: Computed | None = field(default=None, compare=False, repr=False)

    @property
    def scalar(self) -> Dim:
        """The dim of a rank-0 value."""
        (dim,) = self.dims
        return dim

    @property
    def constants(self) -> tuple[int, ...] | None:
        """The elements, if all are known numbers."""
        found = tuple(dim.constant for dim in self.dims)
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(found) else None

    def made_by(self, op: ir.Op, operands: Sequence[Contents]) -> Contents:
        """The same, with how it was computed."""
        return Contents(self.dims, self.shape, self.dtype, Computed(op, tuple(operands)))


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """An op of the arithmetic of sizes. `read`: the tensor (its name) and the axis whose size it is."""

    op: ir.Op
    operands: tuple[Contents, ...] = ()
    read: tuple[str, int] | None = None
