"""Index-set splitting: loops are cut where a condition on their index changes, so that no element tests it.

A concatenation, a pad, an update of a slice or a causal mask selects by conditions `lower <= c*i + rest < upper` or
`c*i + rest < bound`. If everything but the loop's own symbol `i` is loop-invariant, the condition changes at most
twice, at seams that are known before the loop starts. Clamped to the loop's range, they cut it into segments in which
the condition is constant and the branch not taken is removed (index set splitting; Griebl, Feautrier and Lengauer,
"Index set splitting", IJPP 2000). A segment is a stage of its own whose symbol starts at 0 again; it may be empty. The
extents of a loop's segments add up to its extent, term by term.

A seam may move with the row (`j <= i`) or depend on data (`dynamic_update_slice`): its value is then known only inside
the kernel (a hidden seam).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from shlo_disc.analysis.access import children
from shlo_disc.expr.dim import Dim, Max, Min, Sym, const, maximum, minimum, of
from shlo_disc.expr.dim_values import exact_dim
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Arg,
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    FromDim,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.expr.simplify import FALSE, TRUE, binary, in_range, simplify
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import ArgRewriter, DimRewriter
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_formulas
from shlo_disc.records import record

MOST_SEGMENTS = 8  # per stage: with more, code size costs more than the conditions
SHORTEST = 8  # least trip count of a loop worth cutting, where it is constant


@record
class Seams:
    """The seams to cut for a target.

    `maps`: also those of kernels without reductions, including along rows. `hidden`: also those known only inside the
    kernel. `strips`: also where the quotient of an index and a size changes (`strip_mining.mine_strips`). `columns`:
    also along the innermost axis.
    """

    maps: bool
    hidden: bool
    strips: bool
    columns: bool = True


@record
class _SeamCut:
    """`condition` is `inside` for `first <= symbol < last` of an axis, and not `inside` elsewhere."""

    condition: Scalar
    axis: int
    first: Dim
    last: Dim
    inside: bool


def split_at_seams(kernel: RowKernel, facts: Facts, wanted: Seams) -> RowKernel:
    """Cut the loops of every stage at their seams; the rows of a single independent stage are cut too."""
    independent = not kernel.scratch and not any(s.reductions for s in kernel.stages)
    if independent and not wanted.maps:
        return kernel
    stages = [
        part for stage in with_known_scratch(kernel.stages) for part in split_stage(stage, kernel.rows, facts, wanted)
    ]
    if independent and kernel.rows and len(stages) == 1:
        (stage,) = stages
        axes = (*kernel.rows, *stage.axes)
        lifted = replace(stage, axes=axes, reduced=(False,) * len(axes))
        parts = _StageCutter(facts, frozenset(), wanted).split(lifted)
        if len(parts) > 1:
            return replace(kernel, rows=(), stages=tuple(parts))
    return replace(kernel, stages=tuple(stages))


def split_stage(stage: Stage, rows: Sequence[Axis], facts: Facts, wanted: Seams) -> list[Stage]:
    """The segments of a stage, in order. `rows`: axes that are fixed during a stage."""
    for axis in rows:
        facts = facts.with_index(axis.symbol, axis.extent)
    return _StageCutter(facts, frozenset(axis.symbol.name for axis in rows), wanted).split(stage)


@record
class _StageCutter:
    """Cuts the stages of one kernel. `rows`: symbols that are fixed during a stage."""

    facts: Facts
    rows: frozenset[str]
    wanted: Seams

    def split(self, stage: Stage) -> list[Stage]:
        """The segments of a stage, in order; the stage itself if it has none, or too many."""
        done, waiting = list[Stage](), [stage]
        while waiting:
            current = waiting.pop(0)
            if (cut := self._find(current)) is None:
                done.append(current)
            else:
                waiting = [*self._segments(current, cut), *waiting]
            if len(done) + len(waiting) > MOST_SEGMENTS:
                return [stage]
        busy = [s for s in done if not _is_idle(s)] or done[-1:]
        return _chained(busy)

    # -- where

    def _find(self, stage: Stage) -> _SeamCut | None:
        deps = Dependence()
        for condition in _conditions(stage_formulas(stage)):
            for number, axis in enumerate(stage.axes if self.wanted.columns else stage.axes[:-1]):
                short = axis.extent.constant is not None and axis.extent.constant < SHORTEST
                if not short and _may_cut(stage, number) and self._steady(condition, axis, deps):
                    cut = _solve(condition, number, axis.symbol, deps)
                    if cut is None or _multiplies_extremes(cut.first, cut.last, axis.extent):
                        continue
                    if self.wanted.hidden or not self._is_hidden(cut):
                        return cut
        return None

    def _steady(self, condition: Scalar, axis: Axis, deps: Dependence) -> bool:
        """Whether a condition depends on the loop, and otherwise only on what is invariant during the stage."""
        names = deps.of(condition)
        return axis.symbol.name in names and names <= self.rows | {axis.symbol.name}

    def _is_hidden(self, cut: _SeamCut) -> bool:
        deps = Dependence()
        return any(bool(d.data()) or bool(deps.of(d)) for d in (cut.first, cut.last))

    # -- the segments

    def _segments(self, stage: Stage, cut: _SeamCut) -> Iterator[Stage]:
        """The segments before, between and after the two seams, without those that are provably empty."""
        extent = stage.axes[cut.axis].extent
        first = self._clamped(cut.first, const(0), extent)
        last = self._clamped(cut.last, first, extent)
        bounds = ((const(0), first, not cut.inside), (first, last, cut.inside), (last, extent, not cut.inside))
        for start, stop, holds in bounds:
            if start != stop:
                yield self._segment(stage, cut, start, stop - start, holds=holds)

    def _clamped(self, seam: Dim, low: Dim, high: Dim) -> Dim:
        seam, facts = self.facts.canonical(seam), self.facts
        if facts.at_least(low, seam).is_true:
            return low
        if facts.at_least(seam, high).is_true:
            return high
        if not facts.at_least(seam, low).is_true:
            seam = maximum(seam, low)
        return seam if facts.at_least(high, seam).is_true else minimum(seam, high)

    def _segment(self, stage: Stage, cut: _SeamCut, start: Dim, extent: Dim, *, holds: bool) -> Stage:
        """The part of a stage from `start` on.

        It may have no elements, and reductions start and end there all the same: for what they do then, nothing is
        known of the axes that they reduce.
        """
        axis = stage.axes[cut.axis]
        axes = (*stage.axes[: cut.axis], Axis(axis.symbol, extent), *stage.axes[cut.axis + 1 :])
        inside = ends = self.facts
        for each, is_reduced in zip(axes, stage.reduced, strict=True):
            inside = inside.with_index(each.symbol, each.extent)
            ends = ends if is_reduced else ends.with_index(each.symbol, each.extent)
        change = {axis.symbol: of(axis.symbol) + start}
        decided = {cut.condition: TRUE if holds else FALSE}
        rewriters = [Decided(facts, change, decided) for facts in (inside, ends)]
        return replace(rewrite_stage(stage, *rewriters), axes=axes)


def _multiplies_extremes(*dims: Dim) -> bool:
    """Whether a size is a product with a minimum or a maximum, as in a pad with unknown interior padding.

    Nothing can be proven of segments of such sizes, each attempt takes long, and the formula doubles with every nested
    pad.
    """
    products = (product for dim in dims for product, _ in dim.terms)
    return any(len(product) > 1 and any(isinstance(atom, Min | Max) for atom in product) for product in products)


class Decided(DimRewriter):
    """Substitutes symbols, and simplifies formulas under the facts and decided conditions of a segment."""

    def __init__(self, facts: Facts, change: Mapping[Sym, Dim], decided: Mapping[Scalar, Const] | None = None) -> None:
        super().__init__(lambda dim: facts.canonical(dim.substitute(change)))
        self._facts, self._decided = facts, decided or {}

    def _rebuild(self, node: Scalar) -> Scalar:
        if (known := self._decided.get(node)) is not None:
            return known
        match node:
            case Select(condition, then, other):
                match self.scalar(condition):
                    case Const(value):
                        return self.scalar(then if value else other)
                    case undecided:
                        return simplify(Select(undecided, self.scalar(then), self.scalar(other)), self._facts)
            case InRange(dim, lower, upper):
                return in_range(self.dim(dim), self.dim(lower), self.dim(upper), self._facts)
            case Compare():
                return self._compared(simplify(super()._rebuild(node), self._facts))
            case Unary() | Binary() | Convert() | Bitcast() | ReducePrecision() | FromDim():
                return simplify(super()._rebuild(node), self._facts)
            case _:
                return super()._rebuild(node)

    def _compared(self, node: Scalar) -> Scalar:
        if not isinstance(node, Compare) or (bound := _bound(node)) is None:
            return node
        difference, limit, below = bound
        if self._facts.at_least(difference, limit).is_true:
            return FALSE if below else TRUE
        if self._facts.at_least(limit - 1, difference).is_true:
            return TRUE if below else FALSE
        return node


def _conditions(roots: Iterable[Node]) -> Iterator[Scalar]:
    """The comparisons of indices that choose between values, outer ones first.

    A condition may guard loads, so seams that are read from memory are not considered below another condition.
    """
    seen, waiting = set[tuple[Node, bool]](), [(root, False) for root in roots]
    while waiting:
        node, guarded = waiting.pop(0)
        if (node, guarded) in seen:
            continue
        seen.add((node, guarded))
        if isinstance(node, Select):
            yield from (c for c in _comparisons(node.condition) if not (guarded and _reads(c)))
            waiting += [(node.condition, guarded), (node.then, True), (node.other, True)]
        else:
            waiting += [(child, guarded) for child in children(node)]


def _comparisons(condition: Scalar) -> Iterator[Scalar]:
    match condition:
        case InRange() | Compare():
            yield condition
        case Unary(UnaryFn.NOT, x):
            yield from _comparisons(x)
        case Binary(BinaryFn.AND | BinaryFn.OR, a, b):
            yield from _comparisons(a)
            yield from _comparisons(b)
        case _:
            pass


def _reads(condition: Scalar) -> bool:
    """Whether deciding a condition loads from memory."""
    return any(True for _ in children(condition))


def _may_cut(stage: Stage, axis: int) -> bool:
    """Whether running the segments of an axis one after the other equals running the whole loop.

    Elements of a kept axis are independent. A reduction continues from the result of the previous segment, which
    preserves the order of its elements if the axis is outermost.
    """
    if not stage.reductions or not stage.reduced[axis]:
        return True
    return all(stage.reduced) and (axis == 0 or all(r.fn is not None for r in stage.reductions))


def _solve(condition: Scalar, number: int, symbol: Sym, deps: Dependence) -> _SeamCut | None:
    """Where a condition on `symbol` begins to hold, and where it ends."""
    match condition:
        case InRange(dim, lower, upper):
            low, high = _seam(dim - lower, symbol, deps), _seam(dim - upper, symbol, deps)
            if low is None or high is None:
                return None
            first, last = (low[0], high[0]) if low[1] else (high[0], low[0])
            return _SeamCut(condition, number, first, last, inside=True)
        case Compare():
            if (bound := _bound(condition)) is None or (seam := _seam(bound[0] - bound[1], symbol, deps)) is None:
                return None
            return _SeamCut(condition, number, const(0), seam[0], inside=seam[1] == bound[2])
        case _:
            return None


def _seam(dim: Dim, symbol: Sym, deps: Dependence) -> tuple[Dim, bool] | None:
    """The value of `symbol` from which on the sign of `dim` differs, and whether `dim >= 0` from there on."""
    if (split := dim.linear(symbol)) is None or (step := split[0].constant) is None or not step:
        return None
    rest = split[1]
    if symbol.name in deps.of(rest):
        return None
    return ((-rest + (step - 1)) // step, True) if step > 0 else (rest // -step + 1, False)


def _bound(node: Compare) -> tuple[Dim, Dim, bool] | None:
    """Write an ordering of two indices as `difference >= limit`, or `difference < limit` if the flag is true."""
    a, b = exact_dim(node.a), exact_dim(node.b)
    if a is None or b is None:
        return None
    match node.direction:
        case Direction.LT:
            return a - b, const(0), True
        case Direction.LE:
            return a - b, const(1), True
        case Direction.GT:
            return a - b, const(1), False
        case Direction.GE:
            return a - b, const(0), False
        case _:
            return None


def with_known_scratch(stages: Sequence[Stage]) -> Iterator[Stage]:
    """Replace loads of scratch by the select stored there, where one of its sides is a literal."""
    known = dict[tuple[tuple[Axis, ...], Load], Select]()
    for stage in stages:
        here = {load: value for (axes, load), value in known.items() if axes == stage.axes}
        yield rewrite_stage(stage, _KnownLoads(here)) if here else stage
        for store in stage.stores:
            match store:
                case Store(Scratch() as scratch, offset, Select(condition, then, other)) if isinstance(
                    condition, InRange | Compare
                ) and (isinstance(then, Const) or isinstance(other, Const)):
                    load = Load(scratch, (offset,))
                    sides = (x if isinstance(x, Const) else load for x in (then, other))
                    known[stage.axes, load] = Select(condition, *sides)
                case _:
                    pass


class _KnownLoads(DimRewriter):
    """Replaces loads from scratch by formulas."""

    def __init__(self, known: Mapping[Load, Select]) -> None:
        super().__init__(lambda dim: dim)
        self._known = known

    def _rebuild(self, node: Scalar) -> Scalar:
        return self._known.get(node, node) if isinstance(node, Load) else super()._rebuild(node)


def _is_idle(segment: Stage) -> bool:
    """Whether a segment only combines neutral elements into its results."""
    return (
        bool(segment.reductions)
        and all(segment.reduced)
        and not segment.stores
        and all(
            r.fn is not None and binary(r.fn, r.carries[0], r.elements[0]) == r.carries[0] for r in segment.reductions
        )
    )


def _chained(segments: list[Stage]) -> list[Stage]:
    """Start each segment's reductions from the previous segment's results; only the last segment stores."""
    if len(segments) == 1 or not segments[0].reductions or not all(segments[0].reduced):
        return segments
    chained, before = list[Stage](), dict[str, Scalar]()
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        reductions = list[Reduction]()
        for reduction in segment.reductions:
            init = tuple(before.get(c.name, x) for c, x in zip(reduction.carries, reduction.init, strict=True))
            carries = (
                reduction.carries if last else tuple(Arg(f"{c.name}_{number}", c.dtype) for c in reduction.carries)
            )
            renamed = dict(zip((c.name for c in reduction.carries), carries, strict=True))
            update = tuple(map(ArgRewriter(renamed).scalar, reduction.update))
            stores = reduction.stores if last else ()
            reductions.append(replace(reduction, carries=carries, init=init, update=update, stores=stores))
            before |= renamed
        chained.append(replace(segment, reductions=tuple(reductions)))
    return chained
