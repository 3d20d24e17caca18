"""Reads of one tensor while another is computed, traced through reshapes, broadcasts, transposes and slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.opdef import Trait
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import ops_with
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Binary,
    Bitcast,
    Compare,
    Convert,
    FoldResult,
    FromDim,
    Index,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.records import record

VIEWS, LEAVES = ops_with(Trait.VIEW), ops_with(Trait.LEAF)


def is_free(op: Op[object]) -> bool:
    """Whether recomputing an element of this op where it is used costs only index arithmetic."""
    return op.name in VIEWS or op.name in LEAVES


def index_symbols(shape: Shape, facts: Facts, letter: str = "i") -> tuple[tuple[Sym, ...], Facts]:
    """Fresh loop symbols that run over `shape`, and the facts extended with their ranges."""
    symbols = tuple(Sym(f"%{letter}{k}") for k in range(len(shape)))
    for symbol, size in zip(symbols, shape, strict=True):
        facts = facts.with_index(symbol, size)
    return symbols, facts


def loads(root: Scalar) -> Iterator[Load]:
    """Every distinct load of a formula, those inside indices included."""
    return (node for node in nodes(root) if isinstance(node, Load))


def nodes(root: Node) -> Iterator[Node]:
    """Every distinct node of a formula, those inside indices included."""
    seen, stack = set[Node](), [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(children(node))


def children(node: Node) -> Sequence[Node]:
    """The direct operands of a node, formulas in its dims included."""
    match node:
        case Load(_, index):
            return [data.formula for dim in index for data in dim.data()]
        case Unary(_, x) | Convert(x, _) | Bitcast(x, _) | ReducePrecision(x):
            return (x,)
        case Binary(_, a, b) | Compare(_, a, b):
            return (a, b)
        case Select(condition, then, other):
            return (condition, then, other)
        case FromDim(dim, _):
            return [data.formula for data in dim.data()]
        case InRange(dim, lower, upper):
            return [data.formula for d in (dim, lower, upper) for data in d.data()]
        case FoldResult(fold, _):
            extents = [data.formula for _, extent in fold.axes for data in extent.data()]
            return (*fold.init, *fold.update, *extents)
        case _:
            return ()


@record
class Access:
    """A read of `tensor[index]`."""

    tensor: Tensor
    index: Index


def tensor_loads(root: Scalar) -> tuple[Access, ...]:
    """The distinct tensor elements that a formula reads."""
    return tuple(Access(n.source, n.index) for n in loads(root) if isinstance(n.source, Tensor))


@record
class AffineView:
    """A strided view: `tensor[index]` is `base` at the flat offset `offset + sum of strides[k] * index[k]`."""

    base: Tensor
    offset: Dim
    strides: tuple[Dim, ...]


def affine_view(tensor: Tensor, facts: Facts, producers: Producers) -> AffineView | None:
    """Express `tensor` as a strided view of a tensor that is not a view itself; None if that is impossible."""
    symbols, facts = index_symbols(tensor.shape, facts)

    def is_view(t: Tensor) -> bool:
        made = producers.get(t)
        return made is not None and made[0].name in VIEWS

    read = Formulas(facts, producers, is_view).at(tensor, tuple(map(of, symbols)))
    if not isinstance(read, Load) or not isinstance(read.source, Tensor):
        return None
    rest = facts.canonical(linear(read.index, read.source.shape))
    strides = list[Dim]()
    for symbol in symbols:
        if (split := rest.linear(symbol)) is None:
            return None
        stride, rest = split
        if stride.symbols().intersection(symbols):
            return None
        strides.append(stride)
    if rest.data():
        return None
    return AffineView(read.source, rest, tuple(strides))
