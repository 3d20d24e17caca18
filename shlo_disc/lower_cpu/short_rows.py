"""Short rows: a row does not fill a vector, so lanes are rows, and 16 rows are computed together.

Loops run over the points of a row, one after the other; the loads of 16 rows are a row apart. If the length of rows is
dynamic, a kernel has both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, Sym, const, maximum, of
from shlo_disc.expr.scalar import Load, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter
from shlo_disc.kernels.simplify_kernel import rewrite_stage
from shlo_disc.lower_cpu import rows
from shlo_disc.lower_cpu.spelling import LANES, VECTOR_DTYPES, VectorSpelling
from shlo_disc.lower_cpu.stages.lines import stage_lines
from shlo_disc.lower_cpu.stages.loops import RowContext
from shlo_disc.lower_cpu.vectorize import can_vectorize, carries, lanes_fit

LONGEST = 8  # points of a row: registers hold 16 such rows, and are permuted (`load_stride`)
LONGEST_SCALAR = 2 * LANES  # the same where the alternative is scalar code
_FIRST = Sym("%first")  # of the 16 rows


def short_rows(kernel: RowKernel) -> RowKernel | None:
    """The kernel whose scratch holds 16 rows, if they can be computed together; valid for rows up to `limit`."""
    if len(kernel.rows) != 1 or not any(stage.reductions for stage in kernel.stages) or rows.moves(kernel):
        return None
    length = row_length(kernel)
    if length.data() or (length.constant is not None and length.constant > limit(kernel)):
        return None  # the form is chosen by the length before any data is read
    (lane,), deps = kernel.rows, Dependence()
    vectors = tuple([name for stage in kernel.stages for name in carries(stage)])
    if not all(_fits(stage, lane, deps, vectors) for stage in kernel.stages):
        return None
    rewriter = _SixteenRows(kernel, lane)
    stages = tuple(rewriter.stage(stage) for stage in kernel.stages)
    return replace(kernel, stages=stages, scratch=tuple(rewriter.scratch.values()))


def row_length(kernel: RowKernel) -> Dim:
    """The most points that a stage has in a row, or elements of it that scratch holds.

    A row joined from segments is in scratch as a whole, and longer than the segments, which have a stage each.
    """
    return maximum(rows.longest_row(kernel), *(scratch.size for scratch in kernel.scratch))


def limit(kernel: RowKernel) -> int:
    """The longest row, in points, for which 16 rows at once are faster than one after the other."""
    deps = Dependence()
    vectors = all(can_vectorize(stage, deps) for stage in kernel.stages if stage.axes)
    return LONGEST if vectors else LONGEST_SCALAR


def _fits(stage: Stage, lane: Axis, deps: Dependence, vectors: Sequence[str]) -> bool:
    """Whether lanes may run over the rows: types have vectors, and rows are stored a fixed distance apart."""
    carried = (carry for reduction in stage.reductions for carry in (*reduction.carries, *reduction.inputs))
    stores = (*stage.stores, *(s for r in stage.reductions for s in r.stores))
    types = {*(carry.dtype for carry in carried), *(store.value.dtype for store in stores)}
    strided = all(_strided(s, lane, deps) for s in stores)
    return types <= VECTOR_DTYPES and strided and lanes_fit(stage, lane, deps, vectors)


def _strided(store: Store, lane: Axis, deps: Dependence) -> bool:
    if isinstance(store.target, Scratch):
        return True
    split = store.offset.linear(lane.symbol)
    return split is not None and lane.symbol.name not in deps.of(split[0]) | deps.of(split[1])


class _SixteenRows(DimRewriter):
    """Replaces each scratch element of a row by those of 16 rows."""

    def __init__(self, kernel: RowKernel, lane: Axis) -> None:
        super().__init__(lambda dim: dim)
        self.scratch = {s: replace(s, size=const(limit(kernel) * LANES)) for s in kernel.scratch}
        self._row = of(lane.symbol) - of(_FIRST)

    def stage(self, stage: Stage) -> Stage:
        """Rewrite what a stage reads and stores."""
        stage = rewrite_stage(stage, self)
        reductions = (replace(r, stores=tuple(map(self._store, r.stores))) for r in stage.reductions)
        return replace(stage, stores=tuple(map(self._store, stage.stores)), reductions=tuple(reductions))

    def _store(self, store: Store) -> Store:
        if not isinstance(store.target, Scratch):
            return store
        return replace(store, target=self.scratch[store.target], offset=self._place(store.offset))

    def _rebuild(self, node: Scalar) -> Scalar:
        match node:
            case Load(Scratch() as scratch, (offset,)):
                return Load(self.scratch[scratch], (self._place(self.dim(offset)),))
            case _:
                return super()._rebuild(node)

    def _place(self, offset: Dim) -> Dim:
        return offset * LANES + self._row


class _SixteenRowsEmitter(Emitter):
    """Prints formulas whose lanes are rows; the places of strided loads are computed once per type and stride."""

    def __init__(self, row: Sym) -> None:
        self.vectors = VectorSpelling()
        super().__init__(self.vectors)
        self._first = {row: of(_FIRST)}
        self.row_scope = 1
        self._strides = dict[tuple[DType, Dim], str]()

    def dim_scalar(self, dim: Dim) -> str:
        """The value of a dim in the first row."""
        return super().dim_scalar(dim.substitute(self._first))

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, or one of each row."""
        split = offset.linear(Sym(self.lane)) if self.lane is not None and not self.mask else None
        if split is None or split[0] == const(1) or self.deps.of(split[0]) or self.is_vector(split[1]):
            return super().load(source, offset)
        if not split[0].terms:
            return super().load(source, offset)
        key = source.dtype, split[0]
        if (name := self._strides.get(key)) is None:
            name = self._strides[key] = self.fresh("n")
            start = f"strides({source.name}, {self.dim_scalar(split[0])}"
            self.scopes[0].lines.append(f"auto {name} = {start}, {LANES});")
            self.scopes[self.row_scope].lines.append(f"if (left < {LANES}) {name} = {start}, left);")
        return self.vectors.load_at(f"{source.name} + {self.dim_scalar(offset)}", name, source.dtype)


class ShortRowPrinter(rows.RowPrinter):
    """Prints a kernel of short rows."""

    def __init__(self, kernel: RowKernel) -> None:
        super().__init__(kernel)
        self.unroll = False
        self.emit = _SixteenRowsEmitter(kernel.rows[0].symbol)
        self.context = RowContext(self.emit, self.spell, unroll=False)

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        emit, (axis,) = self.emit, self.kernel.rows
        emit.lane, emit.partial = axis.symbol.name, True
        with emit.inside("%row", _FIRST.name, axis.symbol.name) as scope:
            name = clean(axis.symbol.name)
            scope.lines += [
                f"const int64_t left = min_(end - first, {LANES}), {name} = first;",
            ]
            for number, stage in enumerate(self.kernel.stages):
                if len(self.kernel.stages) > 1:
                    scope.block([f"// stage {number}"])
                scope.block(stage_lines(self.context, stage))
        emit.lane = None
        body = [
            *self.pointers(),
            *emit.scopes[0].lines,
            f"for (int64_t first = begin; first < end; first += {LANES}) {{",
            *(INDENT + line for line in scope.lines),
            "}",
        ]
        return body, tuple(emit.sizes)
