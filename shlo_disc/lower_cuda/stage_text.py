"""The stages of a row kernel as CUDA C++: how a team of threads shares the points of a stage.

In the text, `TEAM` is the number of threads of the team and `lane` the thread's index in it. Neighbouring threads have
neighbouring points, so that accesses along the last axis coalesce. Reductions other than known operations, argmax and
argmin may depend on the order: there every thread takes a run of neighbouring points, and partial results are combined
in order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.reductions import combine, identity, levels, picks_position
from shlo_disc.emit.scopes import INDENT, Scope, clean
from shlo_disc.expr.dim import product
from shlo_disc.expr.facts import Facts
from shlo_disc.kernels.kernel import Axis, Reduction, Stage
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.packed import PACK_BYTES, PackedEmitter, Packing, pack_stage
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record


@record
class Threads:
    """Threads that share points: their `count`, the own `place` among them, and the function that reduces over them."""

    count: str
    place: str
    reduce: str
    last: str = ""  # further arguments of `reduce`


TEAM = Threads("TEAM", "lane", "team_reduce<TEAM>", ", parity")
SQUAD = Threads("SQUAD<TEAM>", "squad_lane<TEAM>(lane)", "squad_reduce<SQUAD<TEAM>>")
SQUADS = Threads("(TEAM / SQUAD<TEAM>)", "squad_number<TEAM>(lane)", "")  # each squad takes one point
ALONE = Threads("1", "0", "")


@record
class StagePlan:
    """A stage, whose innermost axis counts packs if there is a `packing`, and the stage without packs."""

    stage: Stage
    packing: Packing | None = None
    unpacked: Stage | None = None

    @property
    def whole(self) -> Stage:
        """The stage, point by point."""
        return self.unpacked or self.stage

    @property
    def width(self) -> int:
        """Contiguous points that a thread takes at once."""
        return self.packing.width if self.packing else 1


def pack(stage: Stage, facts: Facts, most: int = PACK_BYTES) -> StagePlan:
    """Plan a stage in packs of at most `most` lanes, where threads share its innermost axis in any order."""
    if is_ordered(stage) or (stage.reductions and not (stage.reduced and stage.reduced[-1])):
        return StagePlan(stage)
    bare = replace(stage, reductions=tuple(replace(r, stores=()) for r in stage.reductions))
    if (packing := pack_stage(bare, facts, most)) is None:
        return StagePlan(stage)
    results = zip(packing.stage.reductions, stage.reductions, strict=True)
    reductions = tuple(replace(packed, stores=whole.stores) for packed, whole in results)
    return StagePlan(replace(packing.stage, reductions=reductions), packing, stage)


@record
class StageText:
    """The statements of a stage, and the types to declare before the function."""

    lines: list[str]
    types: list[str]


def stage_text(emit: PackedEmitter, plan: StagePlan, number: str) -> StageText:
    """Print one stage inside the scope of its row."""
    emit.count_uses(stage_formulas(plan.stage))
    printer = _StagePrinter(emit, plan, number)
    return StageText(printer.lines(), printer.types)


def is_ordered(stage: Stage) -> bool:
    """Whether a reduction of the stage may depend on the order in which threads are combined."""
    return any(r.fn is None and not picks_position(stage, r) for r in stage.reductions)


def reduces_row(stage: Stage) -> bool:
    """Whether the stage reduces the whole row, which leaves the results in all threads of the team."""
    return bool(stage.reductions) and all(stage.reduced)


class _StagePrinter:
    def __init__(self, emit: PackedEmitter, plan: StagePlan, number: str) -> None:
        self.emit, self.spell = emit, CudaSpelling()
        stage, self.whole = plan.stage, plan.whole
        self.stage = stage
        self.packing = plan.packing
        self.partial = f"{NAME}_partial{number}"
        self.number = number
        self.types = list[str]()
        self.kept = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag]
        self.reduced = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag]

    def lines(self) -> list[str]:
        stage = self.stage
        if not stage.reductions:
            return self._map()
        if not self.kept:
            return self._reduce(TEAM)
        alone = not stage.reduced[-1] or not self.reduced
        threads = TEAM if alone else SQUADS
        with self.emit.inside(*(a.symbol.name for a in self.kept)) as scope:
            scope.block(self._reduce(ALONE if alone else SQUAD))
        return self._spread(self.kept, scope.lines, threads)

    # -- loops

    def _spread(self, axes: Sequence[Axis], body: list[str], threads: Threads) -> list[str]:
        """A loop over points, strided over the threads."""
        name, size, decode = self._points(axes)
        if threads is ALONE:
            head = f"for (idx {name} = 0; {name} < {size}; ++{name}) {{"
        else:
            head = f"for (idx {name} = {threads.place}; {name} < {size}; {name} += {threads.count}) {{"
        if self.emit.held and self.packing:
            place = f"const idx {name} = {threads.place} + u * {threads.count}"
            head = f"SHLO_UNROLL for (int u = 0; u < HELD; ++u) if ({place}; {name} < {size}) {{"
        elif self.packing and self.stage.axes[-1] in axes:
            head = f"SHLO_UNROLL_TWICE {head}"
        return [head, *_indented([*decode, *body]), "}"]

    def _runs(self, axes: Sequence[Axis], body: list[str], threads: Threads) -> list[str]:
        """A loop over points, with a contiguous run per thread."""
        name, size, decode = self._points(axes)
        return [
            f"const idx run{self.number} = ({size} + {threads.count} - 1) / {threads.count};",
            f"const idx first{self.number} = run_first<{threads.count}>({threads.place}, run{self.number}, {size});",
            f"const idx last{self.number} = min_(first{self.number} + run{self.number}, {size});",
            f"for (idx {name} = first{self.number}; {name} < last{self.number}; ++{name}) {{",
            *_indented([*decode, *body]),
            "}",
        ]

    def _points(self, axes: Sequence[Axis]) -> tuple[str, str, list[str]]:
        """The index of a flat loop over `axes`, its extent, and statements that decode a point."""
        size = self.emit.dim_scalar(product(a.extent for a in axes))
        if len(axes) == 1:
            return clean(axes[0].symbol.name), size, []
        name = "point" if all(a in self.kept for a in axes) else "at"
        decode = list[str]()
        for number, axis in enumerate(axes):
            inner = product(a.extent for a in axes[number + 1 :])
            text = name if inner.constant == 1 else f"{name} / {self.emit.dim_scalar(inner)}"
            if number:
                text = f"{text} % {self.emit.dim_scalar(axis.extent)}"
            decode.append(f"const idx {clean(axis.symbol.name)} = {text};")
        return name, size, decode

    # -- maps

    @contextmanager
    def _lanes(self) -> Generator[Scope]:
        """Open the scope of one point, or of one pack."""
        if self.packing is None:
            yield self.emit.scope
            return
        outer = self.emit.scope
        with self.emit.pack(self.packing) as lanes:
            yield lanes
        outer.lines += lanes.lines

    def _map(self) -> list[str]:
        with self.emit.inside(*(a.symbol.name for a in self.stage.axes)) as scope, self._lanes():
            for store in self.stage.stores:
                self.emit.store(store)
        if not self.stage.axes:
            return ["if (lane == 0) {", *_indented(scope.lines), "}"]
        return self._spread(self.stage.axes, scope.lines, TEAM)

    # -- reductions

    def _reduce(self, threads: Threads) -> list[str]:
        """Reduce in each thread, then over the threads; the carries stay visible afterwards."""
        outer = len(self.emit.scopes) - 1
        lines = [line for r in self.stage.reductions for line in self._start(r, threads)]
        carries = [c.name for r in self.stage.reductions for c in r.carries]
        names = [*(a.symbol.name for a in self.reduced), *carries]  # carries change in the loop
        with self.emit.inside(*names) as scope, self._lanes() as point:
            for store in self.stage.stores:
                self.emit.store(store)
            for reduction in self.stage.reductions:
                self._update(reduction, point)
        lines += self._loop(scope.lines, threads)
        if threads is not ALONE:
            lines += self._meet(threads)
        for name in carries:
            self.emit.bind(name, outer)
        lines += [line for r in self.stage.reductions for line in self._finish(r)]
        with self.emit.inside(*carries) as final:  # values computed from the carries come after these
            for store in (s for r in self.stage.reductions for s in r.stores):
                self.emit.store(store)
        for name in carries:
            self.emit.bind(name, outer)
        if threads is ALONE or not final.lines:
            return [*lines, *final.lines]
        return [*lines, f"if ({threads.place} == 0) {{", *_indented(final.lines), "}"]

    def _loop(self, body: list[str], threads: Threads) -> list[str]:
        if not self.reduced:
            return ["{" if threads is ALONE else f"if ({threads.place} == 0) {{", *_indented(body), "}"]
        spread = self._runs if is_ordered(self.whole) and threads is not ALONE else self._spread
        return spread(self.reduced, body, threads)

    def _start(self, reduction: Reduction, threads: Threads) -> list[str]:
        """Declare carries: identities of known operations, else initial values, for the thread of the first points."""
        if reduction.fn is not None:
            (carry,) = reduction.carries
            return [f"{self.spell.value_type(carry.dtype)} {carry.name} = {identity(self.spell, reduction)};"]
        lines = [
            f"{self.spell.value_type(carry.dtype)} {carry.name} = {self.emit.value(init)};"
            for carry, init in zip(reduction.carries, reduction.init, strict=True)
        ]
        return lines if self._picks(reduction) else [*lines, f"bool {_has(reduction)} = {threads.place} == 0;"]

    def _picks(self, reduction: Reduction) -> bool:
        """Whether every thread may start from the initial value and the order does not matter: argmax or argmin."""
        (whole,) = (r for r in self.whole.reductions if r.carries == reduction.carries)
        return picks_position(self.whole, whole)

    def _update(self, reduction: Reduction, scope: Scope) -> None:
        emit = self.emit
        if reduction.fn is not None:
            (carry,), (element,) = reduction.carries, reduction.elements
            text = emit.value(element, levels(self.spell, reduction)[1])
            text = combine(self.spell, reduction, carry.name, text)
            (scope.pending if scope.arrayed else scope.lines).append(f"{carry.name} = {text};")
            return
        texts = [emit.value(x) for x in reduction.elements]
        lines = [
            f"const {self.spell.value_type(name.dtype)} {name.name} = {text};"
            for name, text in zip(reduction.inputs, texts, strict=True)
        ]
        has, picks = _has(reduction), self._picks(reduction)
        with emit.inside(*(a.name for a in (*reduction.carries, *reduction.inputs))) as step:  # one step per lane
            news = [emit.value(u) for u in reduction.update]
        lines += step.lines
        for carry, element, text in zip(reduction.carries, reduction.inputs, news, strict=True):
            kind = self.spell.value_type(carry.dtype)
            either = text if picks else f"{has} ? {text} : {element.name}"
            lines.append(f"const {kind} next_{carry.name} = {either};")
        lines += [f"{carry.name} = next_{carry.name};" for carry in reduction.carries]
        lines += [] if picks else [f"{has} = true;"]
        (scope.pending if scope.arrayed else scope.lines).extend(lines)

    def _meet(self, threads: Threads) -> list[str]:
        """Reduce over the threads, with all reductions of the stage in one struct."""
        fields = [(self.spell.value_type(c.dtype), c.name) for r in self.stage.reductions for c in r.carries]
        fields += [("bool", _has(r)) for r in self.stage.reductions if r.fn is None and not self._picks(r)]
        self.types.append(f"struct {self.partial} {{ {' '.join(f'{kind} {name};' for kind, name in fields)} }};")
        body = [line for r in self.stage.reductions for line in self._join(r)]
        names = ", ".join(name for _, name in fields)
        join, met = f"join{self.number}", f"met{self.number}"
        return [
            f"const auto {join} = [&](const {self.partial}& left, const {self.partial}& right) {{",
            f"{INDENT}{self.partial} both;",
            *_indented(body),
            f"{INDENT}return both;",
            "};",
            f"const {self.partial} {met} = {threads.reduce}({self.partial}{{{names}}}, {join}{threads.last});",
            *(f"{name} = {met}.{name};" for _, name in fields),
        ]

    def _join(self, reduction: Reduction) -> list[str]:
        if reduction.fn is not None:
            name = reduction.carries[0].name
            return [f"both.{name} = {combine(self.spell, reduction, f'left.{name}', f'right.{name}')};"]
        has, picks = _has(reduction), self._picks(reduction)
        lines = list[str]()
        first, second = "left.{0}", "right.{0}"
        if picks:
            place = reduction.carries[1].name
            lines.append(f"const bool swaps = right.{place} < left.{place};")
            first, second = "swaps ? right.{0} : left.{0}", "swaps ? left.{0} : right.{0}"
        for carry, element in zip(reduction.carries, reduction.inputs, strict=True):
            kind = self.spell.value_type(carry.dtype)
            lines.append(f"const {kind} {carry.name} = {first.format(carry.name)};")
            lines.append(f"const {kind} {element.name} = {second.format(carry.name)};")
        inside = [a.name for a in (*reduction.carries, *reduction.inputs)]
        with self.emit.inside(*inside) as scope:
            news = [self.emit.value(u) for u in reduction.update]
        for carry, element, text in zip(reduction.carries, reduction.inputs, news, strict=True):
            some = text if picks else f"!left.{has} ? {element.name} : !right.{has} ? {carry.name} : {text}"
            scope.lines.append(f"both.{carry.name} = {some};")
        scope.lines += [] if picks else [f"both.{has} = left.{has} || right.{has};"]
        return ["{", *_indented([*lines, *scope.lines]), "}"]

    def _finish(self, reduction: Reduction) -> list[str]:
        """Combine with the initial value, and round."""
        if reduction.fn is None:
            return []
        (carry,), (init,) = reduction.carries, reduction.init
        start, whole = self.emit.value(init, levels(self.spell, reduction)[0]), carry.name
        if start != identity(self.spell, reduction):
            whole = combine(self.spell, reduction, start, whole)
        whole = self.spell.rounded(whole, carry.dtype, exact=False)
        return [] if whole == carry.name else [f"{carry.name} = {whole};"]


def _has(reduction: Reduction) -> str:
    """The flag of whether a thread has had an element (or holds the initial value)."""
    return f"has_{reduction.carries[0].name}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]
