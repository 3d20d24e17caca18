"""Sorts as C++: by keys if the comparator is an order of keys, else of a permutation by the comparator itself."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.scalar import Arg
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Param, SortKernel
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.sort_keys import SortKey, sort_keys
from shlo_disc.kernels.templates import build_sort
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.serial import indented, pointers
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody
from shlo_disc.lower_cpu.work import sort_work

_SPELL = VectorSpelling()


def lower_sort(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task sorts one line."""
    kernel, tensors = verified(build_sort(group, context.facts, context.producers), group)
    extent, scratch = kernel.outer * kernel.inner, sort_scratch(kernel)
    return LoweredGroup(print_sort(kernel), tensors, extent, sort_work(kernel), scratch)


def sort_scratch(kernel: SortKernel) -> Dim:
    """Bytes of private memory: two permutations of a line, or its keys twice, each with its payload."""
    return kernel.extent * (32 if _width(sort_keys(kernel)) == 64 else 16) + 64


def print_sort(kernel: SortKernel) -> KernelBody:
    """Each task is one line."""
    emit, keys = Emitter(_SPELL), sort_keys(kernel)
    declared = pointers(kernel.params, kernel.outputs)
    keyed, compared = _by_keys(kernel, keys, emit), _by_comparator(kernel, emit)
    if keyed and _width(keys) == 32:  # a position has only as many bits as a key
        body = ["if (length >> 32) {", *indented(compared), "} else {", *indented(keyed), "}"]
    else:
        body = keyed or compared
    lines = [
        f"const int64_t length = {emit.dim_scalar(kernel.extent)}, inner = {emit.dim_scalar(kernel.inner)};",
        "for (int64_t line = begin; line < end; ++line) {",
        f"{INDENT}const int64_t base = line / inner * length * inner + line % inner;",
        *indented(body),
        "}",
    ]
    return KernelBody((), (*declared, *emit.scopes[0].lines, *lines), tuple(emit.sizes))


def _width(keys: Sequence[SortKey]) -> int:
    """Bits of a key and of its payload."""
    return 64 if any(key.value.dtype.bits == 64 for key in keys) else 32


def _arguments(kernel: SortKernel, arguments: Sequence[Arg]) -> list[str]:
    """Declare arguments of the comparator: first elements are at position x, second ones at y."""
    lines = list[str]()
    numbers = {argument: number for number, argument in enumerate(kernel.comparator_arguments)}
    for argument in arguments:
        number = numbers[argument]
        source, at = kernel.inputs[number // 2], "xy"[number % 2]
        if source is None:
            text = _SPELL.convert(at, DType.I64, argument.dtype)
        else:
            text = _SPELL.load(source.name, f"base + {at} * inner", source.dtype)
        lines.append(f"const {_SPELL.value_type(argument.dtype)} {argument.name} = {text};")
    return lines


def _by_comparator(kernel: SortKernel, emit: Emitter) -> list[str]:
    """Sort a permutation, then move every array."""
    call = "merge_sort(order, order + length, length" if kernel.stable else "intro_sort(order, length"
    names = [a.name for a in kernel.comparator_arguments]
    with emit.inside(*names) as scope:
        scope.lines += _arguments(kernel, kernel.comparator_arguments)
        emit.count_uses([kernel.comparator])
        result = emit.value(kernel.comparator)
        scope.lines.append(f"return (bool)({result});")
    return [
        "int64_t* const order = (int64_t*)scratch;",
        "for (int64_t i = 0; i < length; ++i) order[i] = i;",
        f"{call}, [&](const int64_t x, const int64_t y) {{",
        *indented(scope.lines),
        "});",
        *_moves(kernel, "length", "order[i]"),
    ]


def _moves(kernel: SortKernel, count: str, position: str) -> list[str]:
    """Store the first `count` elements of every result: those that were at `position`."""
    lines = list[str]()
    for source, target in zip(kernel.inputs, kernel.outputs, strict=True):
        if source is None:
            value = _SPELL.convert(position, DType.I64, target.dtype)
            moved = _SPELL.store(target.name, "(base + i * inner)", value, target.dtype)
        else:
            moved = f"{target.name}[base + i * inner] = {source.name}[base + {position} * inner];"
        lines.append(f"for (int64_t i = 0; i < {count}; ++i) {moved}")
    return lines


def _by_keys(kernel: SortKernel, keys: Sequence[SortKey], emit: Emitter) -> list[str]:
    """Sort by the keys; nothing if there are none, or several in an unstable sort."""
    if not keys or (len(keys) > 1 and not kernel.stable):
        return []
    bits = _width(keys)
    kind, ranked = f"uint{bits}_t", f"Ranked<uint{bits}_t>"
    lines = [line for number, key in enumerate(keys) for line in _key(kernel, key, number, kind, emit)]
    lines.append(f"{ranked}* const all = ({ranked}*)scratch;")
    if len(keys) == 1 and kernel.stable and kernel.keep != kernel.extent:
        return [
            *lines,
            f"const int64_t keep = min_(length, {emit.dim_scalar(kernel.keep)});",
            f"{ranked}* const sorted = first_ranked(all, all + length, length, keep, key0);",
            *_moves(kernel, "keep", "(int64_t)sorted[i].what"),
        ]
    travels = _travels(kernel, bits)
    what = f"pick_up<{kind}>({travels[0].name} + base + i * inner)" if travels else f"({kind})i"
    last = len(keys) - 1
    lines.append(f"for (int64_t i = 0; i < length; ++i) all[i] = {{key{last}(i), {what}}};")
    if kernel.stable or (travels and isinstance(keys[0].value, Arg)):  # equal keys are identical elements
        lines.append(f"{ranked}* sorted = sort_ranked(all, all + length, length);")
    else:
        before = f"[](const {ranked}& x, const {ranked}& y) {{ return x.key < y.key; }}"
        lines += [f"{ranked}* const sorted = all;", f"intro_sort(all, length, {before});"]
    for number in range(last - 1, -1, -1):
        lines += [
            f"for (int64_t i = 0; i < length; ++i) sorted[i].key = key{number}((int64_t)sorted[i].what);",
            "sorted = sort_ranked(sorted, sorted == all ? all + length : all, length);",
        ]
    if travels:
        put = f"put_down({travels[1].name} + base + i * inner, sorted[i].what);"
        return [*lines, f"for (int64_t i = 0; i < length; ++i) {put}"]
    return [*lines, *_moves(kernel, "length", "(int64_t)sorted[i].what")]


def _travels(kernel: SortKernel, bits: int) -> tuple[Param, Param] | None:
    """The only input and its output, if the payload of a key is its element; None if it is its position."""
    source, target = kernel.inputs[0], kernel.outputs[0]
    if len(kernel.inputs) > 1 or source is None or 8 * source.dtype.bytes > bits:
        return None
    return source, target


def _key(kernel: SortKernel, key: SortKey, number: int, kind: str, emit: Emitter) -> list[str]:
    """A lambda from a position along the line to its key."""
    arguments = [a for a in kernel.comparator_arguments if a in nodes_of([key.value])]
    with emit.inside(*(a.name for a in arguments)) as scope:
        scope.lines += _arguments(kernel, arguments)
        emit.count_uses([key.value])
        value = f"order_key({emit.value(key.value)})"
        flipped = f"~({kind}){value}" if key.descending else value
        scope.lines.append(f"return ({kind}){flipped};")
    return [f"const auto key{number} = [&](const int64_t x) {{", *indented(scope.lines), "};"]
