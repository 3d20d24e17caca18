"""Scatter: combine updates into a copy of the operands, with the same result as applying them in order.

| variant | when | how |
|---|---|---|
| `direct` | targets are unique | a thread per update |
| `atomic` | integers, a commutative combination | a thread per update |
| `linked` | up to 1024 positions | blocks link the updates of equal targets; a thread follows the links of one target |
| `sorted` | any number | updates are sorted by target, stably; a thread walks over those of one target |

If updates overwrite, only the last one of each target is applied. The updates of a window are contiguous, and
neighbouring threads move them. If windows are known to be equal or disjoint, collisions are detected per window.
Elementwise ops after the updates are one more launch, with a thread per element.
"""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.host_ir import Command, Copy, Fill, GridLaunch, Guard, Variant
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.inplace import positions, scatter_pairs
from shlo_disc.kernels.kernel import ScatterKernel, Start, Sweep
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.merge_sort import Sorting, long_calls, print_long
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.scatter_text import (
    BATCH,
    BLOCK,
    ScatterAxes,
    combine_chain,
    decode,
    function,
    keys_struct,
    make_keys,
    new_values,
    old_elements,
    over_all,
    print_sweep,
    skip_unless,
    stores,
    symbols_of,
    symbols_read,
    written,
)
from shlo_disc.lower_cuda.spelling import CudaSpelling

_SPELL = CudaSpelling()
MOST_BLOCKS = 1 << 20
FEW = 1024  # most positions that blocks link: SHLO_FEW_UPDATES
LINKING_BLOCKS = 4096  # few, as every block links all updates again
ITEM_BYTES = 16  # a key and an update's number, 64 bits each
_WORKSPACES = ("items0", "items1", "order")
_ATOMICS = {
    BinaryFn.ADD: "atomic_add",
    BinaryFn.AND: "atomic_and",
    BinaryFn.OR: "atomic_or",
    BinaryFn.XOR: "atomic_xor",
    BinaryFn.MAXIMUM: "atomic_max",
    BinaryFn.MINIMUM: "atomic_min",
}
_ATOMIC_TYPES = (DType.I32, DType.I64, DType.UI32, DType.UI64)


def print_scatter(kernel: ScatterKernel, facts: Facts) -> Printed:
    """Print variants that copy the operands, or fill the results, and then apply the updates."""
    window = tuple(a for a in kernel.axes if kernel.apart and a.symbol in kernel.window)
    batch = tuple(a for a in kernel.axes if a not in window)
    depends, carries = Dependence(), {c.name for c in kernel.carries}
    parts = ScatterAxes(
        kernel,
        batch,
        window,
        facts.canonical(product(a.extent for a in batch)),
        facts.canonical(product(a.extent for a in window)),
        symbols_read(kernel, facts),
        not any(carries.intersection(depends.of(t.value)) for t in kernel.targets),
    )
    starts = tuple(_start(kernel, start) for start in kernel.starts)
    spaces = (parts.count * parts.width, *(start.count for start in kernel.starts))
    swept = [] if kernel.sweep is None else print_sweep(parts, kernel.sweep)
    in_place = positions(scatter_pairs(kernel), kernel.params)
    ends = () if kernel.sweep is None else (_sweep_call(parts, kernel.sweep),)
    if kernel.unique or _ignores_order(kernel, depends):
        label = "direct" if kernel.unique else "atomic"
        text = [*_print_direct(parts, label), *swept]
        variant = _ending(_direct_variant(parts, label, starts), ends)
        return Printed("\n".join(text), (variant,), spaces, in_place=in_place)
    sorting = _sorting(parts)
    text = [*keys_struct(parts), *_linked(parts), *print_long(sorting), *_walk_sorted(parts), *swept]
    variants = (_linked_variant(parts, starts), _sorted_variant(parts, sorting, starts))
    variants = tuple(_ending(variant, ends) for variant in variants)
    size = sorting.workspace_bytes
    return Printed("\n".join(text), variants, spaces, (size, size, parts.count * ITEM_BYTES), in_place)


def _ending(variant: Variant[Dim], ends: tuple[Command[Dim], ...]) -> Variant[Dim]:
    return replace(variant, commands=(*variant.commands, *ends))


def _sweep_call(parts: ScatterAxes, sweep: Sweep) -> GridLaunch[Dim]:
    points = product(a.extent for a in sweep.axes)
    blocks = minimum((points + (BLOCK - 1)) // BLOCK, MOST_BLOCKS)
    read = sum(p.dtype.bytes for p in parts.kernel.params)
    return _launch(parts, "sweep", blocks, memory_cycles(const(BLOCK * read)), const(2 * LOAD_LATENCY))


def _start(kernel: ScatterKernel, start: Start) -> Command[Dim]:
    target = kernel.params.index(start.target)
    return Fill(target, 0) if start.source is None else Copy(kernel.params.index(start.source), target)


# -- unique targets, and integers


def _print_direct(parts: ScatterAxes, suffix: str) -> list[str]:
    """Print the kernel with a thread per update, which uses atomics unless targets are unique."""
    kernel, emit = parts.kernel, Emitter(_SPELL)
    decoded = decode(emit, kernel.axes, "flat")
    total = emit.dim_scalar(product(a.extent for a in kernel.axes))
    with emit.inside(*symbols_of(kernel.axes), *(c.name for c in kernel.carries)) as scope:
        scope.lines += [*skip_unless(emit, kernel, "continue;")]
        scope.lines.append(f"const int64_t place = {emit.dim_scalar(kernel.targets[0].offset)};")
        if kernel.unique:
            scope.lines += old_elements(kernel, "const ")
            values = new_values(emit, kernel)
            scope.lines += stores(kernel, values)
        else:
            pairs = [_commuting_update(c, t.value) for c, t in zip(kernel.carries, kernel.targets, strict=True)]
            updates = [pair for pair in pairs if pair is not None]
            emit.count_uses([update for _, update in updates])
            emit.floor = len(emit.scopes) - 1
            for (atomic, update), target in zip(updates, kernel.targets, strict=True):
                value = emit.value(update)
                scope.lines.append(f"{atomic}({target.target.name} + place, {value});")
            emit.floor = 0
        body = ["const idx flat = (idx)number;", *decoded, *scope.lines]
    return function(parts, suffix, [*emit.scopes[0].lines, *over_all(total, "number", body)])


def _ignores_order(kernel: ScatterKernel, depends: Dependence) -> bool:
    """Whether all targets are integers that atomics combine."""
    carries = {c.name for c in kernel.carries}
    pairs = [_commuting_update(c, t.value) for c, t in zip(kernel.carries, kernel.targets, strict=True)]
    return all(pair is not None and not carries.intersection(depends.of(pair[1])) for pair in pairs)


def _commuting_update(carry: Arg, value: Scalar) -> tuple[str, Scalar] | None:
    """The atomic that combines a carry with an update, and the update; None if there is none."""
    match value:
        case Binary(fn, a, b, dtype) if dtype in _ATOMIC_TYPES and fn in _ATOMICS:
            if a == carry:
                return _ATOMICS[fn], b
            return (_ATOMICS[fn], a) if b == carry else None
        case _:
            return None


def _launch(
    parts: ScatterAxes, suffix: str, blocks: Dim, cycles: Dim, latency: Dim, *, workspaces: int = 0
) -> GridLaunch[Dim]:
    buffers = tuple(range(len(parts.kernel.params) + workspaces))
    return GridLaunch(f"{NAME}_{suffix}", buffers, parts.symbols, blocks, BLOCK, const(0), cycles, latency)


def _moved(parts: ScatterAxes) -> int:
    """Memory traffic of one update in bytes: the update, its target read and written, its index."""
    return 8 + sum(3 * t.target.dtype.bytes for t in parts.kernel.targets)


def _direct_variant(parts: ScatterAxes, label: str, starts: tuple[Command[Dim], ...]) -> Variant[Dim]:
    blocks = minimum((parts.count * parts.width + (BLOCK - 1)) // BLOCK, MOST_BLOCKS)
    cycles = memory_cycles(const(BLOCK * _moved(parts)))
    call = _launch(parts, label, blocks, cycles, const(3 * LOAD_LATENCY))
    return Variant(label, (), False, (*starts, call))


# -- updates that may collide


def _sorting(parts: ScatterAxes) -> Sorting:
    emit = Emitter(_SPELL)
    count = emit.dim_scalar(parts.count)
    kernel = parts.kernel
    return Sorting(
        params=kernel.params,
        written=tuple(written(kernel)),
        workspaces=_WORKSPACES,
        symbols=parts.symbols,
        lines=const(1),
        extent=parts.count,
        item_bytes=ITEM_BYTES,
        traffic=8,
        lines_type=f"{NAME}_Keys",
        lines_text=make_keys(parts, f"({NAME}_Keys::Item*)order"),
        setup=(*emit.scopes[0].lines, f"const idx count = {count};"),
        shape_text="1, count, count",
        items_from=0,
    )


def _linked(parts: ScatterAxes) -> list[str]:
    """Print the kernel for few updates: each block links those with equal targets."""
    emit = Emitter(_SPELL)
    count, width = emit.dim_scalar(parts.count), emit.dim_scalar(parts.width)
    following = [
        f"idx numbers[{BATCH}];",
        "int here = 0;",
        f"SHLO_UNROLL for (int k = 0; k < {BATCH}; ++k) {{",
        f"{INDENT}if (here == k && next[number] != SHLO_NO_UPDATE) {{",
        f"{INDENT}{INDENT}number = next[number];",
        f"{INDENT}{INDENT}here = k + 1;",
        f"{INDENT}}}",
        f"{INDENT}numbers[k] = number;",
        "}",
        "if (here == 0) break;",
    ]
    body = combine_chain(parts, emit, following)
    active = "keys[number] >= 0 && next[number] == SHLO_NO_UPDATE" if parts.overwrites else "first[number]"
    each = [
        "const idx pair = (idx)point;",
        "const idx element = pair % width;",
        "idx number = pair / width;",
        f"if (!({active})) continue;",
        *body,
    ]
    lines = [
        "SHLO_SHARED(idx, keys, SHLO_FEW_UPDATES);",
        "SHLO_SHARED(int, next, SHLO_FEW_UPDATES);",
        "SHLO_SHARED(uint8_t, first, SHLO_FEW_UPDATES);",
        *emit.scopes[0].lines,
        f"const idx count = {count}, width = {width};",
        f"const {NAME}_Keys updates{{{make_keys(parts, 'nullptr')}}};",
        f"for (int k = threadIdx.x; k < count; k += {BLOCK}) keys[k] = updates.key(k);",
        "__syncthreads();",
        "link_updates(keys, (int)count, next, first);",
        *over_all("(int64_t)count * width", "point", each),
    ]
    return function(parts, "linked", lines)


def _linked_variant(parts: ScatterAxes, starts: tuple[Command[Dim], ...]) -> Variant[Dim]:
    points = parts.count * parts.width
    blocks = minimum((points + (BLOCK - 1)) // BLOCK, LINKING_BLOCKS)
    linking = parts.count * parts.count // (2 * BLOCK)
    cycles = memory_cycles(const(BLOCK * _moved(parts))) + linking * 2
    latency = linking * 8 + (8 * LOAD_LATENCY + 4 * BARRIER_LATENCY)
    call = _launch(parts, "linked", blocks, cycles, latency)
    return Variant("linked", (Guard(parts.count, "<=", const(FEW)),), False, (*starts, call))


def _walk_sorted(parts: ScatterAxes) -> list[str]:
    """Print the kernel for updates sorted by target: the thread at the first one of a target walks over all of them."""
    emit = Emitter(_SPELL)
    count, width = emit.dim_scalar(parts.count), emit.dim_scalar(parts.width)
    following = [
        f"idx numbers[{BATCH}];",
        "int here = 0;",
        f"SHLO_UNROLL for (int k = 0; k < {BATCH}; ++k) {{",
        f"{INDENT}const bool same = at + 1 + k < count && sorted[at + 1 + k].key == key;",
        f"{INDENT}numbers[k] = same ? sorted[at + 1 + k].number : number;",
        f"{INDENT}if (same) here = k + 1;",
        "}",
        "if (here == 0) break;",
        "at += here;",
    ]
    body = combine_chain(parts, emit, following)
    beside = (
        "at + 1 < count && sorted[at + 1].key == key" if parts.overwrites else "at > 0 && sorted[at - 1].key == key"
    )
    each = [
        "const idx pair = (idx)point;",
        "const idx element = pair % width;",
        "idx at = pair / width;",
        "const idx key = sorted[at].key;",
        f"if (key < 0 || ({beside})) continue;",
        "idx number = sorted[at].number;",
        *body,
    ]
    lines = [
        *emit.scopes[0].lines,
        f"const idx count = {count}, width = {width};",
        f"const {NAME}_Keys::Item* const sorted = (const {NAME}_Keys::Item*)order;",
        *over_all("(int64_t)count * width", "point", each),
    ]
    return function(parts, "walk", lines, workspaces=_WORKSPACES)


def _sorted_variant(parts: ScatterAxes, sorting: Sorting, starts: tuple[Command[Dim], ...]) -> Variant[Dim]:
    blocks = minimum((parts.count * parts.width + (BLOCK - 1)) // BLOCK, MOST_BLOCKS)
    cycles = memory_cycles(const(BLOCK * (_moved(parts) + ITEM_BYTES)))
    walk = _launch(parts, "walk", blocks, cycles, const(6 * LOAD_LATENCY), workspaces=len(_WORKSPACES))
    return Variant("sorted", (), False, (*starts, *long_calls(sorting), walk))
