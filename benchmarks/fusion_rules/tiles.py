"""Tiles of a stitch fusion: which axes of each value lie within a row, found from the roots backwards.

`backtraceTileAndCover` and `tileCoverInfoPropagateO2I` of BladeDISC's fusion_utils_stitch_gpu.cc. A view that our
compiler sees through is an op of its own there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.fusion_rules.clusters import Candidate, Graph
from benchmarks.fusion_rules.shapes import ShapeConstraints, tiled_by_reshape
from shlo_disc.analysis.access import VIEWS
from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.move import BroadcastAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs

Tile: TypeAlias = frozenset[int]

_UNCOVERED = frozenset({"d_slice", "d_gather"})  # not every element of the operand is read


def tiles_agree(
    starts: Iterable[Tensor],
    tiles: Mapping[Tensor, Tile],
    target: Candidate,
    graph: Graph,
    shapes: ShapeConstraints,
) -> bool:
    """Whether every value gets one tile, and every result that is not a root of its own is covered."""
    walk = _Walk(dict(tiles), target, graph, shapes)
    return all(walk.back(start, covered=True) for start in starts)


@dataclass(slots=True, eq=False)
class _Walk:
    tiles: dict[Tensor, Tile]
    target: Candidate
    graph: Graph
    shapes: ShapeConstraints

    def back(self, value: Tensor, *, covered: bool) -> bool:
        """Give the operands below `value` their tiles; False where one has another tile already."""
        op = self._maker(value)
        if op is None or isinstance(op.attrs, ReduceAttrs):  # tiles of a reduction are known on both sides
            return True
        below = self._operands(op, value)
        if below is None:
            return False
        covered = covered and op.name not in _UNCOVERED
        for operand, tile in below:
            if operand in self.target.results and not covered:
                return False
            if operand in self.tiles:
                if self.tiles[operand] != tile:
                    return False
                continue
            self.tiles[operand] = tile
            if not self.back(operand, covered=covered):
                return False
        return True

    def _maker(self, value: Tensor) -> Op[object] | None:
        """The op of the cluster, or the view of a value of the cluster, that makes `value`."""
        base = value
        while base not in self.graph.makers:
            made = self.graph.producers.get(base)
            if made is None or made[0].name not in VIEWS:
                return None
            base = made[0].operands[0]
        return self.graph.producers[value][0] if self.graph.makers[base] in self.target.nodes else None

    def _operands(self, op: Op[object], value: Tensor) -> Sequence[tuple[Tensor, Tile]] | None:
        """The tile of each operand; None for what tiles cannot be seen through."""
        tile, first = self.tiles[value], op.operands[0]
        match op.attrs:
            case BroadcastAttrs(dims):
                return [(first, frozenset(k for k, d in enumerate(dims) if d in tile))]
            case TransposeAttrs(permutation):
                return [(first, frozenset(permutation[d] for d in tile))]
            case GatherAttrs():
                return _of_gather(op, op.attrs, tile)
            case _:
                pass
        if op.name == "d_reshape":
            below = tiled_by_reshape(self.shapes, value, tile, first)
            return None if below is None else [(first, below)]
        if op.name in ("d_concatenate", "d_slice") or not op.name.startswith("d_"):
            return [(t, tile) for t in op.operands if len(t.shape) == len(value.shape)]
        return None


def _of_gather(op: Op[object], attrs: GatherAttrs, tile: Tile) -> Sequence[tuple[Tensor, Tile]] | None:
    batch = [d for d in range(len(op.results[0].shape)) if d not in attrs.offset_dims]
    if len({d in tile for d in batch}) > 1:
        return None
    found = {k for k, d in enumerate(attrs.offset_dims) if d in tile}
    if batch and batch[0] in tile:
        found.update(attrs.collapsed_slice_dims)
    return [(op.operands[0], frozenset(found))]
