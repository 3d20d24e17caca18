"""Scans as C++: sequential along the axis, with adjacent lines processed together."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import ScanKernel
from shlo_disc.kernels.scan import build_scan
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody
from shlo_disc.lower_cpu.work import scan_work

_SPELL = VectorSpelling()
SIDE_BY_SIDE = 64  # lines whose elements are adjacent in memory and are processed together


def lower_scan(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task scans one line, or several side by side."""
    kernel, tensors = verified(build_scan(group, context.facts, context.producers), group)
    return LoweredGroup(print_scan(kernel), tensors, scan_extent(kernel), scan_work(kernel, SIDE_BY_SIDE))


def _width(kernel: ScanKernel) -> int:
    return 1 if kernel.inner.extent.constant == 1 else SIDE_BY_SIDE


def scan_extent(kernel: ScanKernel) -> Dim:
    """Number of groups of adjacent lines."""
    width = _width(kernel)
    return kernel.outer.extent * ((kernel.inner.extent + (width - 1)) // width)


def print_scan(kernel: ScanKernel) -> KernelBody:
    """Each task is a line, or a group of adjacent ones."""
    emit, width = Emitter(_SPELL), _width(kernel)
    lines = [pointer(_SPELL, k, p, written=p in kernel.outputs) for k, p in enumerate(kernel.params)]
    emit.count_uses(kernel.init)
    starts = [emit.value(x) for x in kernel.init]
    extent, inner = emit.dim_scalar(kernel.along.extent), emit.dim_scalar(kernel.inner.extent)
    names = [axis.symbol.name for axis in (kernel.outer, kernel.along, kernel.inner)]
    with emit.inside(*names, *(a.name for a in (*kernel.carries, *kernel.inputs))) as scope:
        body = _step(emit, kernel, "" if width == 1 else "[column]")
        body = [*scope.lines, *body]
    loop = (
        f"for (int64_t s = {extent} - 1; s >= 0; --s) {{"
        if kernel.backwards
        else f"for (int64_t s = 0; s < {extent}; ++s) {{"
    )
    if width == 1:
        lines += [*emit.scopes[0].lines, *_line(kernel, starts, loop, body)]
    else:
        lines += [*emit.scopes[0].lines, *_lines_side_by_side(kernel, starts, loop, body, inner)]
    return KernelBody((), tuple(lines), tuple(emit.sizes))


def _line(kernel: ScanKernel, starts: Sequence[str], loop: str, body: Sequence[str]) -> list[str]:
    """The loop over lines."""
    return [
        "for (int64_t o = begin; o < end; ++o) {",
        f"{INDENT}const int64_t j = 0;",
        *(
            f"{INDENT}{_SPELL.value_type(carry.dtype)} carried{k} = {start};"
            for k, (carry, start) in enumerate(zip(kernel.carries, starts, strict=True))
        ),
        INDENT + loop,
        *(INDENT * 2 + line for line in body),
        f"{INDENT}}}",
        "}",
    ]


def _lines_side_by_side(
    kernel: ScanKernel, starts: Sequence[str], loop: str, body: Sequence[str], inner: str
) -> list[str]:
    """The loop over groups of lines whose elements are adjacent in memory."""
    carried = [f"{_SPELL.value_type(c.dtype)} carried{k}[{SIDE_BY_SIDE}];" for k, c in enumerate(kernel.carries)]
    columns = "for (int64_t column = 0; column < columns; ++column) {"
    group = [
        f"const int64_t o = task / groups, first = task % groups * {SIDE_BY_SIDE};",
        f"const int64_t columns = min_({SIDE_BY_SIDE}, inner - first);",
        *carried,
        columns,
        *(f"{INDENT}carried{k}[column] = {start};" for k, start in enumerate(starts)),
        "}",
        loop,
        INDENT + columns,
        f"{INDENT * 2}const int64_t j = first + column;",
        *(INDENT * 2 + line for line in body),
        f"{INDENT}}}",
        "}",
    ]
    return [
        f"const int64_t inner = {inner}, groups = (inner + {SIDE_BY_SIDE - 1}) / {SIDE_BY_SIDE};",
        "for (int64_t task = begin; task < end; ++task) {",
        *(INDENT + line for line in group),
        "}",
    ]


def _step(emit: Emitter, kernel: ScanKernel, line: str) -> list[str]:
    """Combine one element into its line's carries, and store them; `line`: subscript of the carries, if any."""
    emit.count_uses(kernel.elements)
    loaded = [
        f"const {_SPELL.value_type(a.dtype)} {a.name} = {emit.value(x)};"
        for a, x in zip(kernel.inputs, kernel.elements, strict=True)
    ]
    emit.scope.lines += loaded
    emit.scope.lines += [
        f"const {_SPELL.value_type(c.dtype)} {c.name} = carried{k}{line};" for k, c in enumerate(kernel.carries)
    ]
    emit.count_uses(kernel.combined)
    values = [emit.value(x) for x in kernel.combined]
    place = emit.dim_scalar(kernel.offset)
    lines = list[str]()
    for k, (value, target) in enumerate(zip(values, kernel.outputs, strict=True)):
        lines.append(f"const {_SPELL.value_type(target.dtype)} sum{k} = {value};")
    for k, target in enumerate(kernel.outputs):
        lines += [f"carried{k}{line} = sum{k};", _SPELL.store(target.name, place, f"sum{k}", target.dtype)]
    return lines
