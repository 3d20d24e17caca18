"""Text of scatters: decode an update's coordinates, compute its key, combine it with the target element."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.analysis.access import children
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Const, Scalar, as_scalar
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.inplace import scatter_pairs
from shlo_disc.kernels.kernel import Axis, Param, ScatterKernel, Sweep
from shlo_disc.lower_cuda.printed import heading, pointers
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

_SPELL = CudaSpelling()
BLOCK = 256
BATCH = 8  # updates of one target that are loaded together


@record
class ScatterAxes:
    """The axes of a scatter: those that decide which updates collide, and those of windows."""

    kernel: ScatterKernel
    positions: tuple[Axis, ...]
    window: tuple[Axis, ...]
    count: Dim  # of positions
    width: Dim  # of a window
    symbols: tuple[str, ...]
    overwrites: bool  # the new elements do not depend on the old ones


def symbols_read(kernel: ScatterKernel, facts: Facts) -> tuple[str, ...]:
    """The sizes that the kernels of this scatter read."""
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
    if kernel.sweep is not None:
        _swept(emit, kernel.sweep)
    return tuple(emit.sizes)


def _swept(emit: Emitter, sweep: Sweep) -> list[str]:
    """Statements for point `flat` of a sweep."""
    decoded = decode(emit, sweep.axes, "flat")
    with emit.inside(*symbols_of(sweep.axes)) as scope:
        emit.count_uses([store.value for store in sweep.stores])
        for store in sweep.stores:
            value, place = emit.value(store.value), emit.dim_scalar(store.offset)
            scope.flush()
            scope.lines.append(_SPELL.store(store.target.name, place, value, store.target.dtype))
    return [*decoded, *scope.lines]


def print_sweep(parts: ScatterAxes, sweep: Sweep) -> list[str]:
    """Print the kernel of elementwise ops after all updates, with a thread per element."""
    emit = Emitter(_SPELL)
    total, body = emit.dim_scalar(product(a.extent for a in sweep.axes)), _swept(emit, sweep)
    lines = over_all(total, "number", ["const idx flat = (idx)number;", *body])
    return function(parts, "sweep", [*emit.scopes[0].lines, *lines])


def written(kernel: ScatterKernel) -> list[Param]:
    """The buffers that the kernels of a scatter write."""
    swept = () if kernel.sweep is None else kernel.sweep.stores
    stored = (store.target for store in swept)
    return [*(start.target for start in kernel.starts), *(target for target in stored if isinstance(target, Param))]


def decode(emit: Emitter, axes: Sequence[Axis], flat: str) -> list[str]:
    """Decode point number `flat` into the indices of the axes, the last one innermost."""
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


def symbols_of(axes: Sequence[Axis]) -> list[str]:
    return [a.symbol.name for a in axes]


def indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def function(parts: ScatterAxes, suffix: str, lines: Sequence[str], *, workspaces: tuple[str, ...] = ()) -> list[str]:
    """Print a kernel with blocks of `BLOCK` threads."""
    kernel = parts.kernel
    shared = {param for pair in scatter_pairs(kernel) for param in pair if kernel.reads_ahead}
    buffers = pointers(kernel.params, written(kernel), shared, workspaces)
    head = heading(f"{NAME}_{suffix}", buffers, parts.symbols, BLOCK)
    return [*head, *indented(lines), "}"]


def over_all(count: str, name: str, body: Sequence[str]) -> list[str]:
    """A grid-stride loop over `count` points."""
    return [
        f"for (int64_t {name} = (int64_t)blockIdx.x * {BLOCK} + threadIdx.x; {name} < {count};"
        f" {name} += (int64_t)gridDim.x * {BLOCK}) {{",
        *indented(body),
        "}",
    ]


def skip_unless(emit: Emitter, kernel: ScatterKernel, leave: str) -> list[str]:
    """The statement that skips an update out of bounds; none if all are in bounds."""
    if isinstance(kernel.in_bounds, Const):
        return []
    emit.count_uses([kernel.in_bounds])
    return [f"if (!({emit.value(kernel.in_bounds)})) {leave}"]


def old_elements(kernel: ScatterKernel, head: str) -> list[str]:
    return [
        f"{head}{_SPELL.value_type(carry.dtype)} {carry.name} = "
        f"{_SPELL.load(target.target.name, 'place', target.target.dtype)};"
        for carry, target in zip(kernel.carries, kernel.targets, strict=True)
    ]


def new_values(emit: Emitter, kernel: ScatterKernel) -> list[str]:
    emit.count_uses([t.value for t in kernel.targets])
    emit.floor = len(emit.scopes) - 1
    values = [emit.value(t.value) for t in kernel.targets]
    emit.floor = 0
    return values


def stores(kernel: ScatterKernel, values: Sequence[str]) -> list[str]:
    return [
        _SPELL.store(t.target.name, "place", value, t.target.dtype)
        for t, value in zip(kernel.targets, values, strict=True)
    ]


def keys_struct(parts: ScatterAxes) -> list[str]:
    """Print Lines of device/sort/sort.cuh for updates: one line of keys (targets of windows, -1 if out of bounds)."""
    kernel, emit = parts.kernel, Emitter(_SPELL)
    decoded = decode(emit, parts.positions, "at")
    start = kernel.targets[0].offset.substitute({a.symbol: const(0) for a in parts.window})
    with emit.inside(*symbols_of(parts.positions)) as scope:
        scope.lines += skip_unless(emit, kernel, "return -1;")
        scope.lines.append(f"return (idx)({emit.dim_scalar(start)});")
    pointers = [
        f"{'' if p in written(kernel) else 'const '}{_SPELL.memory_type(p.dtype)}* {p.name};" for p in kernel.params
    ]
    body = [
        "struct Item { idx key, number; };",
        *pointers,
        "Item* sorted;",
        *(f"idx {name};" for name in _size_names(parts)),
        "SHLO_DEVICE idx key(idx at) const {",
        *indented([*emit.scopes[0].lines, *decoded, *scope.lines]),
        "}",
        "SHLO_DEVICE Item load(idx, idx at) const { return Item{key(at), at}; }",
        "SHLO_DEVICE bool before(const Item& x, const Item& y) const { return x.key < y.key; }",
        "SHLO_DEVICE void store(idx, idx at, const Item& item) const { sorted[at] = item; }",
    ]
    return [f"struct {NAME}_Keys {{", *indented(body), "};"]


def _size_names(parts: ScatterAxes) -> list[str]:
    return [size_name(s) for s in parts.symbols]


def make_keys(parts: ScatterAxes, order: str) -> str:
    """Initializers of a Keys."""
    return ", ".join([*(p.name for p in parts.kernel.params), order, *_size_names(parts)])


def combine_chain(parts: ScatterAxes, emit: Emitter, following: Sequence[str]) -> list[str]:
    """Combine the updates of one target, from update `number` on, into the target's elements.

    `following` are statements that set `numbers` to the next BATCH updates and `here` to how many of them there are,
    and leave the loop if there are none. All updates of a batch are loaded before any is combined, so that their loads
    overlap and only the combinations are serialized.
    """
    kernel = parts.kernel
    pure = _independent(kernel)
    names = [f"update{k}" for k in range(len(pure))]
    kinds = [_SPELL.value_type(x.dtype) for x in pure]
    with emit.inside(*symbols_of(parts.window)) as outer:
        outer.lines += decode(emit, parts.window, "element")
        position = decode(emit, parts.positions, "number")
        with emit.inside(*symbols_of(parts.positions)) as inner:
            place = emit.dim_scalar(kernel.targets[0].offset)
            placed = [*position, *inner.lines, f"place = {place};"]
        with emit.inside(*symbols_of(parts.positions)) as inner:
            emit.count_uses(pure)
            emit.floor = len(emit.scopes) - 1
            values = [emit.value(x) for x in pure]
            emit.floor = 0
            loads = [*position, *inner.lines]
        with emit.inside(*symbols_of(parts.positions), *(c.name for c in kernel.carries)) as inner:
            inner.names.update(zip(pure, names, strict=True))
            combined = new_values(emit, kernel)
            combine = list(inner.lines)
    one = [f"{name} = {value};" for name, value in zip(names, values, strict=True)]
    declare = [f"{kind} {name};" for kind, name in zip(kinds, names, strict=True)]
    lines = [*outer.lines, "int64_t place;", "{", *indented(placed), "}", *declare]
    lines += ["{", *indented([*loads, *one]), "}"]
    if parts.overwrites:
        return [*lines, *combine, *stores(kernel, combined)]
    step = [*combine, *(f"const auto new_{c.name} = {v};" for c, v in zip(kernel.carries, combined, strict=True))]
    step += [f"{c.name} = new_{c.name};" for c in kernel.carries]
    many = [f"{name}s[k] = {value};" for name, value in zip(names, values, strict=True)]
    batch = [
        *following,
        *(f"{kind} {name}s[{BATCH}];" for kind, name in zip(kinds, names, strict=True)),
        f"SHLO_UNROLL for (int k = 0; k < {BATCH}; ++k) {{",
        *indented(["const idx number = numbers[k];", *loads, *many]),
        "}",
        f"SHLO_UNROLL for (int k = 0; k < {BATCH}; ++k) {{",
        f"{INDENT}if (k >= here) break;",
        *indented([*(f"{name} = {name}s[k];" for name in names), *step]),
        "}",
    ]
    lines += [*old_elements(kernel, ""), "{", *indented(step), "}", "for (;;) {", *indented(batch), "}"]
    return [*lines, *stores(kernel, [c.name for c in kernel.carries])]


def _independent(kernel: ScatterKernel) -> tuple[Scalar, ...]:
    """The largest parts of the new elements that do not depend on the old ones, computed when an update is loaded."""
    carries, depends = {c.name for c in kernel.carries}, Dependence()
    found, seen, stack = dict[Scalar, None](), set[Node](), list[Node]([t.value for t in kernel.targets])
    while stack:
        node = stack.pop()
        if node in seen or isinstance(node, Const | Dim):
            continue
        seen.add(node)
        if carries.intersection(depends.of(node)):
            stack.extend(children(node))
        else:
            found[as_scalar(node)] = None
    return tuple(found)
