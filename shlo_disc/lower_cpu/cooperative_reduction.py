"""Cooperative reductions: a kernel of one row as parallel loops, one per stage and two per reduction.

The kernel is one task that launches the loops. Intermediate results are in workspaces of the call.
"""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum, product
from shlo_disc.kernels.kernel import Param, RowKernel
from shlo_disc.kernels.loop_fission import take_apart
from shlo_disc.kernels.split_reduction import Grain, split_reduction
from shlo_disc.lower_cpu import rows
from shlo_disc.lower_cpu.rows import RowPrinter
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.stages.vector_loops import STRIP
from shlo_disc.lower_cpu.templates import SIZES, KernelBody, signature, union
from shlo_disc.records import record

GRAIN = Grain(points=1 << 14, results=STRIP)
ENOUGH_STRIPS = 8  # from which on threads share whole columns: several stages then read memory only once


@record
class LoopLaunch:
    """A loop with its own launch, and the cost of one task in additions."""

    kernel: RowKernel
    work: Dim


@record
class CooperativeReduction:
    """Consecutive loops, and the workspaces between them with their numbers of elements.

    `whole`: the kernel as a loop over its columns, run instead where `columns` is at least `ENOUGH_STRIPS` strips.
    """

    loops: tuple[LoopLaunch, ...]
    workspaces: tuple[tuple[Param, Dim], ...]
    whole: LoopLaunch | None
    columns: Dim

    @property
    def bytes(self) -> tuple[Dim, ...]:
        """The sizes of the workspaces: 0 where `whole` is run."""
        sizes = [elements * param.dtype.bytes for param, elements in self.workspaces]
        if self.whole is None:
            return tuple(sizes)
        cut = minimum(1, maximum(0, ENOUGH_STRIPS * STRIP - self.columns))
        return tuple(size * cut for size in sizes)


def cooperating(kernel: RowKernel, effort: int) -> CooperativeReduction | None:
    """Split a kernel of one row that reduces; None if it is small or has many columns. `effort`: cost of an element."""
    if kernel.rows or not any(stage.reductions for stage in kernel.stages):
        return None
    points = rows.points(kernel.stages)
    if points.constant is not None and points.constant <= GRAIN.points:
        return None
    columns, whole = const(0), None
    if rows.is_columns(kernel):
        columns = kernel.stages[0].axes[-1].extent
        if columns.constant is not None and columns.constant >= ENOUGH_STRIPS * STRIP:
            return None
        if columns.constant is None:
            whole = LoopLaunch(kernel, rows.task_elements(kernel) * effort)
    apart = take_apart(kernel)
    kernels, spaces = list[RowKernel](), list(apart.workspaces)
    for stage in apart.stages:
        parts = split_reduction(stage, GRAIN, len(spaces)) if stage.reductions else None
        if parts is None:
            kernels.append(RowKernel((), (), (stage,), ()))
        else:
            kernels += [parts.first, parts.join]
            spaces += parts.workspaces
    params = (*kernel.params, *(param for param, _ in spaces))
    loops = [LoopLaunch(replace(one, params=params), _work(one) * effort) for one in kernels]
    return CooperativeReduction(tuple(loops), tuple(spaces), whole, columns)


def _work(kernel: RowKernel) -> Dim:
    """The most elements that one task has."""
    if not kernel.rows:
        return rows.task_elements(kernel)
    (stage,) = kernel.stages
    return const(GRAIN.points) if stage.reductions else product(axis.extent for axis in stage.axes)


def print_loops(found: CooperativeReduction, least: int) -> KernelBody:
    """A function per loop, and the kernel that launches them; a thread takes at least `least` additions of a loop."""
    emit = Emitter(VectorSpelling())
    functions, sizes, lines = list[str](), tuple[str, ...](), list[str]()
    for number, loop in enumerate(found.loops):
        text, used = _function(f"{NAME}_loop{number}", loop.kernel)
        functions += text
        sizes = union(sizes, used)
        lines.append(_launch(emit, f"{NAME}_loop{number}", loop, least))
    if found.whole is not None:
        text, used = _function(f"{NAME}_columns", found.whole.kernel)
        functions += text
        sizes = union(sizes, used)
        columns = emit.dim_scalar(found.columns)
        lines = [
            f"if ({columns} >= {ENOUGH_STRIPS * STRIP}) {{",
            INDENT + _launch(emit, f"{NAME}_columns", found.whole, least),
            "} else {",
            *(INDENT + line for line in lines),
            "}",
        ]
    return KernelBody(tuple(functions), (*emit.scopes[0].lines, *lines), union(sizes, tuple(emit.sizes)))


def _function(name: str, kernel: RowKernel) -> tuple[list[str], tuple[str, ...]]:
    statements, sizes = RowPrinter(kernel).lines()
    return [*signature("static", name), SIZES, *(INDENT + line for line in statements), "}"], sizes


def _launch(emit: Emitter, name: str, loop: LoopLaunch, least: int) -> str:
    extent, scratch = emit.dim_scalar(rows.extent(loop.kernel)), emit.dim_scalar(rows.scratch_bytes(loop.kernel))
    grain = emit.dim_scalar(maximum(1, const(least) // maximum(1, loop.work)))
    return f"runtime->parallel(runtime, {name}, buffers, dims, {extent}, {grain}, {scratch});"
