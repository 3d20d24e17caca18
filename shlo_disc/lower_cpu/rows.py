"""Row kernels as C++: four rows at once where reductions would wait, lanes along the innermost axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.kernel import Axis, Param, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.codegen.scopes import INDENT, Scope
from shlo_disc.codegen.simplify_kernel import stage_formulas
from shlo_disc.expr.dim import Dim, const, product, total
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import BinaryFn
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.vectorize import can_vectorize

ChunkBody = Callable[[str], list[str]]  # what happens to one vector; the argument: how many lanes are left, or ""

UNROLL = 4  # rows at once: enough independent sums to hide the latency of one addition

_HORIZONTAL = {
    BinaryFn.ADD: "hsum", BinaryFn.MULTIPLY: "hprod", BinaryFn.MAXIMUM: "hmax", BinaryFn.MINIMUM: "hmin",
    BinaryFn.AND: "hand", BinaryFn.OR: "hor", BinaryFn.XOR: "hxor",
}  # fmt: skip


def is_flat(kernel: RowKernel) -> bool:
    """Whether the kernel is one map without rows, so that threads share its outermost axis."""
    return not kernel.rows and len(kernel.stages) == 1 and not kernel.stages[0].reductions


def extent(kernel: RowKernel) -> Dim:
    """How many independent pieces of work a launch has."""
    if is_flat(kernel):
        axes = kernel.stages[0].axes
        return axes[0].extent if axes else const(1)
    return product(axis.extent for axis in kernel.rows)


def piece(kernel: RowKernel) -> Dim:
    """How many elements one piece of work touches."""
    sizes = [product(axis.extent for axis in stage.axes) for stage in kernel.stages]
    if is_flat(kernel):
        sizes = [product(axis.extent for axis in kernel.stages[0].axes[1:])]
    return total(sizes)


def scratch_bytes(kernel: RowKernel) -> Dim:
    """The private memory that a thread needs."""
    rows = UNROLL if unrolled(kernel) else 1
    return total(_padded(s.size) * (rows * s.dtype.bytes) for s in kernel.scratch)


def unrolled(kernel: RowKernel) -> bool:
    """Whether several rows are computed at once: all stages are vector loops, and one of them reduces."""
    deps = Emitter(VectorSpelling()).deps
    fits = all(len(s.axes) <= 1 and (not s.axes or can_vectorize(s, deps)) for s in kernel.stages)
    return fits and bool(kernel.rows) and any(s.axes and s.reductions for s in kernel.stages)


def _padded(size: Dim) -> Dim:
    """Whole vectors: the last one may be stored and loaded in full."""
    return (size + (LANES - 1)) // LANES * LANES


class RowPrinter:
    """Prints one row kernel."""

    def __init__(self, kernel: RowKernel, bounds: Mapping[Axis, tuple[str, str]] | None = None) -> None:
        """`bounds` says where a loop starts and ends if not at 0 and at its extent."""
        self.kernel = kernel
        self.spell = VectorSpelling()
        self.emit = Emitter(self.spell)
        self.unroll = unrolled(kernel)
        self.bounds = dict(bounds or {})
        if is_flat(kernel) and kernel.stages[0].axes:
            self.bounds[kernel.stages[0].axes[0]] = ("begin", "end")

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        row_lines = self._row()
        head = self._pointers()
        body = [*head, *self.emit.scopes[0].lines]
        if self.unroll:
            body += [
                "auto rows = [&](auto unroll, const int64_t row) {",
                f"{INDENT}constexpr int R = decltype(unroll)::value;",
                *(INDENT + line for line in row_lines),
                "};",
                "int64_t row = begin;",
                f"for (; row + {UNROLL} <= end; row += {UNROLL}) rows(Int<{UNROLL}>(), row);",
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

    def _pointers(self) -> list[str]:
        written = {
            s.target
            for stage in self.kernel.stages
            for s in (*stage.stores, *(x for r in stage.reductions for x in r.stores))
        }
        lines = [pointer(self.spell, k, p, written=p in written) for k, p in enumerate(self.kernel.params)]
        offset, rows = const(0), UNROLL if self.unroll else 1
        for scratch in self.kernel.scratch:
            kind = self.spell.memory_type(scratch.dtype)
            lines.append(f"const int64_t {scratch.name}_row = {self.emit.dim_scalar(_padded(scratch.size))};")
            start = self.emit.dim_scalar(offset)
            lines.append(f"{kind}* const {scratch.name} = ({kind}*)((char*)scratch + {start});")
            offset += _padded(scratch.size) * (rows * scratch.dtype.bytes)
        return lines

    def _row(self) -> list[str]:
        names = [axis.symbol.name for axis in self.kernel.rows]
        self.emit.row_scope = 1
        with self.emit.inside("%row", *names, arrayed=self.unroll) as scope:
            self._decode(scope)
            for number, stage in enumerate(self.kernel.stages):
                if len(self.kernel.stages) > 1:
                    scope.block([f"// stage {number}"])
                scope.block(self._stage(stage))
        return scope.lines

    def _decode(self, scope: Scope) -> None:
        """Split the row number into the indices of the row axes."""
        axes = self.kernel.rows
        row = "row + k" if self.unroll else "row"
        for number, axis in enumerate(axes):
            inner = product(a.extent for a in axes[number + 1 :])
            text = f"({row})" if inner.constant == 1 else f"({row}) / {self._guarded(inner)}"
            if number:
                text = f"{text} % {self._guarded(axis.extent)}"
            name = axis.symbol.name.removeprefix("%")
            if self.unroll:
                scope.lines.append(f"int64_t {name}[R];")
                scope.pending.append(f"{name}[k] = {text};")
            else:
                scope.lines.append(f"const int64_t {name} = {text};")

    def _guarded(self, size: Dim) -> str:
        return self.emit.dim_scalar(size)

    # -- stages

    def _stage(self, stage: Stage) -> list[str]:
        self.emit.count_uses(stage_formulas(stage))
        if can_vectorize(stage, self.emit.deps):
            return _VectorStage(self, stage).lines()
        return _ScalarStage(self, stage).lines()


class _StageLines:
    """What both ways of printing a stage share."""

    def __init__(self, printer: RowPrinter, stage: Stage) -> None:
        self.printer, self.stage = printer, stage
        self.emit, self.spell = printer.emit, printer.spell

    def bounds(self, axis: Axis) -> tuple[str, str]:
        """First index of a loop, and the one after the last."""
        if (known := self.printer.bounds.get(axis)) is not None:
            return known
        return "0", self.emit.dim_scalar(axis.extent)

    def head(self, axis: Axis) -> str:
        name = axis.symbol.name.removeprefix("%")
        first, last = self.bounds(axis)
        return f"for (int64_t {name} = {first}; {name} < {last}; ++{name}) {{"

    def nest(self, axes: Sequence[Axis], body: list[str]) -> list[str]:
        """Loops around a body; their bounds were printed before."""
        heads = [self.head(axis) for axis in axes]
        lines = [INDENT * depth + head for depth, head in enumerate(heads)]
        lines += [INDENT * len(heads) + line for line in body]
        return lines + [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]


class _ScalarStage(_StageLines):
    """One element at a time."""

    def lines(self) -> list[str]:
        stage = self.stage
        kept = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag]
        reduced = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag]
        if not stage.reductions:
            return self._map(stage.axes)
        if not kept:
            return self._reduce(reduced, at_row=True)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._reduce(reduced, at_row=False))
        return self.nest(kept, scope.lines)

    def _map(self, axes: Sequence[Axis]) -> list[str]:
        if not axes:
            with self.emit.inside() as scope:
                self._stores(self.stage.stores, scope)
            return self._per_row(scope.lines)
        with self.emit.inside(*(a.symbol.name for a in axes)) as scope:
            self._stores(self.stage.stores, scope)
        return self.nest(axes, scope.lines)

    def _per_row(self, lines: list[str]) -> list[str]:
        if not self.printer.unroll:
            return ["{", *(INDENT + line for line in lines), "}"]
        return ["for (int k = 0; k < R; ++k) {", *(INDENT + line for line in lines), "}"]

    def _stores(self, stores: Sequence[Store], scope: Scope) -> None:
        for store in stores:
            value = self.emit.value(store.value)
            text = store_text(self.emit, self.spell, store, value, self.printer.unroll)
            scope.lines.append(text)

    def _reduce(self, reduced: Sequence[Axis], *, at_row: bool) -> list[str]:
        """Carries before the loop, updated inside it; they stay visible after it."""
        outer = len(self.emit.scopes) - 1
        before, after, starts = list[str](), list[str](), list[str]()
        for reduction in self.stage.reductions:
            for carry, init in zip(reduction.carries, reduction.init, strict=True):
                kind = self.spell.value_type(carry.dtype)
                if at_row and self.printer.unroll:
                    self.emit.arrays.add(carry.name)
                    before.append(f"{kind} {carry.name}[R];")
                    starts.append(f"{carry.name}[k] = {self.emit.value(init)};")
                else:
                    starts.append(f"{kind} {carry.name} = {self.emit.value(init)};")
        carries = [c.name for r in self.stage.reductions for c in r.carries]
        with self.emit.inside(*(a.symbol.name for a in reduced), *carries) as scope:  # carries change in the loop
            self._stores(self.stage.stores, scope)
            for reduction in self.stage.reductions:
                self._update(reduction, scope, len(self.emit.scopes) - 1)
        loops = self.nest(reduced, scope.lines)
        for name in carries:
            self.emit.bind(name, outer)
        with self.emit.inside() as final:
            for reduction in self.stage.reductions:
                self._stores(reduction.stores, final)
        after += final.lines
        if at_row and self.printer.unroll:
            return [*before, *self._per_row([*starts, *loops, *after])]
        return [*before, *starts, *loops, *after]

    def _update(self, reduction: Reduction, scope: Scope, number: int) -> None:
        texts = [self.emit.value(x) for x in reduction.elements]
        for name, text in zip(reduction.inputs, texts, strict=True):
            scope.lines.append(f"const {self.spell.value_type(name.dtype)} {name.name} = {text};")
            self.emit.bind(name.name, number)
        news = [self.emit.value(u) for u in reduction.update]
        if len(news) == 1:
            scope.lines.append(f"{self.emit.arg(reduction.carries[0].name)} = {news[0]};")
            return
        for carry, text in zip(reduction.carries, news, strict=True):
            scope.lines.append(f"const {self.spell.value_type(carry.dtype)} next_{carry.name} = {text};")
        for carry in reduction.carries:
            scope.lines.append(f"{self.emit.arg(carry.name)} = next_{carry.name};")


class _VectorStage(_StageLines):
    """Sixteen elements at a time along the last axis."""

    def lines(self) -> list[str]:
        stage = self.stage
        lane, outer = stage.axes[-1], list(zip(stage.axes[:-1], stage.reduced[:-1], strict=True))
        kept = [a for a, flag in outer if not flag]
        reduced = [a for a, flag in outer if flag]
        if not stage.reductions:
            kept, reduced = [a for a, _ in outer], []
        if not kept:
            return self._inner(lane, reduced)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._inner(lane, reduced))
        return self.nest(kept, scope.lines)

    def _inner(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        if not self.stage.reductions:
            return self._chunks(lane, self._stores_at)
        if self.stage.reduced[-1]:
            return self._across(lane, reduced)
        return self._chunks(lane, lambda left: self._columns(reduced, left))

    # lanes are reduced: vector accumulators, one horizontal step at the end

    def _across(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        outer = len(self.emit.scopes) - 1
        lines = list[str]()
        for reduction in self.stage.reductions:
            carry = reduction.carries[0]
            kind = self.spell.vector_type(carry.dtype)
            start = self.spell.splat(identity(self.spell, reduction), carry.dtype)
            size = "[R]" if self.printer.unroll else ""
            lines.append(f"{kind} v{carry.name}{size};")
            lines += self._each_row(f"v{carry.name}{self._k} = {start};")
        if reduced:
            with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
                scope.block(self._chunks(lane, self._accumulate))
            lines += self.nest(reduced, scope.lines)
        else:
            lines += self._chunks(lane, self._accumulate)
        return lines + self._finish(outer)

    @property
    def _k(self) -> str:
        return "[k]" if self.printer.unroll else ""

    def _each_row(self, statement: str) -> list[str]:
        return [f"for (int k = 0; k < R; ++k) {statement}"] if self.printer.unroll else [statement]

    def _accumulate(self, left: str) -> list[str]:
        lines = self._stores_at(left)
        for reduction in self.stage.reductions:
            (element,), (carry,) = reduction.elements, reduction.carries
            text = self.emit.lanes(element)
            if left:
                fill = self.spell.splat(identity(self.spell, reduction), carry.dtype)
                text = f"keep_n({text}, {left}, {fill})"
            target = f"v{carry.name}{self._k}"
            lines.append(f"{target} = {combine(self.spell, reduction, target, text)};")
            self.emit.scope.lines.extend(lines)
            lines = []
        return lines

    def _finish(self, outer: int) -> list[str]:
        """Combine the lanes, then the initial value."""
        lines = list[str]()
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            assert reduction.fn is not None, "only simple reductions are vectorized"
            kind, name = self.spell.value_type(carry.dtype), carry.name
            whole = f"{_HORIZONTAL[reduction.fn]}(v{name}{self._k})"
            start = self.emit.value(init)
            if start != identity(self.spell, reduction):
                whole = combine(self.spell, reduction, start, whole)
            whole = self.spell.rounded(whole, carry.dtype, exact=False)
            if self.printer.unroll:
                lines += [f"{kind} {name}[R];", *self._each_row(f"{name}[k] = {whole};")]
            else:
                lines.append(f"const {kind} {name} = {whole};")
            self.emit.bind(name, outer)
        with self.emit.inside() as scope:
            for reduction in self.stage.reductions:
                for store in reduction.stores:
                    value = self.emit.value(store.value)
                    scope.lines.append(store_text(self.emit, self.spell, store, value, self.printer.unroll))
        if scope.lines and self.printer.unroll:
            return [
                *lines,
                "for (int k = 0; k < R; ++k) {",
                *(INDENT + x for x in scope.lines),
                "}",
            ]
        return [*lines, *scope.lines]

    # lanes are kept: a vector of results per chunk

    def _columns(self, reduced: Sequence[Axis], left: str) -> list[str]:
        outer = len(self.emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            start = self.spell.splat(self.emit.value(init), carry.dtype)
            self.emit.scope.lines.append(f"{self.spell.vector_type(carry.dtype)} {carry.name} = {start};")
            self.emit.bind(carry.name, outer)
        with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
            scope.lines.extend(self._stores_at(left))
            for reduction in self.stage.reductions:
                (element,), (carry,) = reduction.elements, reduction.carries
                text = combine(self.spell, reduction, carry.name, self.emit.lanes(element))
                scope.lines.append(f"{carry.name} = {text};")
        lines = self.nest(reduced, scope.lines)
        for reduction in self.stage.reductions:
            for store in reduction.stores:
                lines.append(self._vector_store(store, reduction.carries[0].name, left))
        return lines

    # chunks of lanes

    def _chunks(self, lane: Axis, body: ChunkBody) -> list[str]:
        """Whole vectors, then what is left."""
        name = lane.symbol.name.removeprefix("%")
        first, last = self.bounds(lane)
        size = lane.extent.constant if first == "0" else None
        lines = [f"int64_t {name} = {first};"]
        if size is None or size >= LANES:
            lines.append(f"for (; {name} + {LANES} <= {last}; {name} += {LANES}) {{")
            lines += [INDENT + x for x in self._chunk(lane, body, "")]
            lines.append("}")
        if size is None or size % LANES:
            lines.append(f"if ({name} < {last}) {{")
            lines.append(f"{INDENT}const int64_t left = {last} - {name};")
            lines += [INDENT + x for x in self._chunk(lane, body, "left")]
            lines.append("}")
        return ["{", *(INDENT + x for x in lines), "}"]

    def _chunk(self, lane: Axis, body: ChunkBody, left: str) -> list[str]:
        emit = self.emit
        emit.lane, emit.partial = lane.symbol.name, bool(left)
        try:
            with emit.inside(lane.symbol.name) as shared:
                if not self.printer.unroll:
                    shared.lines.extend(body(left))
                    return shared.lines
                with emit.inside() as own:
                    own.lines.extend(body(left))
                return [
                    *shared.lines,
                    "for (int k = 0; k < R; ++k) {",
                    *(INDENT + x for x in own.lines),
                    "}",
                ]
        finally:
            emit.lane, emit.partial = None, False

    def _stores_at(self, left: str) -> list[str]:
        scope = self.emit.scope
        for store in self.stage.stores:
            value = self.emit.lanes(store.value)
            scope.lines.append(self._vector_store(store, value, left))
        return []

    def _vector_store(self, store: Store, value: str, left: str) -> str:
        emit = self.emit
        start = emit.dim_scalar(store.offset)
        if isinstance(store.target, Scratch):
            row = self.spell.scratch_row(store.target.name, arrayed=self.printer.unroll)
            return self.spell.store_vector(f"{row} + {start}", value, store.target.dtype, "")
        return self.spell.store_vector(f"{store.target.name} + {start}", value, store.target.dtype, left)


def pointer(spell: VectorSpelling, number: int, param: Param, *, written: bool) -> str:
    """The declaration of a param's pointer."""
    kind = spell.memory_type(param.dtype)
    const_ = "" if written else "const "
    return f"{const_}{kind}* __restrict__ const {param.name} = ({const_}{kind}*)buffers[{number}];"


def store_text(emit: Emitter, spell: VectorSpelling, store: Store, value: str, unroll: bool) -> str:
    """One element into memory."""
    name = store.target.name
    if isinstance(store.target, Scratch):
        name = spell.scratch_row(name, arrayed=unroll)
    return spell.store(name, emit.dim_scalar(store.offset), value, store.target.dtype)


def combine(spell: VectorSpelling, reduction: Reduction, a: str, b: str) -> str:
    """Apply a simple reduction's operation to two values."""
    assert reduction.fn is not None, "only simple reductions are vectorized"
    dtype = reduction.carries[0].dtype
    if (sign := spell.infix(reduction.fn, dtype)) is not None:
        return f"{a} {sign} {b}"
    return spell.binary(reduction.fn, a, b, dtype)


def identity(spell: VectorSpelling, reduction: Reduction) -> str:
    """What a reduction's operation leaves alone."""
    dtype = reduction.carries[0].dtype
    assert reduction.fn is not None, "only simple reductions are vectorized"
    return spell.const(_identity(reduction.fn, dtype), dtype)


def _identity(fn: BinaryFn, dtype: DType) -> float | int | bool:
    match fn:
        case BinaryFn.ADD | BinaryFn.OR | BinaryFn.XOR:
            return False if dtype.is_bool else 0.0 if dtype.is_float else 0
        case BinaryFn.MULTIPLY:
            return True if dtype.is_bool else 1.0 if dtype.is_float else 1
        case BinaryFn.MAXIMUM:
            if dtype.is_float:
                return float("-inf")
            return False if dtype.is_bool else -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
        case BinaryFn.MINIMUM:
            if dtype.is_float:
                return float("inf")
            return True if dtype.is_bool else 2 ** (dtype.bits - dtype.is_signed) - 1
        case _:
            return True if dtype.is_bool else -1 if dtype.is_signed else 2**dtype.bits - 1
