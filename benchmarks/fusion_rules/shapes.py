"""What the shape constraints of BladeDISC prove of two shapes: nothing but equalities.

Its `SymbolicDimMgr` (disc_shape_optimization_pass, `ShapeConstraintIRAnalysis`) knows dim == dim, dim == constant and
product == product. Sizes that additions and subtractions make (concatenate, slice, pad, windows) are new symbols there,
which only a later op with equal operands ties to others. Shape operands are taken at their best: the same formula of
the same sizes is the same symbol, as if common subexpressions had been found everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.move import ConcatenateAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, of

Key: TypeAlias = Hashable
Extents: TypeAlias = tuple[int, frozenset[tuple[Key, int]]]  # a constant, and how often each symbol is a factor

_LOST = frozenset({"d_slice", "d_pad", "d_reduce_window", "d_convolution", "d_dynamic_slice"})
_OF_SHAPE_OPERANDS = frozenset({"d_broadcast", "d_reshape", "d_iota", "d_from_dims", "d_constant", "d_gather", "d_map"})
_KEEPS_COUNT = frozenset({"d_reshape", "d_transpose", "d_reverse"})


@dataclass(slots=True)
class _Classes:
    """Disjoint sets of keys (Tarjan 1975)."""

    parent: dict[Key, Key] = field(default_factory=dict[Key, Key])

    def find(self, key: Key) -> Key:
        root = key
        while (above := self.parent.get(root, root)) != root:
            root = above
        while key != root:
            key, self.parent[key] = self.parent[key], root
        return root

    def unite(self, a: Key, b: Key) -> None:
        a, b = self.find(a), self.find(b)
        if a == b or (isinstance(a, int) and isinstance(b, int)):
            return
        if _rank(b) > _rank(a):
            a, b = b, a
        self.parent[b] = a


def _rank(key: Key) -> int:
    """What says most stands for its class: a constant, or else a formula."""
    return 2 if isinstance(key, int) else 1 if isinstance(key, Dim) else 0


class ShapeConstraints:
    """Equal dims, and equal numbers of elements, as far as the ops of a program say so themselves."""

    def __init__(self, producers: Producers) -> None:
        self._dims, self._counts = _Classes(), _Classes()
        self._known = set[Tensor]()
        for op in dict.fromkeys(op for op, _ in producers.values()):
            self._collect(op)

    def same_shape(self, a: Tensor, b: Tensor) -> bool:
        """Whether all dims are equal in pairs."""
        return self._keys(a) == self._keys(b)

    def same_count(self, a: Tensor, b: Tensor) -> bool:
        """Whether both have as many elements."""
        return self._counts.find(a) == self._counts.find(b) or self.extents(a) == self.extents(b)

    def extents(self, tensor: Tensor, axes: Iterable[int] | None = None) -> Extents:
        """The product of some dims, or of all, so that equal products are the same."""
        keys = self._keys(tensor)
        constant, factors = 1, Counter[Key]()
        for axis in range(len(keys)) if axes is None else axes:
            key = keys[axis]
            if isinstance(key, int):
                constant *= key
            elif isinstance(key, Dim) and len(key.terms) == 1:  # a product, as a reshape says
                atoms, weight = key.terms[0]
                constant *= weight
                factors.update(self._dims.find(of(atom)) for atom in atoms)
            else:
                factors[key] += 1
        return constant, frozenset(factors.items())

    def _keys(self, tensor: Tensor) -> tuple[Key, ...]:
        if tensor not in self._known:  # an argument, or a literal: its dims are named
            self._name(tensor)
        return tuple(self._dims.find((tensor, axis)) for axis in range(len(tensor.shape)))

    def _name(self, tensor: Tensor) -> None:
        self._known.add(tensor)
        for axis, dim in enumerate(tensor.shape):
            self._dims.unite(dim if dim.constant is None else dim.constant, (tensor, axis))

    def _collect(self, op: Op[object]) -> None:
        """Tie the dims of an op's results to those of its operands."""
        for operand in op.operands:
            if operand not in self._known:
                self._keys(operand)
        for result in op.results:
            self._known.add(result)
            for axis, dim in enumerate(result.shape):
                if dim.constant is not None:
                    self._dims.unite(dim.constant, (result, axis))
            for operand, pairs in _equal_axes(op, result):
                for axis, other in pairs:
                    self._dims.unite((operand, other), (result, axis))
            if _is_named(op):
                self._name(result)
            if op.name in _KEEPS_COUNT or _is_elementwise(op):
                for operand in op.operands:
                    if op.name in _KEEPS_COUNT or len(operand.shape) == len(result.shape):
                        self._counts.unite(operand, result)


def _is_elementwise(op: Op[object]) -> bool:
    return definition(op).template is Template.ELEMENT and not op.name.startswith("d_")


def _is_named(op: Op[object]) -> bool:
    """Whether a shape operand, or a rule that no constraint of theirs covers, says how large the result is."""
    if op.name in _OF_SHAPE_OPERANDS:
        return True
    template = definition(op).template
    return template in (Template.WHILE, Template.CASE)


def _equal_axes(op: Op[object], result: Tensor) -> list[tuple[Tensor, Sequence[tuple[int, int]]]]:
    """Axes of the result and of an operand that the op makes equal."""
    first = op.operands[0] if op.operands else None
    match op.attrs:
        case TransposeAttrs(permutation) if first is not None:
            return [(first, tuple(enumerate(permutation)))]
        case ReduceAttrs(dims) if first is not None:
            kept = [d for d in range(len(first.shape)) if d not in dims]
            return [(first, tuple(enumerate(kept)))]
        case ConcatenateAttrs(dim):
            return [(t, [(d, d) for d in range(len(t.shape)) if d != dim]) for t in op.operands]
        case DotAttrs() as dot:
            return _dot_axes(op, dot)
        case _:
            pass
    if op.name in _OF_SHAPE_OPERANDS:
        return []
    if op.name in _LOST:
        return [] if first is None else [(first, _unchanged(result.shape, first.shape))]
    same = [t for t in op.operands if len(t.shape) == len(result.shape)]
    if not _is_elementwise(op):  # sorts, scatters, updates: the first operand has the result's shape
        same = same[:1]
    return [(t, [(d, d) for d in range(len(result.shape))]) for t in same]


def _unchanged(shape: Shape, operand: Shape) -> list[tuple[int, int]]:
    if len(shape) != len(operand):
        return []
    return [(d, d) for d, (size, other) in enumerate(zip(shape, operand, strict=True)) if size == other]


def _dot_axes(op: Op[object], dot: DotAttrs) -> list[tuple[Tensor, Sequence[tuple[int, int]]]]:
    lhs, rhs = op.operands
    rows = [d for d in range(len(lhs.shape)) if d not in dot.lhs_batch + dot.lhs_contract]
    columns = [d for d in range(len(rhs.shape)) if d not in dot.rhs_batch + dot.rhs_contract]
    first = len(dot.lhs_batch)
    left = [*enumerate(dot.lhs_batch), *((first + k, d) for k, d in enumerate(rows))]
    right = [*enumerate(dot.rhs_batch), *((first + len(rows) + k, d) for k, d in enumerate(columns))]
    return [(lhs, left), (rhs, right)]


def tiled_by_reshape(
    constraints: ShapeConstraints, result: Tensor, tiled: frozenset[int], operand: Tensor
) -> frozenset[int] | None:
    """The tiled axes of a reshape's operand; None if they do not fall together with axes of the result.

    `tileCoverInfoPropagateO2I` of fusion_utils_stitch_gpu.cc: runs of axes that are all tiled, or all not, must have
    the product of a run of the operand's.
    """
    found, start, last = set[int](), 0, len(operand.shape)
    for number, (is_tiled, run) in enumerate(runs := _runs(result.shape, tiled)):
        wanted = constraints.extents(result, run)
        ends = [last] if number == len(runs) - 1 else range(start, last + 1)
        end = next((e for e in ends if constraints.extents(operand, range(start, e)) == wanted), None)
        if end is None:
            return None
        if is_tiled:
            found.update(range(start, end))
        start = end
    return frozenset(found)


def _runs(shape: Shape, tiled: frozenset[int]) -> list[tuple[bool, list[int]]]:
    runs = list[tuple[bool, list[int]]]()
    for axis, size in enumerate(shape):
        if runs and (size.constant == 1 or runs[-1][0] == (axis in tiled)):
            runs[-1][1].append(axis)
        else:
            runs.append((axis in tiled, [axis]))
    return runs
