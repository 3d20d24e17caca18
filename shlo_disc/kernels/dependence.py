"""Which loops and row scalars a formula depends on, so that loop-invariant formulas can be hoisted."""

from __future__ import annotations

from shlo_disc.analysis.access import children
from shlo_disc.expr.dim import Data, Dim
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, FoldResult, FromDim, InRange, Load
from shlo_disc.kernels.kernel import Scratch

ROW = "%row"  # a name on which every read of row scratch depends


class Dependence:
    """Names of the loop symbols and args that nodes depend on, memoized over a kernel."""

    def __init__(self) -> None:
        self._memo = dict[Node, frozenset[str]]()

    def of(self, node: Node) -> frozenset[str]:
        """Loop symbols (`%…`), arg names and `ROW`; sizes of the program are not listed."""
        if (known := self._memo.get(node)) is None:
            known = self._memo[node] = self._find(node)
        return known

    def dim(self, dim: Dim) -> frozenset[str]:
        """The same for a dim."""
        return self.of(dim)

    def _find(self, node: Node) -> frozenset[str]:
        match node:
            case Dim():
                loops = frozenset(s.name for s in node.symbols() if s.name.startswith("%"))
                return loops.union(*(self.of(data.formula) for data in node.data()))
            case Data():
                return self.of(node.formula)
            case Arg(name, _):
                return frozenset((name,))
            case Load(source, index):
                own = frozenset((ROW,)) if isinstance(source, Scratch) else frozenset[str]()
                return own.union(*map(self.of, index))
            case FromDim(dim, _):
                return self.of(dim)
            case InRange(dim, lower, upper):
                return self.of(dim) | self.of(lower) | self.of(upper)
            case FoldResult(fold, _):
                inside = frozenset[str]().union(*map(self.of, (*fold.init, *fold.update)))
                extents = frozenset[str]().union(*(self.of(extent) for _, extent in fold.axes))
                bound = {s.name for s, _ in fold.axes} | {c.name for c in fold.carries}
                return (inside - bound) | extents
            case _:
                return frozenset[str]().union(*map(self.of, children(node)))
