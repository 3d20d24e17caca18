"""Small integers of which every element is known as a dim, and how the program computed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from shlo_disc.expr.dim import Dim
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record


@record
class Step:
    """A dim that may overflow `dtype`, the integer type in which `op` computes it: then the value wraps around."""

    dim: Dim
    dtype: DType
    op: ir.Op


@record
class KnownElements:
    """A small integer (or i1: 0 and 1) value of which every element is known as a dim; row-major.

    The elements are `dims` if no step overflows its type, which is demanded where they decide a size. All other uses
    take the value itself, computed by the program's ops (`made`), which wraps around where a step overflows.
    `made`: how it was computed, if it was; excluded from equality.
    """

    dims: tuple[Dim, ...]
    shape: tuple[int, ...]
    dtype: DType
    made: Computed | None = field(default=None, compare=False, repr=False)
    steps: tuple[Step, ...] = ()

    @property
    def scalar(self) -> Dim:
        """The dim of a rank-0 value."""
        (dim,) = self.dims
        return dim

    @property
    def constants(self) -> tuple[int, ...] | None:
        """The elements, if all are known numbers."""
        if self.steps:
            return None
        found = tuple(dim.constant for dim in self.dims)
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(found) else None

    def made_by(self, op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements:
        """The same, with how it was computed."""
        return replace(self, made=Computed(op, tuple(operands)))


@record(eq=False)
class Computed:
    """An op of size arithmetic. `read`: the name of the tensor and the axis whose size it reads."""

    op: ir.Op
    operands: tuple[KnownElements, ...] = ()
    read: tuple[str, int] | None = None
