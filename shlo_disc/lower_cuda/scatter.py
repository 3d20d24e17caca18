"""Scatter: combine updates into a copy of the operands, with the result that applying them in order gives.

| variant | when | how |
|---|---|---|
| `direct` | targets are unique | a thread per update |
| `atomic` | integers, a combination that ignores the order | a thread per update |
| `linked` | up to 1024 positions | blocks link the updates that meet; a thread follows the links of one target |
| `sorted` | any number | updates are sorted by target, stably; a thread walks over those of one target |

Updates that overwrite need only the last one of each target. The updates of a window are neighbours in memory, and so
are the threads that move them; what meets is decided per window where the kernel says that windows are equal or disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shlo_disc.codegen.dependence import Dependence
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.host import Call, CallVariant, Condition, CopyCall, GridCall
from shlo_disc.codegen.indices import size_name
from shlo_disc.codegen.kernel import Axis, ScatterKernel
from shlo_disc.codegen.naming import NAME
from shlo_disc.codegen.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, BinaryFn, Const, Scalar
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.merge_sort import Sorting, long_calls, print_long
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.spelling import CudaSpelling

_SPELL = CudaSpelling()
BLOCK = 256
MOST_BLOCKS = 1 << 20
FEW = 1024  # positions that blocks link: SHLO_FEW_UPDATES
LINKING_BLOCKS = 4096  # every block links all updates again, so there are not many
ITEM_BYTES = 16  # a key and a number, 64 bits each
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


@dataclass(frozen=True, slots=True)
class _Parts:
    """A scatter taken apart: the axes that decide which updates meet, and those of windows."""

    kernel: ScatterKernel
    positions: tuple[Axis, ...]
    window: tuple[Axis, ...]
    count: Dim  # of positions
    width: Dim  # of a window
    symbols: tuple[str, ...]
    overwrites: bool  # the new elements do not depend on the old ones


def print_scatter(kernel: ScatterKernel, facts: Facts) -> Printed:
    """Copy the operands, then apply the updates."""
    window = tuple(a for a in kernel.axes if a.symbol in kernel.window)
    positions = tuple(a for a in kernel.axes if a.symbol not in kernel.window)
    depends, carries = Dependence(), {c.name for c in kernel.carries}
    parts = _Parts(
        kernel,
        positions,
        window,
        facts.canonical(product(a.extent for a in positions)),
        facts.canonical(product(a.extent for a in window)),
        _symbols(kernel, facts),
        not any(carries.intersection(depends.of(t.value)) for t in kernel.targets),
    )
    copies = tuple(CopyCall(kernel.params.index(a), kernel.params.index(b)) for a, b, _ in kernel.copies)
    spaces = (parts.count * parts.width, *(count for _, _, count in kernel.copies))
    if kernel.unique or _ignores_order(kernel, depends):
        label = "direct" if kernel.unique else "atomic"
        return Printed("\n".join(_print_direct(parts, label)), (_direct_variant(parts, label, copies),), spaces)
    sorting = _sorting(parts)
    text = [*_keys(parts), *_linked(parts), *print_long(sorting), *_walk_sorted(parts)]
    variants = (_linked_variant(parts, copies), _sorted_variant(parts, sorting, copies))
    size = sorting.workspace_bytes
    return Printed("\n".join(text), variants, spaces, (size, size, parts.count * ITEM_BYTES))


def _symbols(kernel: ScatterKernel, facts: Facts) -> tuple[str, ...]:
    """The sizes that any kernel of this scatter reads."""
    roots = [kernel.in_bounds, *(t.value for t in kernel.targets)]
    emit = Emitter(_SPELL)
    for axis in kernel.axes:
        emit.dim_scalar(facts.canonical(axis.extent))
    with emit.inside(*(a.symbol.name for a in kernel.axes), *(c.name for c in kernel.carries)):
        emit.count_uses(roots)
        for root in roots:
            emit.value(root)
        for target in kernel.targets:
            emit.dim_scalar(target.offset)
    return tuple(emit.sizes)


# -- pieces of text


def _decode(emit: Emitter, axes: Sequence[Axis], flat: str) -> list[str]:
    """The coordinates of point number `flat` of the axes, the last one fastest."""
    lines, rest = list[str](), flat
    for number, axis in reversed(list(enumerate(axes))):
        name, extent = clean(axis.symbol.name), emit.dim_scalar(axis.extent)
        if number == 0:
            lines.append(f"const idx {name} = {rest};")
            continue
        lines.append(f"const idx {name} = {rest} % {extent};")
        lines.append(f"const idx {name}_rest = {rest} / {extent};")
        rest = f"{name}_rest"
    return lines


def _names(axes: Sequence[Axis]) -> list[str]:
    return [a.symbol.name for a in axes]


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _function(parts: _Parts, suffix: str, lines: Sequence[str], *, workspaces: tuple[str, ...] = ()) -> list[str]:
    """A kernel of one block size."""
    kernel = parts.kernel
    written = [target for _, target, _ in kernel.copies]
    head = signature(
        f"{NAME}_{suffix}", kernel.params, written, parts.symbols, threads=BLOCK, workspaces=workspaces
    )
    return [*head, *_indented(lines), "}"]


def _over_all(count: str, name: str, body: Sequence[str]) -> list[str]:
    """A loop over `count` points, one per thread at a time."""
    return [
        f"for (int64_t {name} = (int64_t)blockIdx.x * {BLOCK} + threadIdx.x; {name} < {count};"
        f" {name} += (int64_t)gridDim.x * {BLOCK}) {{",
        *_indented(body),
        "}",
    ]


# -- unique targets, and integers


def _print_direct(parts: _Parts, suffix: str) -> list[str]:
    """A thread per update puts it into place, by an atomic unless targets are unique."""
    kernel, emit = parts.kernel, Emitter(_SPELL)
    decoded = _decode(emit, kernel.axes, "flat")
    total = emit.dim_scalar(product(a.extent for a in kernel.axes))
    with emit.inside(*_names(kernel.axes), *(c.name for c in kernel.carries)) as scope:
        scope.lines += [*_skip_unless(emit, kernel, "continue;")]
        scope.lines.append(f"const int64_t place = {emit.dim_scalar(kernel.targets[0].offset)};")
        if kernel.unique:
            scope.lines += _old_elements(kernel, "const ")
            values = _new_values(emit, kernel)
            scope.lines += _stores(kernel, values)
        else:
            pairs = [_commuting_update(c, t.value) for c, t in zip(kernel.carries, kernel.targets, strict=True)]
            updates = [pair for pair in pairs if pair is not None]
            emit.count_uses([update for _, update in updates])
            emit.floor = len(emit.scopes) - 1
            for (function, update), target in zip(updates, kernel.targets, strict=True):
                value = emit.value(update)
                scope.lines.append(f"{function}({target.target.name} + place, {value});")
            emit.floor = 0
        body = ["const idx flat = (idx)number;", *decoded, *scope.lines]
    return _function(parts, suffix, [*emit.scopes[0].lines, *_over_all(total, "number", body)])


def _skip_unless(emit: Emitter, kernel: ScatterKernel, leave: str) -> list[str]:
    """The statement that leaves if the update is out of bounds, where that can be."""
    if isinstance(kernel.in_bounds, Const):
        return []
    emit.count_uses([kernel.in_bounds])
    return [f"if (!({emit.value(kernel.in_bounds)})) {leave}"]


def _old_elements(kernel: ScatterKernel, head: str) -> list[str]:
    return [
        f"{head}{_SPELL.value_type(carry.dtype)} {carry.name} = "
        f"{_SPELL.load(target.target.name, 'place', target.target.dtype)};"
        for carry, target in zip(kernel.carries, kernel.targets, strict=True)
    ]


def _new_values(emit: Emitter, kernel: ScatterKernel) -> list[str]:
    emit.count_uses([t.value for t in kernel.targets])
    emit.floor = len(emit.scopes) - 1
    values = [emit.value(t.value) for t in kernel.targets]
    emit.floor = 0
    return values


def _stores(kernel: ScatterKernel, values: Sequence[str]) -> list[str]:
    return [
        _SPELL.store(t.target.name, "place", value, t.target.dtype)
        for t, value in zip(kernel.targets, values, strict=True)
    ]


def _ignores_order(kernel: ScatterKernel, depends: Dependence) -> bool:
    """Whether all targets are integers that are combined by atomics."""
    carries = {c.name for c in kernel.carries}
    pairs = [_commuting_update(c, t.value) for c, t in zip(kernel.carries, kernel.targets, strict=True)]
    return all(pair is not None and not carries.intersection(depends.of(pair[1])) for pair in pairs)


def _commuting_update(carry: Arg, value: Scalar) -> tuple[str, Scalar] | None:
    """The atomic that combines a carry with an update, and the update."""
    match value:
        case Binary(fn, a, b, dtype) if dtype in _ATOMIC_TYPES and fn in _ATOMICS:
            if a == carry:
                return _ATOMICS[fn], b
            return (_ATOMICS[fn], a) if b == carry else None
        case _:
            return None


def _launch(
    parts: _Parts, suffix: str, blocks: Dim, cycles: Dim, latency: Dim, *, workspaces: int = 0
) -> GridCall:
    buffers = tuple(range(len(parts.kernel.params) + workspaces))
    return GridCall(f"{NAME}_{suffix}", buffers, parts.symbols, blocks, BLOCK, const(0), cycles, latency)


def _moved(parts: _Parts) -> int:
    """Bytes that one update moves: itself, the element in place twice, its index."""
    return 8 + sum(3 * t.target.dtype.bytes for t in parts.kernel.targets)


def _direct_variant(parts: _Parts, label: str, copies: tuple[CopyCall, ...]) -> CallVariant:
    blocks = minimum((parts.count * parts.width + (BLOCK - 1)) // BLOCK, MOST_BLOCKS)
    cycles = memory_cycles(const(BLOCK * _moved(parts)))
    call = _launch(parts, label, blocks, cycles, const(3 * LOAD_LATENCY))
    return CallVariant(label, (), False, (*copies, call))


# -- updates that may meet


def _keys(parts: _Parts) -> list[str]:
    """The Lines of prelude/sort.cuh for updates: one line of keys (targets of windows, -1 if out of bounds)."""
    kernel, emit = parts.kernel, Emitter(_SPELL)
    decoded = _decode(emit, parts.positions, "at")
    start = kernel.targets[0].offset.substitute({a.symbol: const(0) for a in parts.window})
    with emit.inside(*_names(parts.positions)) as scope:
        scope.lines += _skip_unless(emit, kernel, "return -1;")
        scope.lines.append(f"return (idx)({emit.dim_scalar(start)});")
    pointers = [
        f"{'' if p in [t for _, t, _ in kernel.copies] else 'const '}{_SPELL.memory_type(p.dtype)}* {p.name};"
        for p in kernel.params
    ]
    body = [
        "struct Item { idx key, number; };",
        *pointers,
        "Item* sorted;",
        *(f"idx {name};" for name in _size_names(parts)),
        "SHLO_DEVICE idx key(idx at) const {",
        *_indented([*emit.scopes[0].lines, *decoded, *scope.lines]),
        "}",
        "SHLO_DEVICE Item load(idx, idx at) const { return Item{key(at), at}; }",
        "SHLO_DEVICE bool before(const Item& x, const Item& y) const { return x.key < y.key; }",
        "SHLO_DEVICE void store(idx, idx at, const Item& item) const { sorted[at] = item; }",
    ]
    return [f"struct {NAME}_Keys {{", *_indented(body), "};"]


def _size_names(parts: _Parts) -> list[str]:
    return [size_name(s) for s in parts.symbols]


def _make_keys(parts: _Parts, order: str) -> str:
    """The C expression of a Keys."""
    return ", ".join([*(p.name for p in parts.kernel.params), order, *_size_names(parts)])


def _sorting(parts: _Parts) -> Sorting:
    emit = Emitter(_SPELL)
    count = emit.dim_scalar(parts.count)
    kernel = parts.kernel
    return Sorting(
        params=kernel.params,
        written=tuple(t for _, t, _ in kernel.copies),
        workspaces=_WORKSPACES,
        symbols=parts.symbols,
        lines=const(1),
        extent=parts.count,
        item_bytes=ITEM_BYTES,
        traffic=8,
        lines_type=f"{NAME}_Keys",
        lines_text=_make_keys(parts, f"({NAME}_Keys::Item*)order"),
        setup=(*emit.scopes[0].lines, f"const idx count = {count};"),
        count_text="1",
        extent_text="count",
        items_from=0,
    )


def _apply(parts: _Parts, emit: Emitter, walk: str, more: str) -> list[str]:
    """Combine the updates of one target, from the update `number` on.

    `walk` goes on to the next one as long as `more` holds; an update that overwrites is alone.
    """
    kernel = parts.kernel
    decode_window = _decode(emit, parts.window, "element")
    decode_position = _decode(emit, parts.positions, "number")
    offset = kernel.targets[0].offset
    with emit.inside(*_names(parts.window)) as outer:
        outer.lines += decode_window
        with emit.inside(*_names(parts.positions), *(c.name for c in kernel.carries)) as inner:
            values = _new_values(emit, kernel)
            update = [*decode_position, *inner.lines]
        with emit.inside(*_names(parts.positions)) as inner:
            place = emit.dim_scalar(offset)
            placed = [*decode_position, *inner.lines, f"place = {place};"]
    lines = [*outer.lines, "int64_t place;", "{", *_indented(placed), "}"]
    if parts.overwrites:
        return [*lines, *update, *_stores(kernel, values)]
    fresh = [f"const auto next_{c.name} = {v};" for c, v in zip(kernel.carries, values, strict=True)]
    carried = [f"{c.name} = next_{c.name};" for c in kernel.carries]
    lines += _old_elements(kernel, "")
    lines += ["for (;;) {", *_indented([*update, *fresh, *carried, f"if (!({more})) break;", walk]), "}"]
    return [*lines, *_stores(kernel, [c.name for c in kernel.carries])]


def _linked(parts: _Parts) -> list[str]:
    """Few updates: each block links those with one target."""
    emit = Emitter(_SPELL)
    count, width = emit.dim_scalar(parts.count), emit.dim_scalar(parts.width)
    body = _apply(parts, emit, "number = next[number];", "next[number] != SHLO_NO_UPDATE")
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
        f"const {NAME}_Keys updates{{{_make_keys(parts, 'nullptr')}}};",
        f"for (int k = threadIdx.x; k < count; k += {BLOCK}) keys[k] = updates.key(k);",
        "__syncthreads();",
        "link_updates(keys, (int)count, next, first);",
        *_over_all("(int64_t)count * width", "point", each),
    ]
    return _function(parts, "linked", lines)


def _linked_variant(parts: _Parts, copies: tuple[Call, ...]) -> CallVariant:
    points = parts.count * parts.width
    blocks = minimum((points + (BLOCK - 1)) // BLOCK, LINKING_BLOCKS)
    linking = parts.count * parts.count // (2 * BLOCK)
    cycles = memory_cycles(const(BLOCK * _moved(parts))) + linking * 2
    latency = linking * 8 + (8 * LOAD_LATENCY + 4 * BARRIER_LATENCY)
    call = _launch(parts, "linked", blocks, cycles, latency)
    return CallVariant("linked", (Condition(parts.count, "<=", const(FEW)),), False, (*copies, call))


def _walk_sorted(parts: _Parts) -> list[str]:
    """Any number of updates, sorted by target: the thread at the first one of a target walks over all of them."""
    emit = Emitter(_SPELL)
    count, width = emit.dim_scalar(parts.count), emit.dim_scalar(parts.width)
    body = _apply(parts, emit, "number = sorted[++at].number;", "at + 1 < count && sorted[at + 1].key == key")
    beside = "at + 1 < count && sorted[at + 1].key == key" if parts.overwrites else "at > 0 && sorted[at - 1].key == key"
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
        *_over_all("(int64_t)count * width", "point", each),
    ]
    return _function(parts, "walk", lines, workspaces=_WORKSPACES)


def _sorted_variant(parts: _Parts, sorting: Sorting, copies: tuple[Call, ...]) -> CallVariant:
    blocks = minimum((parts.count * parts.width + (BLOCK - 1)) // BLOCK, MOST_BLOCKS)
    cycles = memory_cycles(const(BLOCK * (_moved(parts) + ITEM_BYTES)))
    walk = _launch(parts, "walk", blocks, cycles, const(6 * LOAD_LATENCY), workspaces=len(_WORKSPACES))
    return CallVariant("sorted", (), False, (*copies, *long_calls(sorting), walk))
