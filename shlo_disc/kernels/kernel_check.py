"""Verifies row kernels: loop symbols are unique, and values are defined before they are used.

Loops of one extent are distinct, and so are loops of one name in different stages. A formula may use only what is in
scope: the rows, the loops of its own stage, and row scalars of earlier stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.dependence import ROW, Dependence
from shlo_disc.kernels.kernel import Axis, Param, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas


def check_rows(kernel: RowKernel) -> RowKernel:
    """Return the kernel if it keeps the rules of row kernels.

    Raises:
        InternalError: two loops around one formula share a symbol, or a formula uses a loop, a row scalar or scratch
            that is not defined there, or a buffer is both read and written.
    """
    _Checker(kernel).run()
    return kernel


class _Checker:
    def __init__(self, kernel: RowKernel) -> None:
        self.kernel, self.deps = kernel, Dependence()
        self.rows = {axis.symbol.name for axis in kernel.rows}
        self.numbers = Counter[str]()  # row scalars of earlier stages, with the number of stages that define each
        self.filled = set[Scratch]()

    def run(self) -> None:
        _distinct("the rows", self.kernel.rows)
        for number, stage in enumerate(self.kernel.stages):
            self._stage(f"stage {number}", stage)
        written = {s.target for stage in self.kernel.stages for s in _stores(stage) if isinstance(s.target, Param)}
        read = {load.source for stage in self.kernel.stages for load in _loads(stage) if isinstance(load.source, Param)}
        if both := written & read:
            raise InternalError(f"row kernel: {_first(both)} is read and written, expected buffers apart")

    def _stage(self, where: str, stage: Stage) -> None:
        if len(stage.axes) != len(stage.reduced):
            raise InternalError(
                f"row kernel: {where} has {len(stage.axes)} loops, and {len(stage.reduced)} flags, expected as many"
            )
        _distinct(where, (*self.kernel.rows, *stage.axes))
        loops = {axis.symbol.name for axis in stage.axes}
        carries = {carry.name for reduction in stage.reductions for carry in reduction.carries}
        kept = {axis.symbol.name for axis, flag in zip(stage.axes, stage.reduced, strict=True) if not flag}
        for number, axis in enumerate(stage.axes):
            outer = {one.symbol.name for one in stage.axes[:number]}
            self._known(f"the extent of loop {number} of {where}", [axis.extent], outer)
        for store in stage.stores:
            self._known(f"a store of {where}", [store.offset, store.value], loops)
        for reduction in stage.reductions:
            self._reduction(where, reduction, loops, kept, carries)
        if missing := {load.source for load in _loads(stage) if isinstance(load.source, Scratch)} - self.filled:
            raise InternalError(f"row kernel: {where} reads {_first(missing)}, which no earlier stage has stored")
        self.filled |= {store.target for store in _stores(stage) if isinstance(store.target, Scratch)}
        if all(stage.reduced):
            self.numbers.update(carries)

    def _reduction(self, where: str, one: Reduction, loops: set[str], kept: set[str], carries: set[str]) -> None:
        own = {carry.name for carry in one.carries}
        inputs = {value.name for value in one.inputs}
        self._known(f"an initial value of {where}", one.init, kept)
        self._known(f"an element of {where}", one.elements, loops)
        self._known(f"an update of {where}", one.update, own | inputs)
        for store in one.stores:
            self._known(f"a result of {where}", [store.offset, store.value], kept | carries)

    def _known(self, what: str, formulas: Iterable[Node], here: set[str]) -> None:
        """Check that all that formulas use is in scope, and that each earlier row scalar has one definition."""
        named = frozenset[str]().union(*map(self.deps.of, formulas)) - {ROW} - self.rows - here
        for name in sorted(named):
            if self.numbers[name] != 1:
                found = "no stage" if not self.numbers[name] else f"{self.numbers[name]} stages"
                raise InternalError(f"row kernel: {what} reads {name}, which {found} before it found for the row")


def _distinct(where: str, axes: Iterable[Axis]) -> None:
    """Check that loops around one formula have different symbols."""
    counted = Counter(axis.symbol.name for axis in axes)
    if several := [name for name, count in counted.items() if count > 1]:
        raise InternalError(f"row kernel: {where} has several loops named {several[0]}, expected one")


def _stores(stage: Stage) -> Iterator[Store]:
    yield from stage.stores
    for reduction in stage.reductions:
        yield from reduction.stores


def _loads(stage: Stage) -> Iterator[Load]:
    places = [data.formula for store in _stores(stage) for data in store.offset.data()]
    return (node for node in nodes_of([*stage_formulas(stage), *places]) if isinstance(node, Load))


def _first(found: set[Param] | set[Scratch]) -> str:
    return min(one.name for one in found)
