"""Which stages can be printed with vectors along their innermost axis."""

from __future__ import annotations

from shlo_disc.codegen.dependence import Dependence
from shlo_disc.codegen.emitter import is_guard
from shlo_disc.codegen.kernel import Axis, Reduction, Stage, Store
from shlo_disc.codegen.rewrite import nodes_of
from shlo_disc.codegen.simplify_kernel import stage_formulas
from shlo_disc.expr.dim import Dim, FloorDiv, Max, Min, Mod, Sym, of
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Bitcast,
    Convert,
    FoldResult,
    FromDim,
    InRange,
    Load,
    Scalar,
    Select,
)
from shlo_disc.lower_cpu.spelling import VECTOR_DTYPES

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
    return all(_node_fits(node, lane, deps) for node in nodes_of(stage_formulas(stage)))


def _reduction_fits(reduction: Reduction) -> bool:
    dtype = reduction.carries[0].dtype
    return reduction.fn is not None and dtype in VECTOR_DTYPES and len(reduction.carries) == 1


def _unit_stride(store: Store, lane: Axis, deps: Dependence) -> bool:
    split = store.offset.linear(lane.symbol)
    return split is not None and split[0].constant == 1 and lane.symbol.name not in deps.of(split[1])


def _node_fits(node: Node, lane: Axis, deps: Dependence) -> bool:
    if not isinstance(node, Scalar) or lane.symbol.name not in deps.of(node):
        return True
    if node.dtype not in VECTOR_DTYPES or isinstance(node, FoldResult):
        return False
    match node:
        case Select(condition, _, _) if is_guard(condition):
            return lane.symbol.name not in deps.of(condition)
        case Load(_, (offset,)):
            return _dim_fits(offset, lane.symbol)
        case FromDim(dim, _):
            return _dim_fits(dim, lane.symbol)
        case InRange(dim, lower, upper):
            return all(_dim_fits(d, lane.symbol) for d in (dim, lower, upper))
        case Convert(x, dtype) | Bitcast(x, dtype):
            return x.dtype in VECTOR_DTYPES and dtype in VECTOR_DTYPES and not _narrow_float(x.dtype, dtype, node)
        case _:
            return True


def _narrow_float(source: DType, target: DType, node: Node) -> bool:
    """Bit patterns of f16 and bf16 are not at hand: they are computed in f32."""
    return isinstance(node, Bitcast) and bool({source, target} & {DType.F16, DType.BF16})


def _dim_fits(dim: Dim, lane: Sym) -> bool:
    """Divisions by lane cost more as vectors than one by one."""
    return not any(isinstance(a, FloorDiv | Mod | Min | Max) and lane in of(a).symbols() for a in dim.atoms())
