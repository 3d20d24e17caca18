"""Lowering to C++: each group becomes a kernel and the description of its launch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, assert_never

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import SourceFile
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.emit.naming import NAME, blamed_on, comment, require_types, title
from shlo_disc.expr.dim import Dim, Sym, const, maximum, of
from shlo_disc.fusion.group_structure import GroupStructure, group_structure
from shlo_disc.host.division import Division, ElementAccess, product_accesses, row_accesses, row_line
from shlo_disc.host.host_calls import host_call
from shlo_disc.host.loop_invariant import LoopInvariant
from shlo_disc.host.program import KernelRef, LaunchRef, PackRef
from shlo_disc.host_ir import Launch
from shlo_disc.kernels.attention.backward import build_backward
from shlo_disc.kernels.attention.forward import build_attention
from shlo_disc.kernels.contraction import product_types
from shlo_disc.kernels.groups import Abilities, Group, GroupKind, Launches
from shlo_disc.kernels.inplace import epilogue_pairs, positions, row_pairs, scatter_pairs
from shlo_disc.kernels.kernel import ConvKernel, DotKernel
from shlo_disc.kernels.scan import build_scan
from shlo_disc.kernels.scatter import build_scatter
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.templates import build_convolution, build_dot, build_sort, build_window_scatter
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu import (
    convolutions,
    cooperative_reduction,
    lapack,
    packed_transpose,
    rows,
    scan,
    serial,
    transposed,
)
from shlo_disc.lower_cpu import scatter as scatters
from shlo_disc.lower_cpu import sort as sorts
from shlo_disc.lower_cpu.attention import backward as attention_backward
from shlo_disc.lower_cpu.attention import forward as attention
from shlo_disc.lower_cpu.lapack import LIBRARIES
from shlo_disc.lower_cpu.parallel import PrintedKernel, parallel_extent, print_parallel
from shlo_disc.lower_cpu.products import blocks as products
from shlo_disc.lower_cpu.products import packing
from shlo_disc.lower_cpu.products.multiplication import MULTIPLIED, Multiplication, multiplication
from shlo_disc.lower_cpu.products.selection import select
from shlo_disc.lower_cpu.row_forms import RowForms
from shlo_disc.lower_cpu.source_files import SourceFiles
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody
from shlo_disc.lower_cpu.work import DESKTOP, WORK_PER_THREAD, effort, product_work, scan_work, sort_work
from shlo_disc.schedules.tables import UNKNOWN, Scheduling

# A parallel launch costs 0.25 us where all threads spin (two cores of a Zen 4), in which one core moves 2^15 bytes.
# Horizontal fusion pays for groups of up to four times that: the launch is still a fifth of their time.
_LAUNCHES = Launches(frozenset({GroupKind.ROWS, GroupKind.DOT, GroupKind.SCAN}), 1 << 17, WORK_PER_THREAD)

_PACKED = (GroupKind.DOT, GroupKind.CONVOLUTION)  # kernels that may read prepacked operands


class CpuLowering:
    """Lowers groups one by one, and collects the printed kernels."""

    abilities: ClassVar[Abilities] = Abilities(
        contractions=MULTIPLIED,
        convolutions=convolutions.CONVOLUTIONS,
        whole_convolutions=convolutions.WHOLE_CONVOLUTIONS,
        batch_groups=True,
        attention=attention.ATTENTION,
        parallel=_LAUNCHES,
        prologues=True,
        machine=DESKTOP,
    )

    def __init__(self, program: Program, producers: Producers, scheduling: Scheduling = UNKNOWN) -> None:
        require_types(program, VectorSpelling.memory, "CPU")
        self.scheduling = scheduling
        self.decisions = dict[Dim, Sym]()  # a formula that selects a schedule -> its symbol
        self.names = {symbol.name for symbol in (*program.given, *(s for s, _ in program.definitions))}
        self.facts, self.producers = program.facts, producers
        self.loop_invariant = LoopInvariant(program)
        self.source_files = SourceFiles()
        self._parts = dict[Hashable, tuple[PrintedKernel, GroupStructure]]()

    def lower(self, group: Group) -> LaunchRef:
        """Print the kernel of a group, or reuse that of a group of the same structure, or with the same text."""
        if (call := host_call(group, LIBRARIES)) is not None:
            return call
        made = self._parallel(group) if group.kind is GroupKind.PARALLEL else self._part(group, alone=True)
        return made.kernel

    def _parallel(self, group: Group) -> PrintedKernel:
        parts = [self._part(part, alone=False) for part in group.parts]
        kernels = [part.kernel for part in parts]
        scratch = maximum(*(kernel.launch.scratch for kernel in kernels))
        tensors = tuple(t for kernel in kernels for t in kernel.tensors)
        body = print_parallel(parts)
        made = self._ref(group, body, tensors, parallel_extent(parts), const(1), scratch)
        symbols = (*made.kernel.launch.symbols, *(s for kernel in kernels for s in kernel.launch.symbols))
        definitions = tuple(dict.fromkeys(one for kernel in kernels for one in kernel.definitions))
        selections = tuple(one for kernel in kernels for one in kernel.launch.selections)
        pairs, packs, start = list[tuple[int, int]](), list[PackRef](), 0
        for kernel in kernels:
            pairs += [(start + a, start + b) for a, b in kernel.in_place if tensors.count(kernel.tensors[a]) == 1]
            packs += [pack.moved(start) for pack in kernel.packs]
            start += len(kernel.tensors)
        launch = replace(made.kernel.launch, symbols=symbols, selections=selections)
        kernel = replace(made.kernel, launch=launch, packs=tuple(packs), definitions=definitions)
        return replace(made, kernel=kernel).sharing(tuple(pairs))

    def _part(self, group: Group, *, alone: bool) -> PrintedKernel:
        """Lower one kernel; if it is `alone` in its launch, it may launch parallel loops itself."""
        structure = group_structure(group, self.producers)
        invariant = tuple(self.loop_invariant.among(structure.tensors, group)) if group.kind in _PACKED else ()
        key = structure.key, alone, invariant
        if (known := self._parts.get(key)) is None:
            with blamed_on(group):
                part = self._print(group, alone=alone)
            self._parts[key] = part, structure
            return part
        part, other = known
        return replace(part, kernel=replace(part.kernel, tensors=other.renamed(part.kernel.tensors, structure)))

    def _print(self, group: Group, *, alone: bool) -> PrintedKernel:
        match group.kind:
            case GroupKind.ROWS:
                return self._rows(group, alone=alone)
            case GroupKind.DOT:
                assert group.anchor is not None, "a product has its op"
                assert isinstance(group.anchor.attrs, DotAttrs), "the op of a product is a dot"
                kind = multiplication(product_types(group.anchor), group.anchor.attrs.precision)
                assert kind is not None, "fusion makes a product only of types that there is a kernel for"
                dot, tensors = verified(build_dot(group, self.facts, self.producers, kind.read_as), group)
                return self._product(group, products.read_transposed(dot), tensors, kind)
            case GroupKind.CONVOLUTION:
                return self._convolution(group)
            case GroupKind.SORT:
                sort, tensors = verified(build_sort(group, self.facts, self.producers), group)
                body, scratch = sorts.print_sort(sort), sorts.sort_scratch(sort)
                return self._ref(group, body, tensors, sort.outer * sort.inner, sort_work(sort), scratch)
            case GroupKind.SCATTER:
                scatter, tensors = verified(build_scatter(group, self.facts, self.producers), group)
                extent, grain = scatters.scatter_extent(scatter), scatters.scatter_grain(scatter, WORK_PER_THREAD)
                part = self._ref(group, scatters.print_scatter(scatter), tensors, extent, const(1), const(0))
                part = part.sharing(positions(scatter_pairs(scatter), scatter.params))
                return replace(part, kernel=replace(part.kernel, launch=replace(part.kernel.launch, grain=grain)))
            case GroupKind.WINDOW_SCATTER:
                window, tensors = verified(build_window_scatter(group, self.facts, self.producers), group)
                body = serial.print_window_scatter(window)
                return self._ref(group, body, tensors, const(1), const(1), const(0))
            case GroupKind.SCAN:
                found, tensors = verified(build_scan(group, self.facts, self.producers), group)
                extent, work = scan.scan_extent(found), scan_work(found, scan.SIDE_BY_SIDE)
                return self._ref(group, scan.print_scan(found), tensors, extent, work, const(0))
            case GroupKind.LIBRARY:
                return self._lapack(group)
            case GroupKind.ATTENTION:
                return self._attention(group)
            case GroupKind.ATTENTION_BACKWARD:
                backward, tensors = verified(build_backward(group, self.facts, self.producers), group)
                body = attention_backward.print_backward(backward, NAME)
                extent, work = attention_backward.backward_extent(backward), attention_backward.backward_work(backward)
                return self._ref(group, body, tensors, extent, work, attention_backward.backward_scratch(backward))
            case GroupKind.PARALLEL | GroupKind.WHILE | GroupKind.CASE:
                raise AssertionError(f"no kernel is a {group.kind.value}")
            case _:
                assert_never(group.kind)

    def _convolution(self, group: Group) -> PrintedKernel:
        """Lower a convolution, whose weights may be prepacked."""
        conv, tensors = verified(build_convolution(group, self.facts, self.producers), group)
        operand = convolutions.packed_weights(conv, self.loop_invariant.among(tensors, group))
        body = convolutions.print_convolution(conv, NAME, self.facts, packed=operand is not None)
        extent, scratch = convolutions.convolution_extent(conv), convolutions.convolution_scratch(conv)
        part = self._ref(group, body, tensors, extent, convolutions.convolution_work(conv), scratch)
        part = part.sharing(positions(epilogue_pairs(conv), conv.params))
        if operand is None:
            return part
        return self._packing(group, part, conv, operand, convolutions.print_packing(conv))

    def _rows(self, group: Group, *, alone: bool) -> PrintedKernel:
        printers = RowForms(group, self.facts, self.producers)
        kernel, tensors = printers.kernel()
        if (blocks := transposed.tiled(kernel)) is not None:
            statements, sizes = transposed.TiledPrinter(blocks).lines()
            body = KernelBody((), tuple(statements), sizes)
            return self._ref(
                group, body, tensors, blocks.extent, blocks.task_elements * effort(group, kernel), const(0)
            )
        if alone and not kernel.rows and (shared := self._cooperative(group)) is not None:
            return shared
        if not rows.moves(kernel) and (blocked := packed_transpose.with_packed_loads(kernel)) is not None:
            body, work = (
                packed_transpose.print_packed(blocked),
                rows.task_elements(kernel) * LANES * effort(group, kernel),
            )
            part = self._ref(group, body, tensors, blocked.extent, work, blocked.places[-1])
            return part.sharing(positions(row_pairs(kernel), kernel.params))
        forms = printers.forms(kernel)
        statements, sizes = rows.by_length(forms)
        body = KernelBody((), tuple(statements), sizes)
        work = rows.task_elements(kernel) * effort(group, kernel)
        scratch = maximum(*(rows.scratch_bytes(form.printer.kernel) for form in forms))
        part = self._ref(group, body, tensors, rows.extent(kernel), work, scratch)
        part = part.sharing(positions(rows.shared_pairs(forms), kernel.params))
        if not kernel.rows and not (rows.is_flat(kernel) and len(kernel.stages) == 1):
            return part
        return self._divided(part, *row_line(kernel), row_accesses(kernel))

    def _product(
        self, group: Group, dot: DotKernel, tensors: tuple[Tensor, ...], kind: Multiplication
    ) -> PrintedKernel:
        """Lower a product, under the schedule that its sizes select."""
        definitions = dict[Sym, Dim]()

        def name(formula: Dim) -> Dim:
            size, found = self._named(formula)
            definitions.update(found)
            return size

        chosen = select(dot, kind, self.scheduling, name)
        operand = packing.packed_operand(dot, kind, self.loop_invariant.among(tensors, group))
        blocks = products.blocks_of(dot, chosen, is_packed=operand is not None)
        block: Sym | None = None
        if products.is_by_rows(dot):
            block = self._symbol(blocks.rows)
            definitions[block], blocks = blocks.rows, replace(blocks, rows=of(block))
        body = products.print_dot(dot, kind, NAME, blocks, self.facts)
        work = product_work(dot, blocks.rows, blocks.columns)
        scratch = products.dot_scratch(dot, kind, blocks)
        part = self._ref(group, body, tensors, products.dot_extent(dot, blocks), work, scratch)
        launch = replace(part.kernel.launch, selections=(chosen,))
        kernel = replace(part.kernel, launch=launch, definitions=tuple(definitions.items()))
        part = replace(part, kernel=kernel).sharing(positions(epilogue_pairs(dot), dot.params))
        if block is not None:
            line, columns = of(dot.row.symbol), products.column_blocks(dot, blocks)
            part = self._divided(part, line, dot.row.extent, product_accesses(dot), columns, block)
        if operand is None:
            return part
        return self._packing(group, part, dot, operand, packing.print_packing(dot, kind, operand, NAME, self.facts))

    def _divided(
        self,
        part: PrintedKernel,
        line: Dim,
        count: Dim,
        accesses: tuple[ElementAccess, ...],
        tasks: Dim | None = None,
        block: Sym | None = None,
    ) -> PrintedKernel:
        """The kernel with a division: it may be cut between its lines."""
        threads = self.scheduling.threads
        work = part.kernel.launch.extent * part.work
        division = Division(line, count, accesses, tasks or const(1), block, work, WORK_PER_THREAD, threads)
        return replace(part, kernel=replace(part.kernel, division=division))

    def _named(self, formula: Dim, stem: str = "schedule") -> tuple[Dim, tuple[tuple[Sym, Dim], ...]]:
        """A size as a symbol that the host program computes, and its definition if it needs one."""
        if formula.constant is not None or isinstance(formula.atom, Sym):
            return formula, ()
        symbol = self._symbol(formula, stem)
        return of(symbol), ((symbol, formula),)

    def _symbol(self, formula: Dim, stem: str = "schedule") -> Sym:
        """The symbol of a formula that selects a schedule; equal formulas share one."""
        if (known := self.decisions.get(formula)) is None:
            name = f"{stem}{len(self.decisions)}"
            while name in self.names:
                name += "_"
            known = self.decisions[formula] = Sym(name)
        return known

    def _cooperative(self, group: Group) -> PrintedKernel | None:
        """The cooperative reduction of a kernel of one row, if it pays."""
        kernel, tensors = build_row_kernel(group, self.facts, self.producers, rows.FIXED_SEAMS)
        if (found := cooperative_reduction.cooperating(kernel, effort(group, kernel))) is None:
            return None
        body = cooperative_reduction.print_loops(found, WORK_PER_THREAD)
        work = rows.points(kernel.stages) * effort(group, kernel)
        part = self._ref(group, body, tensors, const(1), work, const(0))
        pairs = positions(row_pairs(kernel), kernel.params)
        return replace(part, kernel=replace(part.kernel, in_place=pairs, workspaces=found.bytes))

    def _attention(self, group: Group) -> PrintedKernel:
        kernel, tensors = verified(build_attention(group, self.facts, self.producers), group)
        splits, definitions = self._named(self.facts.canonical(attention.key_splits(kernel)), "splits")
        body, scratch = attention.print_attention(kernel, NAME, splits), attention.attention_scratch(kernel)
        extent, work = attention.attention_extent(kernel, splits), attention.attention_work(kernel)
        part = self._ref(group, body, tensors, extent, work, scratch)
        workspaces = attention.attention_workspaces(kernel)
        part = replace(part, kernel=replace(part.kernel, workspaces=workspaces, definitions=definitions))
        return part.sharing(positions(epilogue_pairs(kernel), kernel.params))

    def _lapack(self, group: Group) -> PrintedKernel:
        """Lower a batch of matrices: one task, which launches the parallel loop over them itself."""
        kernel = lapack.build_lapack(group)
        body = lapack.print_lapack(kernel, maximum(1, const(WORK_PER_THREAD) // kernel.work))
        part = self._ref(group, body, kernel.tensors, const(1), kernel.batch * kernel.work, kernel.scratch)
        return part.sharing(kernel.in_place)

    def _packing(
        self,
        group: Group,
        part: PrintedKernel,
        kernel: DotKernel | ConvKernel,
        operand: packing.PackedOperand,
        body: KernelBody,
    ) -> PrintedKernel:
        """Attach to a kernel the one that packs its right operand, or its weights."""
        pack = self._ref(group, body, (), operand.extent, operand.work, operand.scratch)
        sources, replaced = (tuple(map(kernel.params.index, some)) for some in (operand.sources, operand.replaced))
        packed = PackRef(pack.kernel, sources, replaced, operand.bytes, operand.worth)
        return replace(part, kernel=replace(part.kernel, packs=(packed,)))

    def _ref(
        self, group: Group, body: KernelBody, tensors: tuple[Tensor, ...], extent: Dim, work: Dim, scratch: Dim
    ) -> PrintedKernel:
        """Register a printed kernel. `work`: the cost of one task, in additions."""
        packs = body.title == packing.TITLE
        name = self.source_files.add(body, body.title or title(group), comment(group, packs=packs))
        work = maximum(1, work)
        grain = maximum(1, const(WORK_PER_THREAD) // work)
        return PrintedKernel(KernelRef(Launch(name, (), body.sizes, extent, grain, scratch), tensors), work)

    def sources(self, most: int) -> tuple[SourceFile, ...]:
        """The kernels in up to `most` files, to be compiled in parallel."""
        return self.source_files.files(most)
