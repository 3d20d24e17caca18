"""Which stages can be printed with vectors along their innermost axis."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shlo_disc.emit.emitter import is_guard
from shlo_disc.expr.dim import Dim, FloorDiv, Max, Min, Mod, Sym, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Bitcast, Convert, Fold, FoldResult, FromDim, InRange, Load, Scalar, Select
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Reduction, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.spelling import VECTOR_DTYPES

NEAR = range(1, 5)  # strides between lanes that are worth loading one by one in every iteration of a fold
FEWEST_LANES = 4  # a shorter static axis is not worth masked vectors


def can_vectorize(stage: Stage, deps: Dependence) -> bool:
    """Whether lanes may run along the last axis of `stage`."""
    if not stage.axes:
        return False
    lane = stage.axes[-1]
    if lane.extent.constant is not None and lane.extent.constant < FEWEST_LANES:
        return False
    if not all(_reduction_fits(r) for r in stage.reductions):
        return False
    stores = list(stage.stores)
    if stage.reductions and not stage.reduced[-1]:
        stores += [s for r in stage.reductions for s in r.stores]
    if not all(s.value.dtype in VECTOR_DTYPES and _unit_stride(s, lane, deps) for s in stores):
        return False
    if stage.reductions and stage.reduced[-1] and _differs(stage, lane, deps):
        return False  # the order of its elements is the order of their sum
    return lanes_fit(stage, lane, deps, () if stage.reduced[-1] else carries(stage))


def carries(stage: Stage) -> tuple[str, ...]:
    """The names of the carries of a stage's reductions."""
    return tuple([carry.name for reduction in stage.reductions for carry in reduction.carries])


def lanes_fit(stage: Stage, lane: Axis, deps: Dependence, vectors: Iterable[str] = ()) -> bool:
    """Whether every formula of `stage` can be computed for several points along `lane` at once.

    `vectors` are args that differ from lane to lane.
    """
    nodes, varying = list(nodes_of(stage_formulas(stage))), {lane.symbol.name, *vectors}
    folds = [node.fold for node in nodes if isinstance(node, FoldResult) and not varying.isdisjoint(deps.of(node))]
    varying.update(carry.name for fold in folds for carry in fold.carries)
    return all(_fold_fits(fold, lane, varying, deps) for fold in folds) and all(
        node_fits(node, lane, varying, deps) for node in nodes
    )


def _differs(stage: Stage, lane: Axis, deps: Dependence) -> bool:
    """Whether a guard differs from lane to lane."""
    selects = (node for node in nodes_of(stage_formulas(stage)) if isinstance(node, Select))
    return any(is_guard(node.condition) and lane.symbol.name in deps.of(node.condition) for node in selects)


def _reduction_fits(reduction: Reduction) -> bool:
    dtype = reduction.carries[0].dtype
    if reduction.fn is None or dtype not in VECTOR_DTYPES or len(reduction.carries) != 1:
        return False
    return not dtype.is_complex or reduction.fn in (BinaryFn.ADD, BinaryFn.MULTIPLY)  # complex extremes: no identity


def _unit_stride(store: Store, lane: Axis, deps: Dependence) -> bool:
    split = store.offset.linear(lane.symbol)
    return split is not None and split[0].constant == 1 and lane.symbol.name not in deps.of(split[1])


def _fold_fits(fold: Fold, lane: Axis, varying: Collection[str], deps: Dependence) -> bool:
    """Whether all lanes have the same trip counts, and load adjacent elements in an iteration, or nearby ones."""
    if any(not deps.of(extent).isdisjoint(varying) for _, extent in fold.axes):
        return False
    loads = (node.index[0] for node in nodes_of(fold.update) if isinstance(node, Load))
    return all(_is_near(offset, lane.symbol) for offset in loads if not deps.of(offset).isdisjoint(varying))


def _is_near(offset: Dim, lane: Sym) -> bool:
    split = None if offset.data() else offset.linear(lane)
    return split is not None and split[0].constant in NEAR


def node_fits(node: Node, lane: Axis, varying: Collection[str], deps: Dependence) -> bool:
    """Whether one node of a formula can be computed for lanes along `lane`, if its operands are."""
    if not isinstance(node, Scalar) or deps.of(node).isdisjoint(varying):
        return True
    if node.dtype not in VECTOR_DTYPES:
        return False
    match node:
        case Select(condition, then, other) if is_guard(condition):
            return deps.of(condition).isdisjoint(varying) or _may_mask((then, other), varying, deps)
        case Load(_, (offset,)):
            return _dim_fits(offset, lane.symbol, varying, deps)
        case FromDim(dim, _):
            return _dim_fits(dim, lane.symbol, varying, deps)
        case InRange(dim, lower, upper):
            return all(_dim_fits(d, lane.symbol, varying, deps) for d in (dim, lower, upper))
        case Convert(x, dtype) | Bitcast(x, dtype):
            return x.dtype in VECTOR_DTYPES and dtype in VECTOR_DTYPES and not _narrow_float(x.dtype, dtype, node)
        case _:
            return True


def _may_mask(sides: tuple[Scalar, Scalar], varying: Collection[str], deps: Dependence) -> bool:
    """Whether all loads under a guard that differs from lane to lane are real vectors, which have masked loads."""
    loads = [node for node in nodes_of(sides) if isinstance(node, Load)]
    return not any(load.dtype.is_complex or deps.of(load).isdisjoint(varying) for load in loads)


def _narrow_float(source: DType, target: DType, node: Node) -> bool:
    """Whether a bitcast needs the bits of a narrow float, which is computed in f32."""
    return isinstance(node, Bitcast) and (source.is_narrow_float or target.is_narrow_float)


def _dim_fits(dim: Dim, lane: Sym, varying: Collection[str], deps: Dependence) -> bool:
    """Whether an index has no division or clamp of the lane (slower as vectors), and no division of varying data."""
    return not any(
        (isinstance(a, FloorDiv | Mod | Min | Max) and lane in of(a).symbols())
        or (isinstance(a, FloorDiv | Mod) and not deps.of(of(a)).isdisjoint(varying))
        for a in dim.atoms()
    )
