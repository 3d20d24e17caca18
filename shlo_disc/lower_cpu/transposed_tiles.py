"""Epilogues of convolutions whose positions, not features, are adjacent in memory (NCHW): lanes are positions.

The prelude transposes each block of its tile, so that an epilogue's tile has a line of positions for each feature.
"""

from __future__ import annotations

from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Load
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, ConvKernel, Param, RowKernel, Stage, Store
from shlo_disc.kernels.rewrite import ArgRewriter, DimRewriter, mergeable, merged
from shlo_disc.kernels.simplify_kernel import rewrite_store, stage_dims
from shlo_disc.lower_cpu.rows import RowPrinter
from shlo_disc.lower_cpu.templates import CallBack, call_back
from shlo_disc.lower_cpu.vectorize import can_vectorize
from shlo_disc.records import record

_IMAGE = Sym("%image")


@record
class TransposedStores:
    """The stores at each feature and position (`place`) of an image, which has `space` positions."""

    image: Axis
    feature: Axis
    place: Axis
    stores: tuple[Store, ...]

    @property
    def space(self) -> Dim:
        """Number of positions of an image."""
        return self.place.extent


def transposed_stores(kernel: ConvKernel, facts: Facts) -> TransposedStores | None:
    """The epilogue with positions as lanes, if features cannot be lanes."""
    deps = Dependence()
    if can_vectorize(Stage((kernel.column,), (False,), kernel.epilogue, ()), deps):
        return None
    spatial = kernel.output_spatial
    if not spatial:
        return None
    image = Axis(_IMAGE, kernel.input_sizes[0] // kernel.attrs.batch_groups)
    axes = [Axis(Sym(f"%place{k}"), extent) for k, extent in enumerate(spatial)]
    for axis in (image, kernel.column, *axes):
        facts = facts.with_index(axis.symbol, axis.extent)
    row = linear([of(axis.symbol) for axis in (image, *axes)], (image.extent, *spatial))
    rewriter = DimRewriter(lambda dim: facts.canonical(dim.substitute({kernel.row.symbol: row})))
    stage = Stage(tuple(axes), (False,) * len(axes), tuple(rewrite_store(s, rewriter) for s in kernel.epilogue), ())
    joined = _joined(stage)
    if joined is None or not can_vectorize(joined, deps):
        return None
    return TransposedStores(image, kernel.column, joined.axes[0], joined.stores)


def _joined(stage: Stage) -> Stage | None:
    """All axes merged into one, if their memory accesses allow it."""
    *outer, inner = stage.axes
    stores = stage.stores
    for axis in reversed(outer):
        if not mergeable(axis, inner, list(stage_dims(Stage((), (), stores, ())))):
            return None
        inner, change = merged(axis, inner)
        rewriter = DimRewriter(lambda dim, change=change: dim.substitute(change))
        stores = tuple(rewrite_store(s, rewriter) for s in stores)
    return Stage((inner,), (False,), stores, ())


def transposed_epilogue(name: str, kernel: ConvKernel, transposed: TransposedStores, sums: DType) -> CallBack:
    """The function that takes a transposed tile: `ld` is the distance from one feature's positions to the next's."""
    column, place, image = (of(axis.symbol) for axis in (transposed.feature, transposed.place, transposed.image))
    line, first = column - of(Sym("%j0")), of(Sym("%i0"))
    at = line * of(Sym("%ld")) + image * of(Sym("%space")) + place - first
    tile, sum_ = Load(Param("tile", sums), (at,)), kernel.accumulator
    rewriter = ArgRewriter({sum_.name: converted(tile, sum_.dtype)})
    stage = Stage(
        (transposed.feature, transposed.place),
        (False, False),
        tuple(rewrite_store(s, rewriter) for s in transposed.stores),
        (),
    )
    ranges = {
        transposed.feature.symbol: ("j0", "j1"),
        transposed.place.symbol: ("max_(i0 - image * space, 0)", "min_(i1 - image * space, space)"),
    }
    printer = RowPrinter(RowKernel(kernel.params, (transposed.image,), (stage,), ()), ranges)
    kind = printer.spell.memory_type(sums)
    head = [
        f"static void {name}(void* context, const void* tile_, int64_t ld, int64_t i0, int64_t rows_,",
        "                         int64_t j0, int64_t columns_) {",
        f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
        f"{INDENT}const {kind}* __restrict__ const tile = (const {kind}*)tile_;",
        f"{INDENT}const int64_t space = at->batch[0], i1 = i0 + rows_, j1 = j0 + columns_;",
        f"{INDENT}const int64_t begin = i0 / space, end = (i1 - 1) / space + 1;  // images",
    ]
    return call_back(head, printer, ())
