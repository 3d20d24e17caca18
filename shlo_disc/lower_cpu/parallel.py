"""Horizontal fusion: several kernels in one launch, whose range counts units of work, so that tasks cost alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, total
from shlo_disc.host.program import InPlace, KernelRef
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody, declaration


@dataclass(frozen=True, slots=True)
class PrintedKernel:
    """A kernel, and the cost of one task in additions: at least 1, as an empty sum is stored too."""

    kernel: KernelRef
    work: Dim

    def sharing(self, pairs: InPlace) -> PrintedKernel:
        """The kernel with `pairs` of operands and results that may share memory."""
        return replace(self, kernel=replace(self.kernel, in_place=pairs))


def parallel_extent(parts: Sequence[PrintedKernel]) -> Dim:
    """The total work of all parts."""
    return total(part.kernel.launch.extent * part.work for part in parts)


def print_parallel(parts: Sequence[PrintedKernel]) -> KernelBody:
    """A table of the parts, over which a prelude function loops; each has its own slice of the buffers and sizes.

    A task that covers the whole range calls the parts directly, in order, so that a compiler may inline them.
    """
    emit = Emitter(VectorSpelling())
    counts = [(emit.dim_scalar(part.kernel.launch.extent), emit.dim_scalar(part.work)) for part in parts]
    rows, whole, buffers, sizes = list[str](), list[str](), 0, len(emit.sizes)
    own, order = ("own", _runs(parts)) if any(part.kernel.packs for part in parts) else ("buffers", ())
    for part, (extent, work) in zip(parts, counts, strict=True):
        rows.append(f"{INDENT}{{{part.kernel.name}, {buffers}, {sizes}, {extent}, {work}}},")
        call = f"{part.kernel.name}(runtime, {own} + {buffers}, dims + {sizes}, 0, {extent}, scratch);"
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
