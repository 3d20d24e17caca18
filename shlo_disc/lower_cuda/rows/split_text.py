"""A reduction over the whole grid: each block has `lanes` neighbouring results and a part of the reduced points.

In a block, 256/lanes threads share the points of a result and combine in shared memory by a tree, neighbours first. For
a known operation every thread starts from its identity, and neighbouring threads have neighbouring points.
Any other reduction may depend on the order (StableHLO allows any bracketing, but no other order): there every thread
takes a run of points and starts from the run's first element, and threads without a run are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.reductions import identity
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Load
from shlo_disc.kernels.kernel import Axis, Param, Reduction, Stage, Store
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.points import THREADS, decode
from shlo_disc.lower_cuda.printed import Shared
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

MOST_SHARED = 40 * 1024
FILL = 132 * 8  # blocks that fill a card
MOST_CHUNKS = 1024
JOIN_LANES = 8  # results of a block that combines parts: a sector of memory
UNROLLED = 8  # loads in flight per thread
FEWEST_POINTS = 8  # least points of a thread in PARTS
CHUNK = Sym("%chunk")


class Role(Enum):
    """The work of a kernel: whole results by blocks, or by single threads; parts of results; or combining parts."""

    WHOLE = "whole"
    ALONE = "alone"
    PARTS = "parts"
    JOIN = "join"


@record
class SplitKernel:
    """One kernel of a reduction, whose blocks have `lanes` results each.

    `points` are those of a result in the whole reduction; PARTS has `width` lanes and splits them into runs of `share`.
    `parts` are the buffers for partial results, one per carry, as `chunks x results`.
    """

    role: Role
    stage: Stage
    lanes: int
    width: int
    points: Dim
    parts: tuple[Param, ...] = ()

    @property
    def kept(self) -> tuple[Axis, ...]:
        return tuple(a for a, flag in zip(self.stage.axes, self.stage.reduced, strict=True) if not flag)

    @property
    def reduced(self) -> tuple[Axis, ...]:
        return tuple(a for a, flag in zip(self.stage.axes, self.stage.reduced, strict=True) if flag)

    @property
    def results(self) -> Dim:
        return product(a.extent for a in self.kept)

    @property
    def tiles(self) -> Dim:
        return (self.results + (self.lanes - 1)) // self.lanes

    @property
    def share(self) -> Dim:
        """The points of one part: few enough that parts fill the card, but enough for every thread of a block."""
        tiles = (self.results + (self.width - 1)) // self.width
        most = minimum(MOST_CHUNKS, maximum(1, FILL // tiles))
        return maximum(self.least, (self.points + (most - 1)) // most)

    @property
    def least(self) -> int:
        return self.threads // self.width * FEWEST_POINTS

    @property
    def chunks(self) -> Dim:
        """Number of parts: 0 if there are no points."""
        return (self.points + (self.share - 1)) // self.share

    @property
    def swept(self) -> Dim:
        """The points of a result that a block of this kernel reduces."""
        match self.role:
            case Role.WHOLE | Role.ALONE:
                return self.points
            case Role.PARTS:
                return self.share
            case Role.JOIN:
                return self.chunks

    @property
    def threads(self) -> int:
        """Threads of a block: as many as fit their carries into shared memory."""
        if self.role is Role.ALONE:
            return THREADS
        element = sum(c.dtype.bytes for r in self.stage.reductions for c in r.carries)
        threads = THREADS
        while threads * element > MOST_SHARED and threads > 32:
            threads //= 2
        return threads

    def accessed(self) -> Stage:
        """The stage with only the stores of this kernel."""
        if self.role is not Role.PARTS:
            return self.stage
        handed = iter(self.parts)
        reductions = tuple(
            replace(r, stores=tuple(Store(next(handed), const(0), c) for c in r.carries), init=())
            for r in self.stage.reductions
        )
        return replace(self.stage, reductions=reductions)

    @property
    def carries(self) -> tuple[Arg, ...]:
        return tuple(c for r in self.stage.reductions for c in r.carries)


def join_parts(split: SplitKernel) -> SplitKernel:
    """The kernel that combines the parts of another one, in order, and stores the results."""
    stage, results, at = split.stage, split.results, const(0)
    for axis in split.kept:
        at = at * axis.extent + of(axis.symbol)
    parts = iter(split.parts)
    reductions = tuple(
        replace(r, elements=tuple(Load(next(parts), (of(CHUNK) * results + at,)) for _ in r.carries))
        for r in stage.reductions
    )
    joined = Stage((*split.kept, Axis(CHUNK, split.chunks)), (*(False for _ in split.kept), True), (), reductions)
    return replace(split, role=Role.JOIN, stage=joined, lanes=min(split.lanes, JOIN_LANES))


class SplitPrinter:
    """Prints the body of one kernel of a reduction."""

    def __init__(self, split: SplitKernel, facts: Facts) -> None:
        self.split, self.facts = split, facts
        self.emit = Emitter(CudaSpelling())
        self.rows = split.threads // split.lanes
        self.ordered = any(r.fn is None for r in split.stage.reductions)

    def lines(self) -> list[str]:
        """Print the body, a loop over tiles."""
        split, emit = self.split, self.emit
        emit.count_uses(stage_formulas(split.stage))
        with emit.inside(*(a.symbol.name for a in split.kept)) as tile:
            tile.lines += [f"const idx o = min_(i % tiles * {split.lanes} + tx, results - 1);"]
            tile.lines += decode(emit, split.kept, "o")
            tile.lines += self._run()
            tile.block([*self._accumulate(), *self._meet(), *self._finish()])
        count = "tiles * chunks" if split.role is Role.PARTS else "tiles"
        return [
            *emit.scopes[0].lines,
            *self._sizes(),
            f"const int tx = threadIdx.x % {split.lanes}, ty = threadIdx.x / {split.lanes};",
            f"for (idx i = block; i < {count}; i += blocks) {{",
            *(INDENT + line for line in tile.lines),
            *([f"{INDENT}__syncthreads();"] if self.rows > 1 else ()),
            "}",
        ]

    def shared(self) -> tuple[Shared, ...]:
        """One array per carry, through which threads combine."""
        if self.rows == 1:
            return ()
        spell, threads = self.emit.spell, self.split.threads
        return tuple(Shared(spell.memory_type(c.dtype), _shared(c), threads, c.dtype.bytes) for c in self.split.carries)

    def _sizes(self) -> list[str]:
        """Declare the sizes of the reduction and of its parts."""
        split, canonical = self.split, self.facts.canonical
        results, points = (self.emit.dim_scalar(canonical(d)) for d in (split.results, split.points))
        lines = [
            f"const idx results = {results}, all = {points};",
            f"const idx tiles = (results + {split.lanes - 1}) / {split.lanes};",
        ]
        if split.role in (Role.WHOLE, Role.ALONE):
            return [*lines, "const idx points = all;"]
        return [
            *lines,
            f"const idx cuts = (results + {split.width - 1}) / {split.width};",
            f"const idx most = min_({MOST_CHUNKS}, max_(1, {FILL} / cuts));",
            f"const idx share = max_({split.least}, (all + most - 1) / most);",
            "const idx chunks = (all + share - 1) / share;",
            f"const idx points = {'all' if split.role is Role.PARTS else 'chunks'};",
        ]

    def _run(self) -> list[str]:
        """Declare the points of the block and, if the order matters, the thread's run of them."""
        cut = self.split.role is Role.PARTS
        lines = [
            "const idx begin = i / tiles * share, end = min_(points, begin + share);"
            if cut
            else "const idx begin = 0, end = points;",
            f"const bool mine = i % tiles * {self.split.lanes} + tx < results;",
        ]
        if self.ordered:
            lines.append(f"const idx run = (end - begin + {self.rows - 1}) / {self.rows};")
            lines.append("const idx first = begin + ty * run, last = min_(end, first + run);")
        return lines

    def _accumulate(self) -> list[str]:
        """Reduce the points of one thread."""
        emit, split = self.emit, self.split
        names = [c.name for c in split.carries]
        inputs = [a.name for r in split.stage.reductions for a in r.inputs]
        starts = [line for r in split.stage.reductions for line in self._starts(r)]
        first, last, step = ("first", "last", 1) if self.ordered else ("begin + ty", "end", self.rows)
        begun, moved = self._walk(first, step)
        with emit.inside(*(a.symbol.name for a in split.reduced), *names, *inputs) as scope:
            if not begun:
                scope.lines += decode(emit, split.reduced, "d")
            stored = [self._store(s) for s in split.stage.stores]
            if stored:
                scope.lines += ["if (mine) {", *(INDENT + line for line in stored), "}"]
            for reduction in split.stage.reductions:
                for name, element in zip(reduction.inputs, reduction.elements, strict=True):
                    text = emit.value(element)
                    scope.lines.append(f"const {self._type(name)} {name.name} = {text};")
            for reduction in split.stage.reductions:
                if reduction.fn is None:
                    scope.lines.append("if (d == first) {")
                    scope.lines += [INDENT + line for line in _assign(reduction.carries, reduction.inputs)]
                    scope.lines += ["} else {", *(INDENT + line for line in self._update(reduction)), "}"]
                else:
                    scope.lines += self._update(reduction)
        head = f"for (idx d = {first}; d < {last}; d += {step}) {{"
        body = [*scope.lines, *moved]
        return [*starts, *begun, f"#pragma unroll {UNROLLED}", head, *(INDENT + line for line in body), "}"]

    def _walk(self, first: str, step: int) -> tuple[list[str], list[str]]:
        """With several reduced axes: the first point's indices, and statements that advance them by `step` points.

        They avoid divisions by adding digit by digit, with carries.
        """
        axes = self.split.reduced
        if len(axes) < 2:
            return [], []
        begun, added, carried = list[str](), list[str](), list[str]()
        at, by = first, str(step)
        names = [clean(a.symbol.name) for a in axes]
        for number in range(len(axes) - 1, 0, -1):
            name, extent = names[number], self.emit.dim_scalar(axes[number].extent)
            begun.append(f"idx {name} = mod({at}, {extent}), d{number} = floordiv({at}, {extent});")
            begun.append(f"const idx {name}_step = mod({by}, {extent}), step{number} = floordiv({by}, {extent});")
            added.append(f"{name} += {name}_step;")
            carried += [
                f"if ({name} >= {extent}) {{",
                f"{INDENT}{name} -= {extent};",
                f"{INDENT}++{names[number - 1]};",
                "}",
            ]
            at, by = f"d{number}", f"step{number}"
        begun.append(f"idx {names[0]} = {at};")
        added.append(f"{names[0]} += {by};")
        return begun, [*added, *carried]

    def _starts(self, reduction: Reduction) -> list[str]:
        if reduction.fn is not None:
            start = identity(self.emit.spell, reduction)
            return [f"{self._type(c)} {c.name} = {start};" for c in reduction.carries]
        return [f"{self._type(c)} {c.name} = {self.emit.spell.const(0, c.dtype)};" for c in reduction.carries]

    def _meet(self) -> list[str]:
        """Combine the threads of a result by a tree, neighbours first, with one barrier per level."""
        split, emit = self.split, self.emit
        if self.rows == 1:
            return []
        spell, lanes = emit.spell, split.lanes
        keep = [spell.store(_shared(c), "threadIdx.x", c.name, c.dtype) for c in split.carries]
        body = list[str]()
        for reduction in split.stage.reductions:
            lines = [
                f"const {self._type(e)} {e.name} = {spell.load(_shared(c), f'threadIdx.x + half * {lanes}', c.dtype)};"
                for c, e in zip(reduction.carries, reduction.inputs, strict=True)
            ]
            lines += self._update(reduction)
            lines += [spell.store(_shared(c), "threadIdx.x", c.name, c.dtype) for c in reduction.carries]
            head = "if (begin + (ty + half) * run < end) {" if reduction.fn is None else "{"
            body += [head, *(INDENT + line for line in lines), "}"]
        return [
            *keep,
            f"for (int half = 1; half < {self.rows}; half *= 2) {{",
            f"{INDENT}__syncthreads();",
            f"{INDENT}if (ty % (2 * half) == 0) {{",
            *(INDENT * 2 + line for line in body),
            f"{INDENT}}}",
            "}",
        ]

    def _finish(self) -> list[str]:
        """In one thread per result: store the part, or combine with the initial value and store the result."""
        split, emit = self.split, self.emit
        lines = list[str]()
        if split.role is Role.PARTS:
            for carry, part in zip(split.carries, split.parts, strict=True):
                lines.append(emit.spell.store(part.name, "(i / tiles * results + o)", carry.name, carry.dtype))
        else:
            for reduction in split.stage.reductions:
                lines += self._result(reduction)
        return ["if (ty == 0 && mine) {", *(INDENT + line for line in lines), "}"]

    def _result(self, reduction: Reduction) -> list[str]:
        """Combine with the initial value, once, and store."""
        emit = self.emit
        with emit.inside() as before:
            inits = [emit.value(x) for x in reduction.init]
        kinds = [self._type(c) for c in reduction.carries]
        begun = [f"start_{c.name}" for c in reduction.carries]
        before.lines += [f"const {k} {n} = {x};" for k, n, x in zip(kinds, begun, inits, strict=True)]
        pairs = list(zip(reduction.inputs, reduction.carries, strict=True))
        joined = [f"const {self._type(e)} {e.name} = {c.name};" for e, c in pairs]
        joined += [f"{c.name} = start_{c.name};" for c in reduction.carries]
        joined += self._update(reduction)
        if reduction.fn is None:
            empty = [f"{c.name} = start_{c.name};" for c in reduction.carries]
            joined = ["if (points > 0) {", *_indented(joined), "} else {", *_indented(empty), "}"]
        else:
            joined = ["{", *_indented(joined), "}"]
        with emit.inside(*(c.name for c in reduction.carries)) as after:
            stored = [self._store(s) for s in reduction.stores]
            after.lines += stored
        return [*before.lines, *joined, *after.lines]

    def _update(self, reduction: Reduction) -> list[str]:
        """Statements that update the carries by one element."""
        emit, names = self.emit, [c.name for c in reduction.carries]
        with emit.inside(*names, *(e.name for e in reduction.inputs)) as scope:
            news = [emit.value(u) for u in reduction.update]
        if len(news) == 1:
            return [*scope.lines, f"{names[0]} = {news[0]};"]
        fresh = [f"const {self._type(c)} next_{c.name} = {n};" for c, n in zip(reduction.carries, news, strict=True)]
        return ["{", *_indented([*scope.lines, *fresh, *(f"{n} = next_{n};" for n in names)]), "}"]

    def _store(self, store: Store) -> str:
        value = self.emit.value(store.value)
        return self.emit.spell.store(store.target.name, self.emit.dim_scalar(store.offset), value, store.target.dtype)

    def _type(self, arg: Arg) -> str:
        return self.emit.spell.value_type(arg.dtype)


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _shared(carry: Arg) -> str:
    return f"shared_{carry.name}"


def _assign(carries: Sequence[Arg], inputs: Sequence[Arg]) -> list[str]:
    return [f"{c.name} = {e.name};" for c, e in zip(carries, inputs, strict=True)]
