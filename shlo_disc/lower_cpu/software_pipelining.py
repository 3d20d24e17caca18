"""Software pipelining: the stages of a row kernel in one loop, each at different rows.

Run one after the other, the loops of a row's stages each fill and drain the pipelines, and each is bound by one
resource: a maximum by memory, an exponential by the multipliers, a quotient by the divider. Run together, they overlap.
So in iteration t stage s computes group t - s of two rows, all stages in one loop over the lanes (software pipelining
of the loop over rows). A value for a later stage is kept for as many iterations as lie between them: results of
reductions in variables that are copied on in every iteration, elements in one of several scratch copies used in
rotation.
`pipeline_schedule` defines the order, and proves that nothing is overwritten before it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import EXACT
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Sym, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Load, Scalar, Unary
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, RowKernel, Scratch, Stage
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_dims, stage_formulas
from shlo_disc.lower_cpu.pipeline_schedule import Finish, Move, PassedValue, schedule_of, scratch_of
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.lane_reduction import LaneReduction
from shlo_disc.lower_cpu.stages.loops import RowContext, decode
from shlo_disc.records import record

GROUP = 2  # rows: four need more registers than there are
MOST_STAGES = 3  # five gain nothing (docs/explanation/kernels.md)
# Functions of a few instructions: a stage without others is bound by loads, which hit a cache if the row was just read.
_CHEAP = EXACT | {UnaryFn.NOT, UnaryFn.POPCNT, UnaryFn.COUNT_LEADING_ZEROS, UnaryFn.REAL, UnaryFn.IMAG}


def can_pipeline(kernel: RowKernel) -> bool:
    """Whether the stages of an unrolled kernel are loops over the same lanes, and one computes a costly function."""
    stages = kernel.stages
    if not 2 <= len(stages) <= MOST_STAGES or any(len(stage.axes) != 1 for stage in stages):
        return False
    if any(stage.axes[0].extent != stages[0].axes[0].extent for stage in stages):
        return False
    if any(stage.reductions and not stage.reduced[0] for stage in stages):
        return False
    # before a stage is active, results that it reads of other stages are not set yet: no address may depend on them
    if any(dim.data() for stage in stages for dim in stage_dims(stage)):
        return False
    return any(map(_computes, stages))


def _computes(stage: Stage) -> bool:
    """Whether the stage computes, for each element, a function of more than a few instructions."""
    deps, lane = Dependence(), stage.axes[0].symbol.name
    functions = (node for node in nodes_of(stage_formulas(stage)) if isinstance(node, Unary))
    return any(node.fn not in _CHEAP and lane in deps.of(node) for node in functions)


class _Renamer(DimRewriter):
    """Gives all that one stage reads names of its own, as stages process different rows at a time."""

    def __init__(self, number: int, symbols: Mapping[Sym, Sym], variables: Mapping[str, Arg]) -> None:
        change = {old: of(new) for old, new in symbols.items()}
        super().__init__(lambda dim: dim.substitute(change))
        self._number, self._variables = number, variables

    def _rebuild(self, node: Scalar) -> Scalar:
        match node:
            case Arg(name, _):
                return self._variables.get(name, node)
            case Load(Scratch() as scratch, index):
                return Load(self.buffer(scratch), tuple(map(self.dim, index)))
            case _:
                return super()._rebuild(node)

    def buffer(self, scratch: Scratch) -> Scratch:
        """The scratch copy of the stage's current rows."""
        return replace(scratch, name=f"{scratch.name}_{self._number}")

    def stage(self, stage: Stage, lane: Axis) -> Stage:
        """The whole stage, with its loop over `lane`."""
        renamed = rewrite_stage(stage, self)
        stores = [
            replace(store, target=self.buffer(store.target)) if isinstance(store.target, Scratch) else store
            for store in renamed.stores
        ]
        return replace(renamed, axes=(lane,), stores=tuple(stores))


@record
class _StageText:
    """The statements of a stage in an iteration: before the loop, for a vector, for the last lanes, after the loop."""

    before: Sequence[str]
    whole: Sequence[str]
    rest: Sequence[str]
    after: Sequence[str]


class PipelinedRows:
    """Prints the pipelined loop of a kernel whose rows from `row` on are computed in groups."""

    def __init__(self, row: RowContext, kernel: RowKernel) -> None:
        self._row, self._emit, self._kernel = row, row.emit, kernel
        self._lane = kernel.stages[0].axes[0]
        self._schedule = schedule_of(kernel)

    def lines(self) -> list[str]:
        """The statements; afterwards `row` is past the last group."""
        texts = [self._stage(number) for number in range(len(self._kernel.stages))]
        return [
            f"if (const int64_t groups = (end - row) / {GROUP}; groups > 0) {{",
            f"{INDENT}constexpr int R = {GROUP};",
            *(f"{INDENT}{self._kind(value)} {value.variable.name}[R] = {{}};" for value in self._schedule.passed),
            f"{INDENT}for (int64_t iteration = 0; iteration < groups + {len(texts) - 1}; ++iteration) {{",
            *(INDENT * 2 + line for line in self._iteration(texts)),
            f"{INDENT}}}",
            f"{INDENT}row += groups * R;",
            "}",
        ]

    def _iteration(self, texts: Sequence[_StageText]) -> list[str]:
        lane, last = clean(self._lane.symbol.name), self._emit.dim_scalar(self._lane.extent)
        lines = [line for text in texts for line in text.before]
        lines += [
            f"int64_t {lane} = 0;",
            f"for (; {lane} + {LANES} <= {last}; {lane} += {LANES}) {{",
            *self._side_by_side([text.whole for text in texts]),
            "}",
            f"if ({lane} < {last}) {{",
            f"{INDENT}const int64_t left = {last} - {lane};",
            *self._side_by_side([text.rest for text in texts]),
            "}",
        ]
        for end in self._schedule.ends:
            match end:
                case Finish(number):
                    lines += self._guarded(number, texts[number].after)
                case Move(value):
                    lines.append(_copied(value))
        return lines

    def _side_by_side(self, bodies: Sequence[Sequence[str]]) -> list[str]:
        """The bodies of all stages, the last first, as it reads what an earlier iteration stored."""
        guarded = [self._guarded(number, body) for number, body in enumerate(bodies)]
        return [INDENT + line for body in reversed(guarded) for line in body]

    def _guarded(self, number: int, body: Sequence[str]) -> list[str]:
        return [f"if (is_on_{number}) {{", *(INDENT + line for line in body), "}"] if body else []

    def _kind(self, value: PassedValue) -> str:
        return self._row.spell.value_type(value.carry.dtype)

    def _stage(self, number: int) -> _StageText:
        kernel, emit = self._kernel, self._emit
        stage, lane = kernel.stages[number], self._lane
        rows = [Axis(Sym(f"{axis.symbol.name}_{number}"), axis.extent) for axis in kernel.rows]
        symbols = {old.symbol: new.symbol for old, new in zip(kernel.rows, rows, strict=True)}
        variables = self._schedule.variables_of(number)
        renamer = _Renamer(number, {**symbols, stage.axes[0].symbol: lane.symbol}, variables)
        stage = renamer.stage(stage, lane)
        is_on, group = f"(uint64_t)(iteration - {number}) < (uint64_t)groups", f"max_(iteration - {number}, 0)"
        before = [
            f"// stage {number}",
            f"const bool is_on_{number} = {is_on if number else 'iteration < groups'};",
            f"const int64_t row_{number} = row + min_({group if number else 'iteration'}, groups - 1) * R;",
        ]
        for scratch in scratch_of(kernel.stages[number]):
            before += self._buffer(scratch, renamer.buffer(scratch), number)
        with emit.inside("%row", *(axis.symbol.name for axis in rows), arrayed=True) as scope:
            emit.arrays.update(arg.name for arg in variables.values())
            for arg in variables.values():
                emit.bind(arg.name, emit.row_scope)
            decode(emit, scope, rows, f"row_{number} + k", arrayed=True)
            emit.count_uses(list[Node](stage_formulas(stage)))
            printer = LaneReduction(self._row, stage, {})
            whole, rest = printer.step(""), printer.step("left")
            after = [*printer.finish(), *map(_copied, self._schedule.passed_by(number))] if stage.reductions else []
        return _StageText([*before, *scope.lines, *printer.starts()], whole, rest, after)

    def _buffer(self, scratch: Scratch, own: Scratch, number: int) -> list[str]:
        """Declarations of the scratch copy of a stage's current rows."""
        kind, count = self._row.spell.memory_type(scratch.dtype), self._schedule.copies_of(scratch)
        place = (
            f"(iteration + {-number % count})" if number % count else "iteration"
        )  # iteration - number, modulo count
        return [
            f"{kind}* const {own.name} = {scratch.name} + (uint64_t){place} % {count} * R * {scratch.name}_row;",
            f"const int64_t {own.name}_row = {scratch.name}_row;",
        ]


def _copied(value: PassedValue) -> str:
    """The statement that copies a value to the variable of a later stage."""
    return f"for (int k = 0; k < R; ++k) {value.variable.name}[k] = {value.source.name}[k];"
