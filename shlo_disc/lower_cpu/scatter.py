"""Scatter as C++: threads divide the results into slabs, and each applies the updates of its own slabs in order."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.expr.dim import ONE, Dim, const, maximum, of, product, total
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.inplace import positions, scatter_pairs
from shlo_disc.kernels.kernel import Axis, RowKernel, ScatterKernel, Slabs, Stage, Sweep
from shlo_disc.kernels.rewrite import DimRewriter
from shlo_disc.kernels.scatter import build_scatter
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.rows import RowPrinter
from shlo_disc.lower_cpu.serial import indented, loops, pointers
from shlo_disc.lower_cpu.spelling import LoneSpelling, VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody, union
from shlo_disc.lower_cpu.work import WORK_PER_THREAD

_SPELL, _ALONE = VectorSpelling(), LoneSpelling()
UPDATE_WORK = 4  # cost of one element in additions: it is read, and the element in place is read and written
AHEAD = 32  # prefetch distance, in updates
FAR = 1 << 20  # bytes of a result, from which on its elements are not in a second-level cache
SHORT = 8  # iterations: a shorter loop takes less time than the prologue and epilogue of a vector loop
FINDING_WORK = 256  # cost of locating one window, which every thread does for all windows; branches mispredict


def lower_scatter(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task applies the updates of one slab."""
    kernel, tensors = verified(build_scatter(group, context.facts, context.producers), group)
    return LoweredGroup(
        print_scatter(kernel),
        tensors,
        scatter_extent(kernel),
        work=ONE,
        least_tasks=scatter_grain(kernel, WORK_PER_THREAD),
        in_place=positions(scatter_pairs(kernel), kernel.params),
    )


def scatter_extent(kernel: ScatterKernel) -> Dim:
    """Number of tasks: slabs of the results."""
    return const(1) if kernel.slabs is None else kernel.slabs.extent


def scatter_grain(kernel: ScatterKernel, least: int) -> Dim:
    """The grain in slabs: they cost at least `least` additions, and at least as much as locating all updates.

    A single window is assumed to be updated in place, where nothing is copied.
    """
    work = product(axis.extent for axis in kernel.axes) * (UPDATE_WORK * len(kernel.starts))
    positions = product(axis.extent for axis in kernel.axes if axis.symbol not in kernel.window)
    if positions.constant != 1:
        work += total(start.count for start in kernel.starts)
    found = positions * FINDING_WORK
    return maximum(1, maximum(least, found) * scatter_extent(kernel) // maximum(1, work))


def print_scatter(kernel: ScatterKernel) -> KernelBody:
    """A task initializes its slabs of the results, then applies the updates that target them in order."""
    emit = Emitter(_SPELL if kernel.window else _ALONE)
    shared = {param for pair in scatter_pairs(kernel) for param in pair}
    declared = pointers(kernel.params, [start.target for start in kernel.starts], shared)
    lines = _starts(kernel, emit)
    if kernel.slabs is not None:
        lines.insert(0, f"if (begin < 0 || end > {emit.dim_scalar(kernel.slabs.extent)}) __builtin_unreachable();")
    # Window-invariant values are computed once per window.
    outside = [axis for axis in kernel.axes if axis.symbol not in kernel.window]
    inside = [axis for axis in kernel.axes if axis.symbol in kernel.window]
    with emit.inside(*(axis.symbol.name for axis in outside)) as position:
        across = None
        position.lines += _ahead(kernel, emit, outside, inside)
        if kernel.slabs is not None:  # first: an update of this task's slabs is in bounds along that dim
            across = kernel.slabs.axis if kernel.slabs.axis in inside else None
            position.lines += _chosen(kernel.slabs, emit, across)
        emit.count_uses([kernel.in_bounds])
        position.lines.append(f"if (!({emit.value(kernel.in_bounds)})) continue;")
        update = _update(kernel, emit, inside)
        position.flush()
        body = [*position.lines, *_window(inside, across, emit, update)]
    extents = [emit.dim_scalar(axis.extent) for axis in outside]
    statements = (*declared, *emit.scopes[0].lines, *lines, *loops(outside, extents, body))
    if kernel.sweep is None:
        return KernelBody((), statements, tuple(emit.sizes))
    swept, sizes = RowPrinter(_rows(kernel, kernel.sweep)).lines()
    return KernelBody((), ("{", *indented(statements), "}", *swept), union(tuple(emit.sizes), sizes))


def _rows(kernel: ScatterKernel, sweep: Sweep) -> RowKernel:
    """The sweep as a row kernel, whose tasks are slabs too."""
    rows, axes = (sweep.axes[:1], sweep.axes[1:]) if len(sweep.axes) > 1 else ((), sweep.axes)
    return RowKernel(kernel.params, rows, (Stage(axes, (False,) * len(axes), sweep.stores, ()),), ())


def _starts(kernel: ScatterKernel, emit: Emitter) -> list[str]:
    """Initialize the slabs of this task: copy the operands, or fill with zeros."""
    inner = "1" if kernel.slabs is None else emit.dim_scalar(kernel.slabs.inner)
    lines = list[str]()
    for start in kernel.starts:
        target, source = start.target.name, start.source
        where, size = f" + begin * {inner}", f"(end - begin) * {inner} * {start.target.dtype.bytes}"
        if source is None:
            lines.append(f"__builtin_memset({target}{where}, 0, {size});")
        else:
            copy = f"__builtin_memcpy({target}{where}, {source.name}{where}, {size});"
            lines.append(f"if ({source.name} != {target}) {copy}")
    return lines


def _ahead(kernel: ScatterKernel, emit: Emitter, outside: Sequence[Axis], inside: Sequence[Axis]) -> list[str]:
    """Prefetch the element of a later update: a core has too few updates in flight to overlap their cache misses."""
    if inside or not outside or kernel.slabs is None or not kernel.targets[0].offset.data():
        return []
    last, slabs = outside[-1], kernel.slabs
    later = DimRewriter(lambda dim: dim.substitute({last.symbol: of(last.symbol) + AHEAD}))
    name, bytes_ = last.symbol.name.removeprefix("%"), kernel.starts[0].target.dtype.bytes
    count, extent = emit.dim_scalar(kernel.starts[0].count), emit.dim_scalar(last.extent)
    with emit.inside() as scope:
        floor, emit.floor = emit.floor, len(emit.scopes) - 1
        slab = emit.dim_scalar(later.dim(slabs.start if slabs.axis is None else slabs.start + of(slabs.axis.symbol)))
        place = emit.dim_scalar(later.dim(kernel.targets[0].offset))
        emit.floor = floor
    return [
        f"if ({count} * {bytes_} > {FAR} && {name} + {AHEAD} < {extent}) {{",
        *indented([*scope.lines, f"const int64_t slab = {slab};"]),
        f"  if (slab >= begin && slab < end) prefetch({kernel.targets[0].target.name}, {place});",
        "}",
    ]


def _chosen(slabs: Slabs, emit: Emitter, across: Axis | None) -> list[str]:
    """Statements that skip an update outside this task's slabs, or compute which part of its window is inside."""
    if across is None:
        slab = slabs.start if slabs.axis is None else slabs.start + of(slabs.axis.symbol)
        lines = [f"const int64_t slab = {emit.dim_scalar(slab)};"]
        return [*lines, "if (slab < begin || slab >= end) continue;"]
    extent, width = emit.dim_scalar(across.extent), emit.dim_scalar(slabs.width)
    return [
        f"const int64_t slab = {emit.dim_scalar(slabs.start)};",
        f"const int64_t from = max_(0, (begin - slab) * {width});",
        f"const int64_t to = min_({extent}, (end - slab) * {width});",
    ]


def _update(kernel: ScatterKernel, emit: Emitter, inside: Sequence[Axis]) -> list[str]:
    """Combine one element of the updates with the element in place."""
    with emit.inside(*(axis.symbol.name for axis in inside), *(c.name for c in kernel.carries)) as scope:
        emit.count_uses([t.value for t in kernel.targets])
        for number, target in enumerate(kernel.targets):
            scope.lines.append(f"const int64_t at{number} = {emit.dim_scalar(target.offset)};")
        for number, (carry, target) in enumerate(zip(kernel.carries, kernel.targets, strict=True)):
            text = _SPELL.load(target.target.name, f"at{number}", target.target.dtype)
            scope.lines.append(f"const {_SPELL.value_type(carry.dtype)} {carry.name} = {text};")
        emit.floor = len(emit.scopes) - 2  # after the bounds check
        values = [emit.value(t.value) for t in kernel.targets]
        emit.floor = 0
        scope.flush()
        for number, (target, value) in enumerate(zip(kernel.targets, values, strict=True)):
            scope.lines.append(_SPELL.store(target.target.name, f"at{number}", value, target.target.dtype))
    return list(scope.lines)


def _window(inside: Sequence[Axis], across: Axis | None, emit: Emitter, body: Sequence[str]) -> Sequence[str]:
    """Loops over a window, clipped to this task's slabs. The innermost one is not vectorized if it is short."""
    if not inside:
        return ["{", *indented(body), "}"]
    ends = ["to" if axis == across else emit.dim_scalar(axis.extent) for axis in inside]
    begins = ["from" if axis == across else "0" for axis in inside]
    rows, length = loops(inside[-1:], ends[-1:], body, begins[-1:]), ends[-1]
    if not length.isdigit():
        length = "to - from" if inside[-1] == across else length
        rows = [
            f"if ({length} < {SHORT}) {{",
            "  SHLO_FEW_STEPS",
            *indented(rows),
            "} else {",
            *indented(rows),
            "}",
        ]
    return loops(inside[:-1], ends[:-1], rows, begins[:-1]) if inside[:-1] else rows
