"""All kernels of a program as CUDA files; groups with equal text share one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, assert_never

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import SourceFile
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.emit.naming import NAME, blamed_on, comment, require_types, title
from shlo_disc.emit.tidy import tidy
from shlo_disc.expr.dim import Dim, Sym, of, product
from shlo_disc.fusion.group_structure import GroupStructure, group_structure
from shlo_disc.host.host_calls import host_call
from shlo_disc.host.program import GridRef, LaunchRef
from shlo_disc.host_ir import Command, GridLaunch, Variant
from shlo_disc.kernels.attention.forward import build_attention
from shlo_disc.kernels.grouped import build_grouped
from shlo_disc.kernels.groups import Abilities, Group, GroupKind, Launches, Machine
from shlo_disc.kernels.scan import build_scan
from shlo_disc.kernels.scatter import build_scatter
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.templates import (
    build_convolution,
    build_dot,
    build_sort,
    build_window_scatter,
)
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cuda.attention import ATTENTION, print_attention
from shlo_disc.lower_cuda.call_order import check_calls
from shlo_disc.lower_cuda.convolution import print_convolution
from shlo_disc.lower_cuda.grouped import print_grouped
from shlo_disc.lower_cuda.host_libraries import LIBRARIES
from shlo_disc.lower_cuda.matmul import CONTRACTIONS, print_dot
from shlo_disc.lower_cuda.parallel import build_part, print_parallel
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.products import SMALL
from shlo_disc.lower_cuda.rows.results import store_results
from shlo_disc.lower_cuda.rows.schedules import SEAMS, print_rows
from shlo_disc.lower_cuda.scan import print_scan
from shlo_disc.lower_cuda.scatter import print_scatter
from shlo_disc.lower_cuda.sort import print_sort
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.lower_cuda.window_scatter import print_window_scatter

# Bytes and additions that take as long as the 2500 cycles between two kernels (`launch_table.OVERHEAD`): each of 132
# multiprocessors moves 20 bytes or adds 128 numbers per cycle. Rounded down to powers of two.
_LAUNCHES = Launches(frozenset({GroupKind.ROWS}), 1 << 22, 1 << 25)

# H100 SXM5, by NVIDIA's data sheet (2023): 67 TFLOPS in f32 are 3.35e13 multiply-adds per s, memory moves 3.35e12 bytes
# per s. By its architecture white paper (2022): 132 multiprocessors, with 227 KiB of shared memory each. Assumptions of
# ours: 4 blocks per multiprocessor, which have 56 KiB each and use half of it, and 3 us per launch.
H100 = Machine(additions_per_byte=10, launch=1e8, workers=4 * 132, row_bytes=1 << 15, short_row=1.9e5)


class CudaLowering:
    """Lowers groups one by one, and collects their text."""

    abilities: ClassVar[Abilities] = Abilities(
        contractions=CONTRACTIONS,
        grouped=CONTRACTIONS,
        convolutions=CONTRACTIONS,
        attention=ATTENTION,
        parallel=_LAUNCHES,
        prologues=True,
        product_tile=SMALL.rows,
        machine=H100,
    )

    def __init__(self, program: Program, producers: Producers) -> None:
        require_types(program, CudaSpelling.memory, "CUDA")
        self.facts, self.producers = program.facts, producers
        self.texts = dict[str, str]()  # text, with NAME in place of its name -> name
        self.comments = dict[str, str]()
        self._known = dict[Hashable, tuple[Printed, tuple[Tensor, ...], GroupStructure]]()

    def lower(self, group: Group) -> LaunchRef:
        """Print the kernels of a group, or reuse those of a group with the same structure or the same text."""
        if (call := host_call(group, LIBRARIES)) is not None:
            return call
        printed, tensors = self._printed(group)
        if (name := self.texts.get(printed.text)) is None:
            name = self.texts[printed.text] = f"{title(group)}_{len(self.texts)}"
            self.comments[name] = comment(group)
        variants = tuple(_named(v, name) for v in printed.variants)
        sizes = [of(Sym(s)) for v in variants for c in v.commands if isinstance(c, GridLaunch) for s in c.symbols]
        spaces = dict.fromkeys((*printed.spaces, *(product(t.shape) for t in tensors), *sizes))
        return GridRef(name, tensors, printed.workspaces, variants, tuple(spaces), printed.in_place)

    def _printed(self, group: Group) -> tuple[Printed, tuple[Tensor, ...]]:
        structure = group_structure(group, self.producers)
        if (known := self._known.get(structure.key)) is None:
            with blamed_on(group):
                printed, tensors = self._print(group)
                check_calls(printed, tensors, group.roots)
            printed = replace(printed, text="\n".join(tidy(printed.text.split("\n"))))
            self._known[structure.key] = printed, tensors, structure
            return printed, tensors
        printed, tensors, other = known
        return printed, other.renamed(tensors, structure)

    def _print(self, group: Group) -> tuple[Printed, tuple[Tensor, ...]]:
        facts, producers = self.facts, self.producers
        match group.kind:
            case GroupKind.ROWS:
                rows, tensors = verified(build_row_kernel(group, facts, producers, SEAMS), group)
                return print_rows(store_results(rows), facts), tensors
            case GroupKind.GROUPED_DOT:
                grouped, tensors = verified(build_grouped(group, facts, producers), group)
                return print_grouped(grouped, facts), tensors
            case GroupKind.DOT:
                dot, tensors = verified(build_dot(group, facts, producers), group)
                return print_dot(dot, facts), tensors
            case GroupKind.CONVOLUTION:
                convolution, tensors = verified(build_convolution(group, facts, producers), group)
                return print_convolution(convolution, facts), tensors
            case GroupKind.ATTENTION:
                attention, tensors = verified(build_attention(group, facts, producers), group)
                return print_attention(attention), tensors
            case GroupKind.SORT:
                sort, tensors = verified(build_sort(group, facts, producers), group)
                return print_sort(sort, facts), tensors
            case GroupKind.SCATTER:
                scatter, tensors = verified(build_scatter(group, facts, producers), group)
                return print_scatter(scatter, facts), tensors
            case GroupKind.WINDOW_SCATTER:
                window, tensors = verified(build_window_scatter(group, facts, producers), group)
                return print_window_scatter(window, facts), tensors
            case GroupKind.SCAN:
                scan, tensors = verified(build_scan(group, facts, producers), group)
                return print_scan(scan, facts), tensors
            case GroupKind.PARALLEL:
                built = [verified(build_row_kernel(part, facts, producers, SEAMS), part) for part in group.parts]
                return print_parallel([build_part(store_results(r), tensors, facts) for r, tensors in built], facts)
            case GroupKind.WHILE | GroupKind.CASE | GroupKind.LIBRARY | GroupKind.ATTENTION_BACKWARD:
                raise AssertionError(f"no kernel is a {group.kind.value}")
            case _:
                assert_never(group.kind)

    def sources(self, _most: int = 0) -> tuple[SourceFile, ...]:
        """One file per group: NVRTC compiles them in parallel, and the prelude costs each only 10 ms."""
        return tuple(
            SourceFile(name, f'#include "call/shlo.cuh"\n\n{self.comments[name]}\n{text.replace(NAME, name)}\n')
            for text, name in self.texts.items()
        )


def _named(variant: Variant[Dim], name: str) -> Variant[Dim]:
    calls: tuple[Command[Dim], ...] = tuple(
        replace(c, kernel=c.kernel.replace(NAME, name)) if isinstance(c, GridLaunch) else c for c in variant.commands
    )
    return replace(variant, commands=calls)
