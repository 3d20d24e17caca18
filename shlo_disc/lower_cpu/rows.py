"""Row kernels as C++: vectors along the innermost axis, four rows at once to hide the latency of reductions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, unbraced
from shlo_disc.expr.dim import ZERO, Dim, const, divide, maximum, product, total
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.index_set_splitting import Seams
from shlo_disc.kernels.inplace import Pairs, row_pairs
from shlo_disc.kernels.kernel import Param, RowKernel, Scratch, Stage
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.pipeline_schedule import copies
from shlo_disc.lower_cpu.software_pipelining import GROUP, PipelinedRows, can_pipeline
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.stages.lines import stage_lines
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext, decode
from shlo_disc.lower_cpu.stages.vector_loops import STRIP
from shlo_disc.lower_cpu.vectorize import can_vectorize
from shlo_disc.records import record

SEAMS, FIXED_SEAMS = (Seams(maps=True, hidden=hidden, strips=True) for hidden in (True, False))
LONG_ROW = 384  # elements of a row, from which on skipping a part of it saves more than computing four rows at once
UNROLL = 4  # rows at once: enough independent sums to hide the latency of one addition


def is_flat(kernel: RowKernel) -> bool:
    """Whether the kernel is maps without rows, so that threads share their points, one map after the other.

    Segments of a loop may have sizes that depend on data; the whole loop may not.
    """
    maps = not kernel.scratch and not any(stage.reductions for stage in kernel.stages)
    return maps and not kernel.rows and not points(kernel.stages).data()


def is_columns(kernel: RowKernel) -> bool:
    """Whether all stages of a single row keep the same innermost axis, its columns independent: threads share these."""
    if kernel.rows or not any(s.reductions for s in kernel.stages):
        return False
    if not all(s.axes and not s.reduced[-1] for s in kernel.stages):
        return False
    columns = kernel.stages[0].axes[-1].extent
    return all(s.axes[-1].extent == columns and _keeps_column(s, columns) for s in kernel.stages)


def _keeps_column(stage: Stage, columns: Dim) -> bool:
    """Whether a stage reads and writes only elements of its own column in scratch."""
    lane = stage.axes[-1].symbol
    loads = [n for n in nodes_of(stage_formulas(stage)) if isinstance(n, Load) and isinstance(n.source, Scratch)]
    stores = (*stage.stores, *(s for r in stage.reductions for s in r.stores))
    places = [*(n.index[0] for n in loads), *(s.offset for s in stores if isinstance(s.target, Scratch))]
    splits = [place.linear(lane) for place in places]
    return all(split and split[0].constant == 1 and not divide(split[1], columns)[1].terms for split in splits)


def extent(kernel: RowKernel) -> Dim:
    """Number of independent tasks of a launch."""
    if is_columns(kernel):
        return (kernel.stages[0].axes[-1].extent + (STRIP - 1)) // STRIP
    return points(kernel.stages) if is_flat(kernel) else product(axis.extent for axis in kernel.rows)


def task_elements(kernel: RowKernel) -> Dim:
    """Number of elements that one task accesses; where rows differ, that of the middle row."""
    if is_flat(kernel):
        return const(1)
    if is_columns(kernel):
        return total(product(axis.extent for axis in stage.axes[:-1]) for stage in kernel.stages) * STRIP
    return points(kernel.stages).substitute({axis.symbol: axis.extent // 2 for axis in kernel.rows})


def points(stages: Iterable[Stage]) -> Dim:
    """Number of points of all stages."""
    return total(product(axis.extent for axis in stage.axes) for stage in stages)


def scratch_bytes(kernel: RowKernel) -> Dim:
    """Bytes of private memory that a thread needs."""
    return total(padded(s.size) * (_rows_kept(kernel, s) * s.dtype.bytes) for s in kernel.scratch)


def _rows_kept(kernel: RowKernel, scratch: Scratch) -> int:
    """Number of rows whose elements a scratch holds at a time."""
    if not unrolled(kernel):
        return 1
    return GROUP * copies(kernel, scratch) if can_pipeline(kernel) else UNROLL


def unrolled(kernel: RowKernel) -> bool:
    """Whether several rows are computed at once: all stages are vector loops, and one of them reduces."""
    deps = Emitter(VectorSpelling()).deps
    fits = all(len(s.axes) <= 1 and (not s.axes or can_vectorize(s, deps)) for s in kernel.stages)
    alike = not any(deps.of(axis.extent) for stage in kernel.stages for axis in stage.axes)
    return fits and alike and bool(kernel.rows) and any(s.axes and s.reductions for s in kernel.stages)


def moves(kernel: RowKernel) -> bool:
    """Whether a stage is cut at seams that differ from row to row."""
    deps = Emitter(VectorSpelling()).deps
    return any(deps.of(axis.extent) for stage in kernel.stages for axis in stage.axes)


def padded(size: Dim) -> Dim:
    """The size in whole vectors, so that the last one may be stored and loaded in full."""
    return (size + (LANES - 1)) // LANES * LANES


class RowPrinter:
    """Prints one row kernel."""

    def __init__(self, kernel: RowKernel, ranges: Ranges | None = None) -> None:
        """`ranges`: bounds of the only stage's loops, if they do not run from 0 to their extents."""
        assert not ranges or len(kernel.stages) == 1, "each stage has loops of its own"
        self.kernel = kernel
        self.ranges = ranges or {}
        self.spell = VectorSpelling()
        self.emit = Emitter(self.spell)
        self.unroll = unrolled(kernel)
        self.context = RowContext(self.emit, self.spell, self.unroll)

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        if is_columns(self.kernel):
            row_lines = self._columns()
        else:
            row_lines = self._flat() if is_flat(self.kernel) else self._row([self.ranges] * len(self.kernel.stages))
        pipelined = self._pipelined() if self.unroll and can_pipeline(self.kernel) else []
        head = self.pointers()
        body = [*head, *self.emit.scopes[0].lines]
        if self.unroll:
            body += [
                "auto rows = [&](auto unroll, const int64_t row) {",
                f"{INDENT}constexpr int R = decltype(unroll)::value;",
                *(INDENT + line for line in row_lines),
                "};",
                "int64_t row = begin;",
                *(pipelined or [f"for (; row + {UNROLL} <= end; row += {UNROLL}) rows(Int<{UNROLL}>(), row);"]),
                "for (; row < end; ++row) rows(Int<1>(), row);",
            ]
        elif self.kernel.rows:
            body += [
                "for (int64_t row = begin; row < end; ++row) {",
                *(INDENT + x for x in row_lines),
                "}",
            ]
        else:
            body += row_lines
        return body, tuple(self.emit.sizes)

    def pointers(self) -> list[str]:
        """The declarations of params and scratch."""
        written = {
            s.target
            for stage in self.kernel.stages
            for s in (*stage.stores, *(x for r in stage.reductions for x in r.stores))
        }
        shared = {param for pair in row_pairs(self.kernel) for param in pair}
        lines = [
            pointer(self.spell, k, p, written=p in written, shared=p in shared)
            for k, p in enumerate(self.kernel.params)
        ]
        offset = const(0)
        for scratch in self.kernel.scratch:
            kind = self.spell.memory_type(scratch.dtype)
            lines.append(f"const int64_t {scratch.name}_row = {self.emit.dim_scalar(padded(scratch.size))};")
            start = f"((char*)scratch + {self.emit.dim_scalar(offset)})" if offset != ZERO else "scratch"
            lines.append(f"{kind}* const {scratch.name} = ({kind}*){start};")
            offset += padded(scratch.size) * (_rows_kept(self.kernel, scratch) * scratch.dtype.bytes)
        return lines

    def _columns(self) -> list[str]:
        """All stages, for the strips of columns from `begin` to `end`."""
        lanes = [stage.axes[-1] for stage in self.kernel.stages]
        lines = self._row([{lane.symbol: ("from", "to")} for lane in lanes])
        to = f"min_(end * {STRIP}, {self.emit.dim_scalar(lanes[0].extent)})"
        return [f"const int64_t from = begin * {STRIP};", f"const int64_t to = {to};", *lines]

    def _row(self, ranges: Sequence[Ranges]) -> list[str]:
        """All stages, each with the ranges of its own loops."""
        names = [axis.symbol.name for axis in self.kernel.rows]
        self.emit.row_scope = 1
        with self.emit.inside("%row", *names, arrayed=self.unroll) as scope:
            decode(self.emit, scope, self.kernel.rows, "row + k" if self.unroll else "row", arrayed=self.unroll)
            for number, (stage, own) in enumerate(zip(self.kernel.stages, ranges, strict=True)):
                if len(self.kernel.stages) > 1:
                    scope.block([f"// stage {number}"])
                scope.block(stage_lines(self.context, stage, own))
        return scope.lines if len(self.kernel.stages) > 1 else unbraced(scope.lines)

    def _pipelined(self) -> list[str]:
        """The software-pipelined loop over most of the rows, several groups at a time."""
        self.emit.row_scope = 1
        return PipelinedRows(self.context, self.kernel).lines()

    def _flat(self) -> list[str]:
        """Maps one after the other, each for its points between `begin` and `end`."""
        lines, before = list[str](), const(0)
        for number, stage in enumerate(self.kernel.stages):
            points = product(axis.extent for axis in stage.axes)
            first, last = "begin", "end"
            if len(self.kernel.stages) > 1:
                first, last = f"first{number}", f"last{number}"
                lines += [
                    f"// stage {number}",
                    f"const int64_t start{number} = {self.emit.dim_scalar(before)};",
                    f"const int64_t {first} = max_(begin - start{number}, 0);",
                    f"const int64_t {last} = min_(end - start{number}, {self.emit.dim_scalar(points)});",
                ]
            lines += self._between(stage, first, last)
            before += points
        return lines if len(self.kernel.stages) > 1 else unbraced(lines)

    def _between(self, stage: Stage, first: str, last: str) -> list[str]:
        """The points [`first`, `last`) of a map, line by line of the innermost axis."""
        if len(stage.axes) <= 1:
            lines = stage_lines(self.context, stage, {axis.symbol: (first, last) for axis in stage.axes})
            alone = bool(stage.axes) or len(self.kernel.stages) == 1  # a launch has at least one task
            return lines if alone else [f"if ({first} < {last}) {{", *(INDENT + x for x in lines), "}"]
        *outer, lane = stage.axes
        size = f"size_{first}"
        head = f"const int64_t {size} = {self.emit.dim_scalar(lane.extent)};"
        self.emit.row_scope = 1
        with self.emit.inside("%row", *(axis.symbol.name for axis in outer)) as scope:
            decode(self.emit, scope, outer, "row")
            scope.block(
                [
                    f"const int64_t from = max_({first} - row * {size}, 0);",
                    f"const int64_t to = min_({last} - row * {size}, {size});",
                    *stage_lines(
                        self.context, replace(stage, axes=(lane,), reduced=(False,)), {lane.symbol: ("from", "to")}
                    ),
                ]
            )
        self.emit.row_scope = 0
        return [
            head,
            f"for (int64_t row = floordiv({first}, {size}); row * {size} < {last}; ++row) {{",
            *(INDENT + x for x in scope.lines),
            "}",
        ]


@record
class KernelForm:
    """One way to print a kernel, for calls whose sizes satisfy `conditions`; constant sizes always do."""

    printer: RowPrinter
    conditions: tuple[tuple[Dim, str, int], ...] = ()


def longest_row(kernel: RowKernel) -> Dim:
    """The most points that a stage has in a row."""
    return maximum(0, *(product(axis.extent for axis in stage.axes) for stage in kernel.stages))


def by_length(forms: Sequence[KernelForm]) -> tuple[list[str], tuple[str, ...]]:
    """Statements and symbols of a kernel in several forms; the last that fits is chosen, and the first always fits."""
    lines, sizes = list[str](), dict[str, None]()
    for form in forms:
        text, _ = form.printer.lines()
        emit = form.printer.emit
        conditions = [f"{emit.dim_scalar(s)} {sign} {n}" for s, sign, n in form.conditions if s.constant is None]
        if not conditions:
            lines, sizes = text, dict.fromkeys(form.printer.emit.sizes)
            continue
        head = f"if ({' && '.join(conditions)}) {{"
        lines = [head, *(INDENT + x for x in text), "} else {", *(INDENT + x for x in lines), "}"]
        sizes = dict.fromkeys((*form.printer.emit.sizes, *sizes))
    return lines, tuple(sizes)


def shared_pairs(forms: Sequence[KernelForm]) -> Pairs:
    """The pairs of params that may share memory in all forms."""
    first, *others = (row_pairs(form.printer.kernel) for form in forms)
    return tuple(pair for pair in first if all(pair in pairs for pairs in others))


def pointer(spell: VectorSpelling, number: int, param: Param, *, written: bool, shared: bool = False) -> str:
    """The declaration of a param's pointer. `shared`: it may alias that of another param."""
    kind = spell.memory_type(param.dtype)
    const_, restrict = "" if written else "const ", "" if shared else " __restrict__"
    return f"{const_}{kind}*{restrict} const {param.name} = ({const_}{kind}*)buffers[{number}];"
