"""DHLO: a program in which every size, offset and stride is a Dim.

StableHLO has a static and a dynamic form of the same op; DHLO has one. A tensor's shape is a tuple of Dims without `?`,
calls and composites are inlined, and shape arithmetic is folded into the Dims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import NO_BOUNDS, Bounds
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

A_co = TypeVar("A_co", covariant=True)
Shape: TypeAlias = tuple[Dim, ...]


@record(eq=False)
class Tensor:
    """One SSA value: dense, row-major. Compared by identity. Integers may have `bounds`."""

    name: str
    shape: Shape
    dtype: DType
    span: Span
    bounds: Bounds = NO_BOUNDS

    def __repr__(self) -> str:
        return f"%{self.name}: {self.dtype.value}[{', '.join(map(str, self.shape))}]"


@record(eq=False)
class Op(Generic[A_co]):
    """One operation.

    `name` is its DHLO name (`add`, `d_broadcast`, `d_dot`), `attrs` a frozen dataclass of its family.
    """

    name: str
    operands: tuple[Tensor, ...]
    attrs: A_co
    results: tuple[Tensor, ...]
    bodies: tuple[Body, ...]
    span: Span


@record(eq=False)
class Body:
    """A region: arguments, ops, results. Tensors of enclosing bodies may be used."""

    arguments: tuple[Tensor, ...]
    ops: tuple[Op[object], ...]
    results: tuple[Tensor, ...]

    def walk(self) -> Iterator[Op[object]]:
        """Every op, outer before inner."""
        for op in self.ops:
            yield op
            for body in op.bodies:
                yield from body.walk()


class Relation(Enum):
    """What a check demands of two dims."""

    EQ = "=="
    GE = ">="
    NE = "!="
    LE = "<="
    GT = ">"
    LT = "<"

    @property
    def mirrored(self) -> Relation:
        """The converse relation: it holds for (b, a) where this one holds for (a, b)."""
        match self:
            case Relation.EQ | Relation.NE:
                return self
            case Relation.GE:
                return Relation.LE
            case Relation.LE:
                return Relation.GE
            case Relation.GT:
                return Relation.LT
            case Relation.LT:
                return Relation.GT


@record
class Check:
    """A demand on sizes that is tested at every call: before anything runs, or when its late sizes become known.

    `lhs` and `rhs` are written in raw sizes of the arguments and in symbols of large sizes; they are not simplified by
    the fact that the check itself establishes.
    `message` may hold `{0}`, `{1}` …: the values of `values`. `origin` is the user's line of Python, if it is known.
    """

    lhs: Dim
    relation: Relation
    rhs: Dim
    message: str
    values: tuple[Dim, ...]
    span: Span
    origin: str = ""

    @property
    def subject(self) -> str:
        """The demand in the message, without the values found."""
        return self.message.partition(": found")[0]

    def holds(self, sizes: Mapping[Sym, int]) -> bool:
        """Whether sizes satisfy the demand."""
        lhs, rhs = self.lhs.evaluate(sizes), self.rhs.evaluate(sizes)
        match self.relation:
            case Relation.EQ:
                return lhs == rhs
            case Relation.GE:
                return lhs >= rhs
            case Relation.NE:
                return lhs != rhs
            case Relation.LE:
                return lhs <= rhs
            case Relation.GT:
                return lhs > rhs
            case Relation.LT:
                return lhs < rhs


@record
class RawDim:
    """A symbol that is the size of dimension `axis` of argument number `argument`."""

    symbol: Sym
    argument: int
    axis: int


@record
class UnbackedDim:
    """A symbol that is an element (row-major) of the integer argument number `argument`: a size that data decides."""

    symbol: Sym
    argument: int
    element: int


@record
class LateUnbackedDim:
    """A symbol that is an element of an integer that the program computes: result number `result` of its body.

    Tensors of such a size can only be computed after it was read.
    """

    symbol: Sym
    result: int
    element: int
    span: Span


@record
class Parameter:
    """One argument of the program: the tensor (canonical shape), and its shape in raw sizes.

    A raw size is a constant or the symbol of a `RawDim`. `is_marked_donated`: by the text, calls may overwrite it.
    """

    tensor: Tensor
    raw_shape: Shape
    is_marked_donated: bool = False


@record(eq=False)
class Whole:
    """The program that partitions are parts of, and points: assignments of sizes, searched once for all partitions.

    A partition has only some of the checks, but the facts of all checks that passed before it.
    """

    program: Program
    points: dict[str, tuple[Mapping[Sym, int], ...]] = field(default_factory=dict[str, tuple[Mapping[Sym, int], ...]])


@record
class Program:
    """A whole program, or a partition of one (`within`).

    `definitions` gives symbols that are not raw sizes (in order; each in terms of raw symbols and earlier
    definitions), `facts` what holds for all sizes that pass the `checks`. `constants` are large literals. `names` are
    those of SSA values in the user's text, without `%`, for tensors that have one.
    `sizes` are the sizes that the user has names for, in raw symbols. `sized`: for a tensor, the known integers that
    its op took, such as the shape operand of a reshape; reports show where sizes come from.
    `unbacked_dims` are sizes that are elements of arguments, not sizes of them. `late` are elements of what the
    program computes, in an order in which they become known; the tensors they are read from are the last results of
    the body, beyond those that a caller gets. `notes`: decisions of passes for the whole program, for reports.
    """

    name: str
    parameters: tuple[Parameter, ...]
    raw_dims: tuple[RawDim, ...]
    definitions: tuple[tuple[Sym, Dim], ...]
    checks: tuple[Check, ...]
    facts: Facts
    body: Body
    constants: Mapping[Tensor, NDArray[np.generic]]
    names: Mapping[Tensor, str]
    sizes: Mapping[str, Dim]
    sized: Mapping[Tensor, tuple[KnownElements, ...]]
    unbacked_dims: tuple[UnbackedDim, ...] = ()
    late: tuple[LateUnbackedDim, ...] = ()
    notes: tuple[str, ...] = ()
    within: Whole | None = None

    @property
    def given(self) -> tuple[Sym, ...]:
        """The symbols whose values a call reads: sizes of arguments, elements of arguments, then late sizes."""
        return tuple(each.symbol for each in (*self.raw_dims, *self.unbacked_dims, *self.late))

    @property
    def returned(self) -> tuple[Tensor, ...]:
        """The results that a caller gets."""
        return self.body.results[: min((each.result for each in self.late), default=None)]
