"""Which clusters the fusion strategies of DISC and BladeDISC allow, for a GPU.

Names in backticks are those of BladeDISC's sources (tao_compiler/mlir/disc/transforms at commit 58efe1a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.fusion_rules.clusters import ARGUMENTS, Candidate, Cluster, Graph, Node
from benchmarks.fusion_rules.shapes import ShapeConstraints
from benchmarks.fusion_rules.tiles import tiles_agree
from shlo_disc.dynamic_ops.move import TransposeAttrs
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition


def is_row_reduction(op: Op[object]) -> bool:
    """Whether the last dims are reduced: canonical reductions are of rank 2 (`isRank2RowReduction`)."""
    return isinstance(op.attrs, ReduceAttrs) and op.attrs.dims == tuple(
        range(len(op.operands[0].shape) - len(op.attrs.dims), len(op.operands[0].shape))
    )


def is_column_reduction(op: Op[object]) -> bool:
    """Whether the first dims are reduced, and not all (`isRank2ColReduction`)."""
    return (
        isinstance(op.attrs, ReduceAttrs)
        and not is_row_reduction(op)
        and op.attrs.dims == tuple(range(len(op.attrs.dims)))
    )


def is_fusible(op: Op[object]) -> bool:
    """What can be in a kLoop or kInput fusion on a GPU (`isFusible`, `BaseGpuFusionStrategy::isFusible`).

    Transposes of rank 2 and 3 have a kernel of their own; so do windows, reductions of dims in the middle, products,
    sorts and scatters.
    """
    if definition(op).template is Template.REDUCE:
        return is_row_reduction(op) or is_column_reduction(op)
    if is_separate_transpose(op) or op.name == "d_reduce_window":
        return False
    return definition(op).template is Template.ELEMENT


def is_separate_transpose(op: Op[object]) -> bool:
    """Whether the op is a transpose of rank 2 or 3 that moves elements (`isRank2or3Transpose`)."""
    shape = op.results[0].shape
    if not isinstance(op.attrs, TransposeAttrs) or len(shape) not in (2, 3):
        return False
    moved = [d for k, d in enumerate(op.attrs.permutation) if shape[k].constant != 1]
    return any(a > b for a, b in pairwise(moved))


def effective_shape(tensor: Tensor, graph: Graph) -> Tensor:
    """What a result is compared by: of a reduction its operand (`getEffectiveShape`)."""
    op = graph.makers[tensor].op
    return op.operands[0] if isinstance(op.attrs, ReduceAttrs) else tensor


def _reductions(nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    return [n for n in nodes if is_row_reduction(n.op)], [n for n in nodes if is_column_reduction(n.op)]


def _is_read_inside(node: Node, target: Candidate, graph: Graph) -> bool:
    inside = set(target.nodes)
    return any(reader in inside for t in node.op.results for reader in graph.readers.get(t, ()))


@dataclass(frozen=True, slots=True)
class BaseRules:
    """kLoop and kInput fusion: `BaseGpuFusionStrategy`, `BaseFusionStrategy::tryFuse`.

    Zhu et al., "DISC: A Dynamic Shape Compiler for Machine Learning Workloads", EuroMLSys 2021, section 4.3.
    Elementwise and data movement ops fuse if all results have as many elements; a reduction of rows or of columns is
    a root that nothing in its kernel reads.
    """

    graph: Graph
    shapes: ShapeConstraints

    def begins(self, cluster: Cluster) -> bool:
        return all(node.fusible for node in cluster.nodes)

    def stitches(self, target: Candidate) -> bool:
        del target
        return False

    def refusal(self, lhs: Cluster, rhs: Cluster, target: Candidate) -> str:
        if lhs.stitched or rhs.stitched:
            return "a stitch fusion takes no loop fusion"
        if reason := common_refusal(target):
            return reason
        rows, columns = _reductions(target.nodes)
        if any(_is_read_inside(node, target, self.graph) for node in (*rows, *columns)):
            return "a reduction is read in its own kernel"
        effective = [effective_shape(t, self.graph) for t in target.results]
        both = all(any(_reductions(c.nodes)) for c in (lhs, rhs))
        same = self.shapes.same_shape if both else self.shapes.same_count
        if not all(same(effective[0], shape) for shape in effective[1:]):
            return "its results differ in shape" if both else "its results differ in their numbers of elements"
        return ""


def common_refusal(target: Candidate) -> str:
    """What every strategy refuses (`FusionStrategy::tryFuse`, `BaseGpuFusionStrategy::tryFuse`)."""
    if len(target.results) + len(target.operands) > ARGUMENTS:
        return f"a kernel has at most {ARGUMENTS} arguments"
    rows, columns = _reductions(target.nodes)
    if rows and columns:
        return "a kernel reduces rows or columns, not both"
    return ""


@dataclass(frozen=True, slots=True)
class StitchRules:
    """kStitch fusion: `StitchGpuFusionStrategy`.

    Zheng et al., "BladeDISC: Optimizing Dynamic Shape Machine Learning Workloads via Compiler Approach", SIGMOD 2024.
    Row reductions of one shape may be read inside, through shared memory; every result then has their rows as its
    leading dims, and tiles found from the results backwards must agree.
    """

    graph: Graph
    shapes: ShapeConstraints

    def begins(self, cluster: Cluster) -> bool:
        return all(node.fusible for node in cluster.nodes)

    def stitches(self, target: Candidate) -> bool:
        """Decide the type of a cluster (`findFusionPatternTypeAndSubroot`)."""
        rows, _ = _reductions(target.nodes)
        if not rows:
            return False
        if any(_is_read_inside(node, target, self.graph) for node in rows):
            return True
        reference = rows[-1].op.operands[0]
        return not all(
            self.shapes.same_shape(reference, effective_shape(t, self.graph))
            if is_row_reduction(self.graph.makers[t].op)
            else self.shapes.same_count(reference, t)
            for t in target.results
        )

    def refusal(self, lhs: Cluster, rhs: Cluster, target: Candidate) -> str:
        del lhs, rhs
        if reason := common_refusal(target):
            return reason
        if not target.results:
            return "it has no result"
        rows, columns = _reductions(target.nodes)
        if columns:
            return self._column_refusal(columns, target)
        if self.stitches(target):
            return self._stitch_refusal(rows, target)
        if not rows and not all(self.shapes.same_count(target.results[0], t) for t in target.results[1:]):
            return "its results differ in their numbers of elements"
        return ""

    def _column_refusal(self, columns: Sequence[Node], target: Candidate) -> str:
        if any(_is_read_inside(node, target, self.graph) for node in columns):
            return "a reduction of columns is read in its own kernel"
        reference = columns[-1].op.operands[0]
        for tensor in target.results:
            shape = effective_shape(tensor, self.graph)
            if shape is tensor or not self.shapes.same_shape(reference, shape):
                return "a result is no reduction of the same columns"
        return ""

    def _stitch_refusal(self, rows: Sequence[Node], target: Candidate) -> str:
        """Tile the roots (`tileXroots`) and follow the tiles back (`backtraceTileAndCover`)."""
        dominant = rows[-1].op
        if not all(self.shapes.same_shape(dominant.operands[0], node.op.operands[0]) for node in rows):
            return "its reductions differ in shape"
        kept = range(len(dominant.results[0].shape))
        row_count = self.shapes.extents(dominant.operands[0], kept)
        tiles = dict[Tensor, frozenset[int]]()
        for node in rows:
            rank = len(node.op.operands[0].shape)
            for operand in node.op.operands[: len(node.op.results)]:
                tiles[operand] = frozenset(range(len(node.op.results[0].shape), rank))
            tiles.update(dict.fromkeys(node.op.results, frozenset[int]()))
        for tensor in target.results:
            if tensor in tiles:
                continue
            rank = len(tensor.shape)
            split = next((k for k in range(rank + 1) if self.shapes.extents(tensor, range(k)) == row_count), None)
            if split is not None:
                tiles[tensor] = frozenset(range(split, rank))
            elif tensor in target.outside:
                return "a result does not have the rows of its reductions"
        starts = [t for node in rows for t in node.op.operands[: len(node.op.results)]]
        starts += [t for t in target.outside if t in tiles]
        if not tiles_agree(starts, tiles, target, self.graph, self.shapes):
            return "the tiles of its results do not agree"
        return ""
