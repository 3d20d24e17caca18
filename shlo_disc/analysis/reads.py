"""The elements that an op reads to compute one of its own, cached per op.

All ops of one shape share their index symbols and the facts about them, so that simplifications made for one of them
are reused for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import mul

from shlo_disc.analysis.access import Access, is_free, nodes, tensor_loads
from shlo_disc.analysis.formula import Formulas
from shlo_disc.analysis.structure import Leaves, Structures
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import FoldResult, Index, Scalar, as_scalar
from shlo_disc.records import record


@record(eq=False)
class Space:
    """The iteration space of an op; `index` is a generic point of it."""

    shape: Shape
    index: Index
    facts: Facts
    formulas: Formulas  # inline free ops


@record(eq=False)
class Reads:
    """The reads at one point of `space`; `loops` are the extents of loops inside the element.

    Ops of equal structure share the symbols of their loops, though each has loops of its own.
    """

    space: Space
    accesses: tuple[Access, ...]
    loops: Mapping[Sym, Dim]

    def repetitions(self, access: Access) -> Dim:
        """The product of the extents of those loops inside the element that move this access."""
        return reduce(mul, self._around(access).values(), const(1))

    def moves(self, access: Access) -> bool:
        """Whether the index of an access depends on loops inside the element."""
        return bool(self.loops) and bool(self._around(access))

    def indices(self) -> frozenset[Tensor]:
        """The tensors whose elements are indices into others."""
        data = {data for access in self.accesses for dim in access.index for data in dim.data()}
        return frozenset(access.tensor for each in data for access in tensor_loads(as_scalar(each.formula)))

    def _around(self, access: Access) -> Mapping[Sym, Dim]:
        moving = {s for dim in access.index for s in dim.symbols()}
        return {symbol: extent for symbol, extent in self.loops.items() if symbol in moving}


@dataclass(slots=True, eq=False)
class ReadTable:
    """Reads of the ops of one program."""

    structures: Structures
    _spaces: dict[Shape, Space] = field(default_factory=dict[Shape, Space])
    _reads: dict[Op[object], tuple[Reads, ...]] = field(default_factory=dict[Op[object], tuple[Reads, ...]])
    _patterns: dict[int, tuple[tuple[Reads, ...], Leaves]] = field(
        default_factory=dict[int, tuple[tuple[Reads, ...], Leaves]]
    )

    def space(self, shape: Shape) -> Space:
        """The iteration space of a shape."""
        if (known := self._spaces.get(shape)) is None:
            facts, index = self.structures.facts, list[Dim]()
            for extent in shape:
                if extent.constant == 1:  # so that spaces that differ in dims of 1 have equal symbols
                    index.append(const(0))
                    continue
                symbol = Sym(f"%i{sum(i.constant is None for i in index)}")
                facts = facts.with_index(symbol, extent)
                index.append(facts.canonical(of(symbol)))
            known = self._spaces[shape] = Space(
                shape, tuple(index), facts, Formulas(facts, self.structures.producers, self._is_free)
            )
        return known

    def of(self, op: Op[object]) -> tuple[Reads, ...]:
        """The reads of an element or reduce op per result; a reduction has one entry, for a point of its operand."""
        if (known := self._reads.get(op)) is None:
            known = self._reads[op] = self._matched(op)
        return known

    def _matched(self, op: Op[object]) -> tuple[Reads, ...]:
        """The cached reads of an op of equal structure, with the leaves of this op."""
        if op.bodies and not isinstance(op.attrs, ReduceAttrs):
            return self._find(op)
        structure = self.structures.of_op(op)
        if (known := self._patterns.get(structure.number)) is None:
            found = self._find(op)
            if all(_is_pattern(reads, structure.leaves) for reads in found):
                self._patterns[structure.number] = found, structure.leaves
            return found
        pattern, leaves = known
        named = dict(zip(leaves, structure.leaves, strict=True))
        return tuple(_renamed(reads, named) for reads in pattern)

    def _find(self, op: Op[object]) -> tuple[Reads, ...]:
        if isinstance(op.attrs, ReduceAttrs):
            count = len(op.operands) // 2
            space = self.space(op.operands[0].shape)
            elements = [space.formulas.at(t, space.index) for t in op.operands[:count]]
            return (_reads(space, [*elements, *(space.formulas.at(t, ()) for t in op.operands[count:])]),)
        element = definition(op).element
        if element is None or definition(op).template is Template.REDUCE:
            return ()
        spaces = [self.space(t.shape) for t in op.results]
        return tuple(_reads(s, [element(op, s.formulas, k, s.index)]) for k, s in enumerate(spaces))

    def _is_free(self, tensor: Tensor) -> bool:
        made = self.structures.producers.get(tensor)
        return made is not None and is_free(made[0])


def _reads(space: Space, formulas: list[Scalar]) -> Reads:
    found, loops = dict[Access, None](), dict[Sym, Dim]()
    for formula in formulas:
        found.update(dict.fromkeys(tensor_loads(formula)))
        loops.update(_loops(formula))
    return Reads(space, tuple(found), loops)


def _is_pattern(reads: Reads, leaves: Leaves) -> bool:
    """Whether reads are of leaves only, and no dim reads a tensor."""
    dims = (*(dim for a in reads.accesses for dim in a.index), *reads.loops.values())
    return all(a.tensor in leaves for a in reads.accesses) and not any(dim.data() for dim in dims)


def _renamed(pattern: Reads, named: Mapping[Tensor, Tensor]) -> Reads:
    """The reads with their tensors replaced."""
    return Reads(pattern.space, tuple([Access(named[a.tensor], a.index) for a in pattern.accesses]), pattern.loops)


def _loops(root: Node) -> dict[Sym, Dim]:
    return {s: extent for node in nodes(root) if isinstance(node, FoldResult) for s, extent in node.fold.axes}
