"""Scans as C++: one element after the other along the axis, neighbouring lines side by side."""

from __future__ import annotations

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.kernels.kernel import ScanKernel
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody

_SPELL = VectorSpelling()
SIDE_BY_SIDE = 64  # lines whose elements are neighbours in memory, and are combined in turn


def _width(kernel: ScanKernel) -> int:
    return 1 if kernel.inner.extent.constant == 1 else SIDE_BY_SIDE


def scan_extent(kernel: ScanKernel) -> Dim:
    """How many groups of neighbouring lines there are."""
    width = _width(kernel)
    return kernel.outer.extent * ((kernel.inner.extent + (width - 1)) // width)


def print_scan(kernel: ScanKernel) -> KernelBody:
    """Each piece of work is a group of neighbouring lines."""
    emit, width = Emitter(_SPELL), _width(kernel)
    lines = [pointer(_SPELL, k, p, written=p in kernel.outputs) for k, p in enumerate(kernel.params)]
    emit.count_uses(kernel.init)
    starts = [emit.value(x) for x in kernel.init]
    extent, inner = emit.dim_scalar(kernel.along.extent), emit.dim_scalar(kernel.inner.extent)
    names = [axis.symbol.name for axis in (kernel.outer, kernel.along, kernel.inner)]
    with emit.inside(*names, *(a.name for a in (*kernel.carries, *kernel.inputs))) as scope:
        body = _step(emit, kernel)
        body = [*scope.lines, *body]
    columns = "const int64_t columns = 1;" if width == 1 else f"const int64_t columns = min_({width}, inner - first);"
    held = [
        f"{_SPELL.value_type(c.dtype)} held{k}[{width}];" for k, c in enumerate(kernel.carries)
    ]  # the carries of the lines side by side
    begin = [f"held{k}[column] = {start};" for k, start in enumerate(starts)]
    step = "extent - 1 - step" if kernel.backwards else "step"
    lines += [
        *emit.scopes[0].lines,
        f"const int64_t extent = {extent}, inner = {inner}, groups = (inner + {width - 1}) / {width};",
        "for (int64_t task = begin; task < end; ++task) {",
        *(
            INDENT + line
            for line in (
                f"const int64_t o = task / groups, first = task % groups * {width};",
                columns,
                *held,
                "for (int64_t column = 0; column < columns; ++column) {",
                *(INDENT + line for line in begin),
                "}",
                "for (int64_t step = 0; step < extent; ++step) {",
                f"{INDENT}const int64_t s = {step};",
                f"{INDENT}for (int64_t column = 0; column < columns; ++column) {{",
                f"{INDENT}{INDENT}const int64_t j = first + column;",
                *(INDENT * 2 + line for line in body),
                f"{INDENT}}}",
                "}",
            )
        ),
        "}",
    ]
    return KernelBody((), tuple(lines), tuple(emit.sizes))


def _step(emit: Emitter, kernel: ScanKernel) -> list[str]:
    """Combine one element into its line's carries, and store them."""
    emit.count_uses(kernel.elements)
    loaded = [
        f"const {_SPELL.value_type(a.dtype)} {a.name} = {emit.value(x)};"
        for a, x in zip(kernel.inputs, kernel.elements, strict=True)
    ]
    emit.scope.lines += loaded
    emit.scope.lines += [
        f"const {_SPELL.value_type(c.dtype)} {c.name} = held{k}[column];" for k, c in enumerate(kernel.carries)
    ]
    emit.count_uses(kernel.combined)
    values = [emit.value(x) for x in kernel.combined]
    place = emit.dim_scalar(kernel.offset)
    lines = list[str]()
    for k, (value, target) in enumerate(zip(values, kernel.outputs, strict=True)):
        lines.append(f"const {_SPELL.value_type(target.dtype)} sum{k} = {value};")
    for k, target in enumerate(kernel.outputs):
        lines += [f"held{k}[column] = sum{k};", _SPELL.store(target.name, place, f"sum{k}", target.dtype)]
    return lines
