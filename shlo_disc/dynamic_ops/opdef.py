"""OpDef: the definition of one DHLO op as one frozen record."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Generic, Protocol, TypeAlias, TypeGuard, TypeVar

from numpy.typing import NDArray

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.scalar import Index, Scalar
from shlo_disc.records import record

A = TypeVar("A")
Arrays: TypeAlias = tuple[NDArray[Any], ...]
RunBody: TypeAlias = Callable[[Body | Program, Arrays], Arrays]


class Template(Enum):
    """The kernel template of an op that has no element rule, or is computed better without it."""

    ELEMENT = auto()  # computed by the element rule alone
    REDUCE = auto()  # a reduction over whole dims: a stage of a row kernel
    DOT = auto()
    GROUPED_DOT = auto()
    CONVOLUTION = auto()
    SORT = auto()
    SCATTER = auto()
    SELECT_AND_SCATTER = auto()
    LIBRARY = auto()  # a call of a library: operands and results are whole arrays in memory
    WHILE = auto()
    CASE = auto()
    OUTLINED = auto()  # regions are separate programs: partitions, not kernels


class Trait(Enum):
    """Properties that hold for an op at all operands; analyses and passes query them."""

    VIEW = auto()  # each element of the result is an element of the only operand
    LEAF = auto()  # elements follow from attributes and sizes alone: nothing is read
    EXACT = auto()  # nothing is rounded, in any implementation
    SUM = auto()  # sums of elements or of products of them; exact where every value fits into a significand


LOOP = 100.0  # the cost of an element that is a loop of its own


class ElementQuery(Protocol):
    """Queries that an element rule may make."""

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        """Read one element: a load, or the inlined formula of its producer."""
        ...

    def symbol(self, hint: str, /) -> Sym:
        """A fresh index symbol, for the axes of a fold."""
        ...

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        """The results of a region of rank-0 ops for these arguments."""
        ...


@record
class NoAttrs:
    """The attributes of an op that has none."""


@record(kw_only=True)
class OpDef(Generic[A]):
    """One op, declared once. The facets are redundant; tests compare them with each other.

    `element(op, ask, k, index)` gives the formula of element `index` of result number `k`; None for ops that only a
    template can compute. `reference(op, inputs, run)` is an independent implementation in NumPy, the oracle; its `op`
    has constant dims everywhere, and `run` interprets a body or an outlined program. Bodies of rank-0 ops may be run on
    whole arrays at once. `cost`: of one element, relative to an addition in a CPU's vector unit.
    """

    name: str
    attrs: type[A]
    template: Template
    element: Callable[[Op[A], ElementQuery, int, Index], Scalar] | None
    reference: Callable[[Op[A], Arrays, RunBody], Arrays]
    traits: frozenset[Trait] = frozenset()
    cost: float = 1.0

    def defines(self, op: Op[Any]) -> TypeGuard[Op[A]]:
        """Whether an op has this definition."""
        return op.name == self.name

    def op(
        self,
        operands: tuple[Tensor, ...],
        attrs: A,
        results: tuple[Tensor, ...],
        span: Span,
        bodies: tuple[Body, ...] = (),
    ) -> Op[A]:
        """Make an op; `span` is where it comes from."""
        return Op(self.name, operands, attrs, results, bodies, span)


def plain(reference: Callable[[Op[A], Arrays], Arrays]) -> Callable[[Op[A], Arrays, RunBody], Arrays]:
    """Make the reference of an op without bodies."""
    return lambda op, inputs, _run: reference(op, inputs)
