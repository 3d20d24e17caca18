"""Horizontal fusion: several kernels in one launch, whose range counts units of work, so that tasks cost alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ONE, Dim, maximum, total
from shlo_disc.host.program import KernelRef, PackRef
from shlo_disc.lower_cpu.lowered import LoweredGroup, PrintedKernel
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody, declaration


def lower_parallel(parts: Sequence[PrintedKernel]) -> LoweredGroup:
    """A task is a unit of work of one part."""
    tensors = tuple(t for part in parts for t in part.kernel.tensors)
    scratch = maximum(*(part.kernel.launch.scratch for part in parts))
    return LoweredGroup(print_parallel(parts), tensors, parallel_extent(parts), ONE, scratch)


def with_parts(launched: KernelRef, parts: Sequence[PrintedKernel]) -> KernelRef:
    """The kernel that calls the parts, with the symbols, packed operands and pairs in place of all of them."""
    kernels, tensors = [part.kernel for part in parts], launched.tensors
    pairs, packs, start = list[tuple[int, int]](), list[PackRef](), 0
    for kernel in kernels:
        pairs += [(start + a, start + b) for a, b in kernel.in_place if tensors.count(kernel.tensors[a]) == 1]
        packs += [pack.moved(start) for pack in kernel.packs]
        start += len(kernel.tensors)
    launch = replace(
        launched.launch,
        symbols=(*launched.launch.symbols, *(s for kernel in kernels for s in kernel.launch.symbols)),
        selections=tuple(one for kernel in kernels for one in kernel.launch.selections),
    )
    definitions = tuple(dict.fromkeys(one for kernel in kernels for one in kernel.definitions))
    return replace(launched, launch=launch, in_place=tuple(pairs), packs=tuple(packs), definitions=definitions)


def parallel_extent(parts: Sequence[PrintedKernel]) -> Dim:
    """The total work of all parts."""
    return total(part.kernel.launch.extent * part.work for part in parts)


def print_parallel(parts: Sequence[PrintedKernel]) -> KernelBody:
    """A table of the parts, over which a prelude function loops; each has its own slice of the buffers and sizes.

    A task that covers the whole range calls the parts directly, in order, so that a compiler may inline them. It must
    not know that they begin at 0: what it computes of indices alone is rounded otherwise than on the CPU.
    """
    emit = Emitter(VectorSpelling())
    counts = [(emit.dim_scalar(part.kernel.launch.extent), emit.dim_scalar(part.work)) for part in parts]
    rows, whole, buffers, sizes = list[str](), list[str](), 0, len(emit.sizes)
    own, order = ("own", _runs(parts)) if any(part.kernel.packs for part in parts) else ("buffers", ())
    for part, (extent, work) in zip(parts, counts, strict=True):
        rows.append(f"{INDENT}{{{part.kernel.name}, {buffers}, {sizes}, {extent}, {work}}},")
        call = f"{part.kernel.name}(runtime, {own} + {buffers}, dims + {sizes}, first, {extent}, scratch);"
        whole.append(call if part.kernel.launch.extent.constant else f"if ({extent} > 0) {call}")
        buffers += len(part.kernel.tensors) + len(part.kernel.packs)
        sizes += len(part.kernel.launch.symbols)
    names = dict.fromkeys(part.kernel.name for part in parts)
    declared = tuple(declaration(name) for name in names)
    everything = emit.dim_scalar(parallel_extent(parts))
    statements = [
        *emit.scopes[0].lines,
        *([f"void* const own[] = {{{', '.join(order)}}};"] if order else ()),
        f"if (begin <= 0 && end >= {everything}) {{",
        f"{INDENT}const int64_t first = unknown(0);",
        *(INDENT + call for call in whole),
        f"{INDENT}return;",
        "}",
        "const ShloPart parts[] = {",
        *rows,
        "};",
        f"run_parts(runtime, parts, {len(parts)}, {own}, dims, begin, end, scratch);",
    ]
    return KernelBody(declared, tuple(statements), tuple(emit.sizes))


def _runs(parts: Sequence[PrintedKernel]) -> tuple[str, ...]:
    """The buffers in the order of the parts; in the launch, the tensors of all parts precede all packed operands."""
    found, tensor, packed = list[str](), 0, sum(len(part.kernel.tensors) for part in parts)
    for part in parts:
        kernel = part.kernel
        found += [f"buffers[{k}]" for k in range(tensor, tensor + len(kernel.tensors))]
        found += [f"buffers[{k}]" for k in range(packed, packed + len(kernel.packs))]
        tensor, packed = tensor + len(kernel.tensors), packed + len(kernel.packs)
    return tuple(found)
