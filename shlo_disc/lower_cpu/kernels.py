"""Lowering to C++: each group becomes a kernel and the description of its launch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, assert_never

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import SourceFile
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.naming import blamed_on, comment, require_types, title
from shlo_disc.fusion.group_structure import GroupStructure, group_structure
from shlo_disc.host.host_calls import host_call
from shlo_disc.host.loop_invariant import LoopInvariant
from shlo_disc.host.program import KernelRef, LaunchRef, PackRef
from shlo_disc.host_ir import Launch
from shlo_disc.kernels.groups import Abilities, Group, GroupKind, Launches
from shlo_disc.lower_cpu.attention.backward import lower_backward
from shlo_disc.lower_cpu.attention.forward import ATTENTION, lower_attention
from shlo_disc.lower_cpu.convolutions import CONVOLUTIONS, WHOLE_CONVOLUTIONS, lower_convolution
from shlo_disc.lower_cpu.lapack import LIBRARIES, lower_lapack
from shlo_disc.lower_cpu.lowered import LoweredGroup, PrintedKernel
from shlo_disc.lower_cpu.lowering_context import LoweringContext, ScheduleSymbols
from shlo_disc.lower_cpu.parallel import lower_parallel, with_parts
from shlo_disc.lower_cpu.products import packing
from shlo_disc.lower_cpu.products.grouped import GROUPED, lower_grouped
from shlo_disc.lower_cpu.products.lowering import lower_product
from shlo_disc.lower_cpu.products.multiplication import MULTIPLIED
from shlo_disc.lower_cpu.row_forms import lower_rows
from shlo_disc.lower_cpu.scan import lower_scan
from shlo_disc.lower_cpu.scatter import lower_scatter
from shlo_disc.lower_cpu.serial import lower_window_scatter
from shlo_disc.lower_cpu.sort import lower_sort
from shlo_disc.lower_cpu.source_files import SourceFiles
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.work import DESKTOP, WORK_PER_THREAD
from shlo_disc.schedules.tables import UNKNOWN, Scheduling

# A parallel launch costs 0.25 us where all threads spin (two cores of a Zen 4), in which one core moves 2^15 bytes.
# Horizontal fusion pays for groups of up to four times that: the launch is still a fifth of their time.
_LAUNCHES = Launches(frozenset({GroupKind.ROWS, GroupKind.DOT, GroupKind.SCAN}), 1 << 17, WORK_PER_THREAD)

_PACKED = (GroupKind.DOT, GroupKind.GROUPED_DOT, GroupKind.CONVOLUTION)  # kernels that may read prepacked operands


class CpuLowering:
    """Lowers groups one by one, and collects the printed kernels."""

    abilities: ClassVar[Abilities] = Abilities(
        contractions=MULTIPLIED,
        grouped=GROUPED,
        convolutions=CONVOLUTIONS,
        whole_convolutions=WHOLE_CONVOLUTIONS,
        batch_groups=True,
        attention=ATTENTION,
        parallel=_LAUNCHES,
        prologues=True,
        machine=DESKTOP,
    )

    def __init__(self, program: Program, producers: Producers, scheduling: Scheduling = UNKNOWN) -> None:
        require_types(program, VectorSpelling.memory, "CPU")
        invariant = LoopInvariant(program)
        self._context = LoweringContext(program.facts, producers, scheduling, invariant, ScheduleSymbols(program))
        self._source_files = SourceFiles()
        self._known = dict[Hashable, tuple[PrintedKernel, GroupStructure]]()

    def lower(self, group: Group) -> LaunchRef:
        """Print the kernel of a group, or reuse that of a group of the same structure, or with the same text."""
        if (call := host_call(group, LIBRARIES)) is not None:
            return call
        if group.kind is GroupKind.PARALLEL:
            parts = [self._part(part, alone=False) for part in group.parts]
            return with_parts(self._named(group, lower_parallel(parts)).kernel, parts)
        return self._part(group, alone=True).kernel

    def _part(self, group: Group, *, alone: bool) -> PrintedKernel:
        """Lower one kernel; if it is `alone` in its launch, it may launch parallel loops itself."""
        structure = group_structure(group, self._context.producers)
        may_pack = group.kind in _PACKED
        invariant = tuple(self._context.loop_invariant.among(structure.tensors, group)) if may_pack else ()
        key = structure.key, alone, invariant
        if (known := self._known.get(key)) is None:
            with blamed_on(group):
                part = self._named(group, self._print(group, alone=alone))
            self._known[key] = part, structure
            return part
        part, other = known
        return replace(part, kernel=replace(part.kernel, tensors=other.renamed(part.kernel.tensors, structure)))

    def _print(self, group: Group, *, alone: bool) -> LoweredGroup:
        """Print a group by the template of its kind."""
        context = self._context
        match group.kind:
            case GroupKind.ROWS:
                return lower_rows(group, context, alone=alone)
            case GroupKind.DOT:
                return lower_product(group, context)
            case GroupKind.GROUPED_DOT:
                return lower_grouped(group, context)
            case GroupKind.CONVOLUTION:
                return lower_convolution(group, context)
            case GroupKind.SORT:
                return lower_sort(group, context)
            case GroupKind.SCATTER:
                return lower_scatter(group, context)
            case GroupKind.WINDOW_SCATTER:
                return lower_window_scatter(group, context)
            case GroupKind.SCAN:
                return lower_scan(group, context)
            case GroupKind.LIBRARY:
                return lower_lapack(group)
            case GroupKind.ATTENTION:
                return lower_attention(group, context)
            case GroupKind.ATTENTION_BACKWARD:
                return lower_backward(group, context)
            case GroupKind.PARALLEL | GroupKind.WHILE | GroupKind.CASE:
                raise AssertionError(f"no kernel is a {group.kind.value}")
            case _:
                assert_never(group.kind)

    def _named(self, group: Group, lowered: LoweredGroup) -> PrintedKernel:
        """Give a kernel its name, and the one that packs its operand, if any."""
        body, packs = lowered.body, lowered.body.title == packing.TITLE
        name = self._source_files.add(body, body.title or title(group), comment(group, packs=packs))
        launch = Launch(
            name, (), body.sizes, lowered.extent, lowered.grain, lowered.scratch, selections=lowered.selections
        )
        kernel = KernelRef(
            launch,
            lowered.tensors,
            lowered.in_place,
            lowered.workspaces,
            self._packs(group, lowered),
            lowered.definitions,
            lowered.division,
        )
        return PrintedKernel(kernel, lowered.task_work)

    def _packs(self, group: Group, lowered: LoweredGroup) -> tuple[PackRef, ...]:
        if (pack := lowered.packing) is None:
            return ()
        kernel = self._named(group, pack.kernel).kernel
        return (PackRef(kernel, pack.sources, pack.replaced, pack.size, pack.worth),)

    def sources(self, most: int) -> tuple[SourceFile, ...]:
        """The kernels in up to `most` files, to be compiled in parallel."""
        return self._source_files.files(most)
