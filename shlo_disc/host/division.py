"""Which rows of its tensors each task of a launch accesses; used by `regions`.

A launch is cut into blocks of rows in the order of its tasks. A tensor of which each task accesses only its own rows is
*local*: a thread that has the same rows of two launches needs only its own part of what one passes to the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.expr.dim import Dim, Sym, divide, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import FoldResult, Load
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Panel, Param, RowKernel, Stage
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.records import record

_DEPTH = Sym("%depth")
_Loops = tuple[tuple[Sym, Dim], ...]


@record
class ElementAccess:
    """An access to the tensor at `position`, in `loops` (outermost first); `offset` None: to any of its elements."""

    position: int
    offset: Dim | None
    loops: _Loops = ()


@record
class Division:
    """A launch as `count` lines in order; `accesses` are those of the line number `line`.

    A task of the launch is a line; or, if there is a `block`, `tasks` tasks compute a block of that many lines, which
    may be any number. `work` is that of all lines, `grain` the least that is worth one of the `threads`.
    """

    line: Dim
    count: Dim
    accesses: tuple[ElementAccess, ...]
    tasks: Dim
    block: Sym | None
    work: Dim
    grain: int
    threads: int

    def is_local(self, position: int, elements: Dim, rows: Dim, facts: Facts) -> bool:
        """Whether all accesses to a tensor of `elements` elements are proven to be in the row of their line.

        The tensor's elements and the lines are both cut into `rows` equal parts.
        """
        width, rest = divide(elements, rows)
        lines, other = divide(self.count, rows)
        if rest.terms or other.terms or not (width.terms and lines.terms):  # the last: rows without elements or lines
            return False
        found = [access for access in self.accesses if access.position == position]
        return all(self._in_row(access, width, lines, facts) for access in found)

    def _in_row(self, access: ElementAccess, width: Dim, lines: Dim, facts: Facts) -> bool:
        if access.offset is None:
            return False
        for symbol, extent in access.loops:
            facts = facts.with_index(symbol, extent)
        return facts.canonical(access.offset // width) == facts.canonical(self.line // lines)


def row_accesses(kernel: RowKernel) -> tuple[ElementAccess, ...]:
    """The accesses of a kernel of rows, or of a single map."""
    loops = _loops(kernel.rows)
    return tuple(access for stage in kernel.stages for access in _of_stage(kernel.params, stage, loops))


def row_line(kernel: RowKernel) -> tuple[Dim, Dim]:
    """The number of a row, or of a point if there are no rows; and how many there are."""
    axes = kernel.rows or kernel.stages[0].axes
    extents = [axis.extent for axis in axes]
    return linear([of(axis.symbol) for axis in axes], extents), product(extents)


def product_accesses(kernel: DotKernel) -> tuple[ElementAccess, ...]:
    """The accesses of a product without a batch, whose lines are its rows; each line may read all of B."""
    loops = _loops((kernel.row,))
    found = list(_of_operand(kernel, kernel.a, loops))
    found += [ElementAccess(access.position, None) for access in _of_operand(kernel, kernel.b, loops)]
    found += _of_stage(kernel.params, Stage((kernel.column,), (False,), kernel.epilogue, ()), loops)
    return tuple(found)


def _of_operand(kernel: DotKernel, operand: MatrixView | Panel, loops: _Loops) -> Iterator[ElementAccess]:
    if isinstance(operand, MatrixView):
        depth = ((_DEPTH, kernel.depth),)
        offset = operand.offset + operand.row_stride * of(kernel.row.symbol) + operand.column_stride * of(_DEPTH)
        yield ElementAccess(kernel.params.index(operand.source), offset, (*loops, *depth))
        return
    own = {operand.line.symbol: of(kernel.row.symbol)}
    for access in _loads(kernel.params, (operand.value,), _loops((operand.line, operand.depth))):
        offset = None if access.offset is None else access.offset.substitute(own)
        yield ElementAccess(access.position, offset, (*loops, *access.loops[1:]))


def _of_stage(params: Sequence[Param], stage: Stage, loops: _Loops) -> Iterator[ElementAccess]:
    loops = (*loops, *_loops(stage.axes))
    stores = (*stage.stores, *(store for reduction in stage.reductions for store in reduction.stores))
    roots: list[Node] = [store.value for store in stores]
    numbers = {param: number for number, param in enumerate(params)}
    for reduction in stage.reductions:
        roots += (*reduction.init, *reduction.elements, *reduction.update)
    for store in stores:
        roots += [data.formula for data in store.offset.data()]
        if isinstance(store.target, Param):
            yield ElementAccess(numbers[store.target], None if store.offset.data() else store.offset, loops)
    yield from _loads(params, roots, loops)


def _loads(params: Sequence[Param], roots: Iterable[Node], loops: _Loops) -> Iterator[ElementAccess]:
    """The loads of formulas; those in folds range over all of the folds' axes."""
    nodes, numbers = list(nodes_of(roots)), {param: number for number, param in enumerate(params)}
    folds = dict.fromkeys(axis for node in nodes if isinstance(node, FoldResult) for axis in node.fold.axes)
    inner = (*loops, *folds)
    is_plain = len({symbol for symbol, _ in inner}) == len(inner)
    for node in nodes:
        if isinstance(node, Load) and isinstance(node.source, Param):
            (offset,) = node.index
            yield ElementAccess(numbers[node.source], offset if is_plain and not offset.data() else None, inner)


def _loops(axes: Sequence[Axis]) -> _Loops:
    return tuple((axis.symbol, axis.extent) for axis in axes)
