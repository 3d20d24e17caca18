"""Rewrites the dims inside scalars, and merges loops that every access indexes as one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from shlo_disc.analysis.access import children
from shlo_disc.expr.dim import Atom, Data, Dim, Sym, const, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Arg,
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    Fold,
    FoldResult,
    FromDim,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
    as_scalar,
)
from shlo_disc.kernels.kernel import Axis

DimMap = Callable[[Dim], Dim]


def nodes_of(roots: Iterable[Node]) -> Iterator[Node]:
    """Every distinct node of these formulas, those inside indices included."""
    seen, stack = set[Node](), list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(children(node))


def dims_of(roots: Iterable[Node]) -> Iterator[Dim]:
    """Every dim that occurs in these formulas, dims inside data indices included."""
    for node in nodes_of(roots):
        match node:
            case Load(_, index):
                yield from index
            case FromDim(dim, _):
                yield dim
            case InRange(dim, lower, upper):
                yield from (dim, lower, upper)
            case FoldResult(fold, _):
                yield from (extent for _, extent in fold.axes)
            case _:
                pass


class DimRewriter:
    """Applies a dim -> dim function everywhere in scalars, once per distinct node."""

    def __init__(self, plain: DimMap) -> None:
        self._plain = plain
        self._memo = dict[Node, Scalar]()

    def dim(self, dim: Dim) -> Dim:
        """Rewrite a dim, the formulas of its data atoms first."""
        if dim.data():
            dim = dim.map_atoms(self._atom)
        return self._plain(dim)

    def _atom(self, atom: Atom) -> Dim:
        if isinstance(atom, Data):
            return of(Data(self.scalar(as_scalar(atom.formula))))
        return of(atom)

    def scalar(self, node: Scalar) -> Scalar:
        """Rewrite every dim of a formula."""
        if (known := self._memo.get(node)) is None:
            known = self._memo[node] = self._rebuild(node)
        return known

    def _rebuild(self, node: Scalar) -> Scalar:  # one case per node
        go = self.scalar
        match node:
            case Const() | Arg():
                return node
            case Load(source, index):
                return Load(source, tuple(map(self.dim, index)))
            case Unary(fn, x, dtype):
                return Unary(fn, go(x), dtype)
            case Binary(fn, a, b, dtype):
                return Binary(fn, go(a), go(b), dtype)
            case Compare(direction, a, b, total):
                return Compare(direction, go(a), go(b), total)
            case Select(condition, then, other):
                return Select(go(condition), go(then), go(other))
            case Convert(x, dtype):
                return Convert(go(x), dtype)
            case Bitcast(x, dtype):
                return Bitcast(go(x), dtype)
            case ReducePrecision(x, exponent, mantissa):
                return ReducePrecision(go(x), exponent, mantissa)
            case FromDim(dim, dtype, within):
                return FromDim(self.dim(dim), dtype, within)
            case InRange(dim, lower, upper):
                return InRange(self.dim(dim), self.dim(lower), self.dim(upper))
            case FoldResult(fold, position):
                return FoldResult(self._fold(fold), position)
            case _:
                assert_never(node)

    def _fold(self, fold: Fold) -> Fold:
        return Fold(
            tuple((symbol, self.dim(extent)) for symbol, extent in fold.axes),
            fold.carries,
            tuple(map(self.scalar, fold.init)),
            tuple(map(self.scalar, fold.update)),
        )


class ArgRewriter(DimRewriter):
    """Replaces args by formulas."""

    def __init__(self, replacements: Mapping[str, Scalar]) -> None:
        super().__init__(lambda dim: dim)
        self._replacements = replacements

    def _rebuild(self, node: Scalar) -> Scalar:
        if isinstance(node, Arg):
            return self._replacements.get(node.name, node)
        return super()._rebuild(node)


def mergeable(outer: Axis, inner: Axis, dims: Sequence[Dim]) -> bool:
    """Whether every dim depends on the two loops as on one loop of `outer.extent * inner.extent` steps."""
    for dim in dims:
        symbols = dim.symbols()
        if outer.symbol not in symbols and inner.symbol not in symbols:
            continue
        a, b = dim.linear(outer.symbol), dim.linear(inner.symbol)
        if a is None or b is None or a[0] != b[0] * inner.extent:
            return False
        if {outer.symbol, inner.symbol} & (a[0].symbols() | b[0].symbols()):
            return False
    return True


def merged(outer: Axis, inner: Axis) -> tuple[Axis, dict[Sym, Dim]]:
    """The merged loop, and the substitution for it: the inner symbol now runs over all points."""
    return Axis(inner.symbol, outer.extent * inner.extent), {outer.symbol: const(0)}
