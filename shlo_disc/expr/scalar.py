"""Scalars: expressions for one element of a tensor.

A scalar is a graph of frozen nodes, each with a dtype. Rules differ by dtype: `x*0 -> 0` holds for
integers only, because floats may be NaN or infinite. Traverse with `match` and `assert_never`.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.node import Node
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

Index: TypeAlias = tuple[Dim, ...]
Bounds: TypeAlias = tuple[Dim | None, Dim | None]  # of integers, inclusive; None: the end of the type's range
NO_BOUNDS: Bounds = (None, None)


def neutral(fn: BinaryFn, dtype: DType) -> float | int | bool:
    """The identity element of a simple operation, as a Python number."""
    match fn:
        case BinaryFn.ADD | BinaryFn.OR | BinaryFn.XOR:
            return False if dtype.is_bool else 0.0 if dtype.is_float else 0
        case BinaryFn.MULTIPLY:
            return True if dtype.is_bool else 1.0 if dtype.is_float else 1
        case BinaryFn.MAXIMUM:
            if dtype.is_float:
                return float("-inf")
            return False if dtype.is_bool else -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
        case BinaryFn.MINIMUM:
            if dtype.is_float:
                return float("inf")
            return True if dtype.is_bool else 2 ** (dtype.bits - dtype.is_signed) - 1
        case _:
            return True if dtype.is_bool else -1 if dtype.is_signed else 2**dtype.bits - 1


class Loadable(Protocol):
    """A source of loads: a tensor, a scratch buffer. `bounds` hold for all its elements."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def bounds(self) -> Bounds: ...


@record(eq=False)
class Const(Node):
    """A literal. Floats may be NaN or infinite; complex literals are Python complex."""

    value: bool | int | float | complex
    dtype: DType

    def parts(self) -> tuple[object, ...]:
        # literals are compared by spelling, as 0.0 == -0.0 and nan != nan
        return (repr(self.value), self.dtype)


@record(eq=False)
class Load(Node):
    """`source[index]`: one element from memory."""

    source: Loadable
    index: Index

    @property
    def dtype(self) -> DType:
        return self.source.dtype


@record(eq=False)
class Arg(Node):
    """A scalar that surrounding code names: a carry of a fold, a row scalar, a region argument."""

    name: str
    dtype: DType


@record(eq=False)
class Unary(Node):
    fn: UnaryFn
    x: Scalar
    dtype: DType


@record(eq=False)
class Binary(Node):
    fn: BinaryFn
    a: Scalar
    b: Scalar
    dtype: DType


@record(eq=False)
class Compare(Node):
    """A comparison, of type i1. `total`: IEEE total order of floats (StableHLO's TOTALORDER)."""

    direction: Direction
    a: Scalar
    b: Scalar
    total: bool = False

    @property
    def dtype(self) -> DType:
        return DType.I1


@record(eq=False)
class Select(Node):
    """`then` if `condition` (i1) else `other`; only the chosen side's loads need be in range."""

    condition: Scalar
    then: Scalar
    other: Scalar

    @property
    def dtype(self) -> DType:
        return self.then.dtype


@record(eq=False)
class Convert(Node):
    """StableHLO's convert: round to nearest even to floats, truncate to integers, `!= 0` to i1."""

    x: Scalar
    dtype: DType


@record(eq=False)
class Bitcast(Node):
    """Reinterpret the bits as another type of the same width."""

    x: Scalar
    dtype: DType


@record(eq=False)
class ReducePrecision(Node):
    x: Scalar
    exponent_bits: int
    mantissa_bits: int

    @property
    def dtype(self) -> DType:
        return self.x.dtype


@record(eq=False)
class FromDim(Node):
    """The value of a dim (a size or an index) as an integer, float or complex element.

    An integer `dtype` holds the dim without wrapping, so the element may be used as the dim again. Where that is not
    proven, the element is `Convert(FromDim(dim, I64), dtype)`. `within`: for other dtypes, an integer type that holds
    the dim.
    """

    dim: Dim
    dtype: DType
    within: DType = DType.I64


@record(eq=False)
class InRange(Node):
    """Whether `lower <= dim < upper`, as i1: a condition on indices (pad, concatenate, scatter)."""

    dim: Dim
    lower: Dim
    upper: Dim

    @property
    def dtype(self) -> DType:
        return DType.I1


@record(eq=False)
class Fold(Node):
    """A sequential reduction inside one element.

    Over all points of `axes` (symbol and extent, outermost first): `carries := update`, starting
    from `init`. `update` is written in terms of the carries (as `Arg`s) and of the axes' symbols.
    Several carries are updated at once. Use `FoldResult` to pick one.
    """

    axes: tuple[tuple[Sym, Dim], ...]
    carries: tuple[Arg, ...]
    init: tuple[Scalar, ...]
    update: tuple[Scalar, ...]


@record(eq=False)
class FoldResult(Node):
    """The final value of the fold's carry number `position`."""

    fold: Fold
    position: int

    @property
    def dtype(self) -> DType:
        return self.fold.carries[self.position].dtype


Scalar: TypeAlias = (
    Const | Load | Arg | Unary | Binary | Compare | Select | Convert | Bitcast
    | ReducePrecision | FromDim | InRange | FoldResult
)  # fmt: skip


def as_scalar(node: Node) -> Scalar:
    """Give the formula of a data atom its type, which `dim` cannot import."""
    assert isinstance(node, Scalar), f"a data atom holds {type(node).__name__}, expected a scalar"
    return node
