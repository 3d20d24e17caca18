"""Sorts of lines: an item holds what the comparator reads, and its position if other arrays are permuted too."""

from __future__ import annotations

from shlo_disc.analysis.access import children
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Param, SortKernel
from shlo_disc.lower_cuda.merge_sort import (
    Sorting,
    item_layout,
    long_variant,
    print_long,
    print_short,
    short_variants,
)
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

_SPELL = CudaSpelling()
_POSITION = ("idx", "at", 8)


@record
class _Keys:
    """Members of an item: operands by number, and whether it holds its position."""

    operands: tuple[int, ...]
    position: bool


def print_sort(kernel: SortKernel, facts: Facts) -> Printed:
    """Print the variants of a sort of `outer x inner` lines; it is stable even where that is not required."""
    emit = Emitter(_SPELL)
    extent, inner = emit.dim_scalar(facts.canonical(kernel.extent)), emit.dim_scalar(facts.canonical(kernel.inner))
    lines = facts.canonical(kernel.outer * kernel.inner)
    count, keep = emit.dim_scalar(lines), emit.dim_scalar(facts.canonical(kernel.keep))
    keys = _keys(kernel)
    dtypes = [(k, kernel.comparator_arguments[2 * k].dtype) for k in keys.operands]
    fields = [(_SPELL.memory_type(dtype), f"k{k}", dtype.bytes) for k, dtype in dtypes]
    members, item_bytes = item_layout([*fields, _POSITION] if keys.position else fields)
    before, sizes = _before(kernel, keys)
    symbols = tuple(dict.fromkeys((*emit.sizes, *sizes)))
    struct, arguments = _lines_struct(kernel, keys, members, before, sizes)
    sorting = Sorting(
        params=kernel.params,
        written=kernel.outputs,
        workspaces=("items0", "items1"),
        symbols=symbols,
        lines=lines,
        extent=facts.canonical(kernel.extent),
        item_bytes=item_bytes,
        traffic=sum(p.dtype.bytes for p in kernel.outputs),
        lines_type=f"{NAME}_Lines",
        lines_text=", ".join(arguments),
        setup=(
            *emit.scopes[0].lines,
            f"const idx count = {count}, extent = {extent}, inner = {inner}, keep = min_(extent, {keep});",
        ),
        shape_text="count, extent, keep",
        items_from=0,
    )
    text = "\n".join([*struct, *print_short(sorting), *print_long(sorting)])
    size = sorting.workspace_bytes
    space: Dim = sorting.lines * sorting.extent
    return Printed(text, (*short_variants(sorting), long_variant(sorting)), (space,), (size, size))


def _keys(kernel: SortKernel) -> _Keys:
    """The operands in memory that the comparator reads; others are loaded by position, or are the position."""
    used = _arguments(kernel.comparator)
    names = [a.name for a in kernel.comparator_arguments]
    read = [k for k in range(len(kernel.inputs)) if used.intersection(names[2 * k : 2 * k + 2])]
    keys = [k for k in read if kernel.inputs[k] is not None]
    held = {kernel.inputs[k] for k in keys}
    return _Keys(tuple(keys), not keys or any(p not in held for p in kernel.inputs))


def _arguments(formula: Scalar) -> set[str]:
    """Names of the arguments that a formula reads."""
    found, stack, seen = set[str](), list[Node]([formula]), set[Node]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Arg):
            found.add(node.name)
        stack.extend(children(node))
    return found


def _before(kernel: SortKernel, keys: _Keys) -> tuple[list[str], tuple[str, ...]]:
    """Print the comparator over items x and y; also returns the sizes it reads."""
    emit = Emitter(_SPELL)
    with emit.inside(*(a.name for a in kernel.comparator_arguments)) as scope:
        for number, argument in enumerate(kernel.comparator_arguments):
            item, k = "xy"[number % 2], number // 2
            if k in keys.operands or kernel.inputs[k] is None:
                position = _SPELL.convert(f"{item}.at", DType.I64, argument.dtype)
                text = position if kernel.inputs[k] is None else loaded(f"{item}.k{k}", argument.dtype)
                scope.lines.append(f"const {_SPELL.value_type(argument.dtype)} {argument.name} = {text};")
        emit.count_uses([kernel.comparator])
        result = emit.value(kernel.comparator)
        scope.lines.append(f"return {result};")
    return [*emit.scopes[0].lines, *scope.lines], tuple(emit.sizes)


def loaded(text: str, dtype: DType) -> str:
    """The value of an element in memory."""
    return f"value({text})" if dtype.is_encoded else f"({text} != 0)" if dtype.is_bool else text


def _lines_struct(
    kernel: SortKernel, keys: _Keys, members: list[str], before: list[str], sizes: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Print the Lines of device/sort/sort.cuh; also returns its initializers."""
    first_key, load = dict[Param, int](), list[str]()
    for k in keys.operands:
        if (source := kernel.inputs[k]) is not None:
            first_key.setdefault(source, k)
            load.append(f"item.k{k} = {source.name}[from];")
    if keys.position:
        load.append("item.at = at;")
    store = list[str]()
    for source, target in zip(kernel.inputs, kernel.outputs, strict=True):
        if source is None:
            position = _SPELL.convert("item.at", DType.I64, target.dtype)
            store.append(_SPELL.store(target.name, "to", position, target.dtype))
        elif source in first_key:
            store.append(f"{target.name}[to] = item.k{first_key[source]};")
        else:
            store.append(f"{target.name}[to] = {source.name}[place(line, item.at)];")
    pointers = [
        f"{'' if p in kernel.outputs else 'const '}{_SPELL.memory_type(p.dtype)}* {p.name};" for p in kernel.params
    ]
    names = [size_name(s) for s in sizes]
    body = [
        f"struct Item {{ {' '.join(members)} }};",
        *pointers,
        *(f"idx {name};" for name in names),
        "idx extent, inner;",
        "SHLO_DEVICE idx place(idx line, idx at) const {",
        f"{INDENT}return line / inner * extent * inner + line % inner + at * inner;",
        "}",
        "SHLO_DEVICE Item load(idx line, idx at) const {",
        *([f"{INDENT}const idx from = place(line, at);"] if keys.operands else []),
        f"{INDENT}Item item;",
        *(INDENT + line for line in load),
        f"{INDENT}return item;",
        "}",
        "SHLO_DEVICE bool before(const Item& x, const Item& y) const {",
        *(INDENT + line for line in before),
        "}",
        "SHLO_DEVICE void store(idx line, idx at, const Item& item) const {",
        f"{INDENT}const idx to = place(line, at);",
        *(INDENT + line for line in store),
        "}",
    ]
    struct = [f"struct {NAME}_Lines {{", *(INDENT + line for line in body), "};"]
    return struct, [*(p.name for p in kernel.params), *names, "extent", "inner"]
