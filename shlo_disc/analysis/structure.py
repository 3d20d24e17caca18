"""Ops of equal structure, as in the layers of a model: their reads are equal up to renaming of tensors.

The structure of a tensor is the graph of free ops that computes it from other tensors, its leaves. Two ops of equal
structure have equal element formulas except for their leaves, which occur in the same places (value numbering, as in
Alpern, Wegman and Zadeck, POPL 1988, with the leaves as variables).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from shlo_disc.analysis.access import AffineView, affine_view, is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.facts import Facts
from shlo_disc.records import record

Leaves: TypeAlias = tuple[Tensor, ...]


@record
class Structure:
    """The number of a structure, and the leaves: with equal numbers, at most the leaves differ."""

    number: int
    leaves: Leaves


@dataclass(slots=True, eq=False)
class Structures:
    """The structures of one program, and the affine views of tensors by structure, under its facts."""

    facts: Facts
    producers: Producers
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _tensors: dict[Tensor, Structure] = field(default_factory=dict[Tensor, Structure])
    _views: dict[int, tuple[AffineView | None, Leaves]] = field(
        default_factory=dict[int, tuple[AffineView | None, Leaves]]
    )

    def of_op(self, op: Op[object]) -> Structure:
        """The structure of an op; its bodies are ignored, so formulas that inline them may differ."""
        results = tuple((t.shape, t.dtype) for t in op.results)
        return self._number((op.name, op.attrs, results), op.operands)

    def of_tensor(self, tensor: Tensor) -> Structure:
        """The structure of a tensor: that of the free op that computes it, else a leaf of its type."""
        waiting = [tensor]
        while (known := self._tensors.get(tensor)) is None:  # the source of a chain of views comes first
            current = waiting.pop()
            made = self.producers.get(current)
            if made is None or not is_free(made[0]):
                leaf = self._numbered((current.shape, current.dtype, current.bounds))
                self._tensors[current] = Structure(leaf, (current,))
            elif missing := [operand for operand in made[0].operands if operand not in self._tensors]:
                waiting += [current, *missing]
            else:
                self._tensors[current] = self.of_op(made[0])
        return known

    def affine_view(self, tensor: Tensor) -> AffineView | None:
        """`access.affine_view` under the facts of the program, cached per structure."""
        structure = self.of_tensor(tensor)
        if (known := self._views.get(structure.number)) is None:
            view = affine_view(tensor, self.facts, self.producers)
            if view is None or view.base in structure.leaves:  # else it is a view of a literal
                self._views[structure.number] = view, structure.leaves
            return view
        view, leaves = known
        if view is None or leaves == structure.leaves:
            return view
        return AffineView(structure.leaves[leaves.index(view.base)], view.offset, view.strides)

    def _number(self, what: Hashable, operands: Iterable[Tensor]) -> Structure:
        places, parts = dict[Tensor, int](), list[Hashable]()
        for tensor in operands:
            structure = self.of_tensor(tensor)
            where = tuple(places.setdefault(leaf, len(places)) for leaf in structure.leaves)
            parts.append((structure.number, where))
        return Structure(self._numbered((what, tuple(parts))), tuple(places))

    def _numbered(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))
