"""Kernels that are printed as plain loops: select_and_scatter."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ONE, Dim, Sym, const, of
from shlo_disc.expr.scalar import Arg
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import (
    Axis,
    Param,
    WindowScatterKernel,
)
from shlo_disc.kernels.templates import build_window_scatter
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody

_SPELL = VectorSpelling()


def pointers(params: Sequence[Param], written: Sequence[Param], shared: Collection[Param] = ()) -> list[str]:
    """The declarations of all params. `shared`: those that may point to the same memory."""
    return [pointer(_SPELL, k, p, written=p in written, shared=p in shared) for k, p in enumerate(params)]


def indented(lines: Sequence[str]) -> list[str]:
    """The lines, one level deeper."""
    return [INDENT + line for line in lines]


def loops(
    axes: Sequence[Axis], ends: Sequence[str], body: Sequence[str], begins: Sequence[str] | None = None
) -> list[str]:
    """Nested loops, by default from 0; a body without axes is in a loop, too, as `continue` skips to the next point."""
    if not axes:
        return ["for (int once = 0; once < 1; ++once) {", *indented(body), "}"]
    names = [a.symbol.name.removeprefix("%") for a in axes]
    lines = [
        INDENT * depth + f"for (int64_t {name} = {begin}; {name} < {end}; ++{name}) {{"
        for depth, (name, begin, end) in enumerate(zip(names, begins or ["0"] * len(names), ends, strict=True))
    ]
    lines += [INDENT * len(axes) + line for line in body]
    return lines + [INDENT * depth + "}" for depth in range(len(axes) - 1, -1, -1)]


def lower_window_scatter(group: Group, context: LoweringContext) -> LoweredGroup:
    """One task: windows may overlap."""
    kernel, tensors = verified(build_window_scatter(group, context.facts, context.producers), group)
    return LoweredGroup(print_window_scatter(kernel), tensors, extent=ONE, work=ONE)


def print_window_scatter(kernel: WindowScatterKernel) -> KernelBody:
    """One window after the other: find its position, then combine."""
    emit = Emitter(_SPELL)
    declared = pointers(kernel.params, [kernel.target])
    total = emit.dim_scalar(_product(kernel.operand_shape))
    start = emit.value(kernel.init)
    target, dtype = kernel.target.name, kernel.target.dtype
    lines = [f"for (int64_t i = 0; i < {total}; ++i) " + _SPELL.store(target, "i", start, dtype)]
    rank = len(kernel.operand_shape)
    windows = [Axis(Sym(f"%s{k}"), n) for k, n in enumerate(kernel.source_shape)]
    steps = [Axis(Sym(f"%w{k}"), n) for k, n in enumerate(kernel.window)]
    shape = [emit.dim_scalar(n) for n in kernel.operand_shape]
    source_extents = [emit.dim_scalar(a.extent) for a in windows]
    step_extents = [emit.dim_scalar(a.extent) for a in steps]
    select_names = [a.name for a in kernel.select_arguments]
    with emit.inside(*(a.symbol.name for a in (*windows, *steps)), *select_names) as search:
        places = [
            emit.dim_scalar(of(w.symbol) * stride + of(s.symbol) - low)
            for w, s, stride, low in zip(windows, steps, kernel.strides, kernel.low, strict=True)
        ]
        search.lines += [f"const int64_t x{k} = {text};" for k, text in enumerate(places)]
        inside = " && ".join(f"x{k} >= 0 && x{k} < {shape[k]}" for k in range(rank)) or "true"
        search.lines.append(f"if (!({inside})) continue;")
        flat = "0"
        for k in range(rank):
            flat = f"({flat}) * {shape[k]} + x{k}"
        search.lines.append(f"const int64_t place = {flat};")
        best, following = kernel.select_arguments
        for name, where in ((best, "(chosen < 0 ? place : chosen)"), (following, "place")):
            text = _SPELL.load(kernel.operand.name, where, name.dtype)
            search.lines.append(f"const {_SPELL.value_type(name.dtype)} {name.name} = {text};")
        emit.count_uses([kernel.select])
        keeps = emit.value(kernel.select)
        search.lines.append(f"if (chosen < 0 || !({keeps})) chosen = place;")
    inner = [
        "int64_t chosen = -1;",
        *loops(steps, step_extents, search.lines),
        "if (chosen < 0) continue;",
    ]
    inner += _combine_window(emit, kernel, windows)
    body = loops(windows, source_extents, inner)
    return KernelBody((), (*declared, *emit.scopes[0].lines, *lines, *body), tuple(emit.sizes))


def _combine_window(emit: Emitter, kernel: WindowScatterKernel, windows: Sequence[Axis]) -> list[str]:
    """Combine the source's element into the chosen position."""
    old, update = kernel.scatter_arguments
    offset = const(0)
    for axis in windows:
        offset = offset * axis.extent + of(axis.symbol)
    with emit.inside(*(a.symbol.name for a in windows), old.name, update.name) as scope:
        reads: list[tuple[Arg, Param, str]] = [
            (old, kernel.target, "chosen"),
            (update, kernel.source, emit.dim_scalar(offset)),
        ]
        for name, param, where in reads:
            text = _SPELL.load(param.name, where, param.dtype)
            scope.lines.append(f"const {_SPELL.value_type(name.dtype)} {name.name} = {text};")
        emit.count_uses([kernel.scatter])
        value = emit.value(kernel.scatter)
        scope.lines.append(_SPELL.store(kernel.target.name, "chosen", value, kernel.target.dtype))
    return scope.lines


def _product(dims: Sequence[Dim]) -> Dim:
    found = const(1)
    for dim in dims:
        found = found * dim
    return found
