"""The analysis of a program: its arguments, and the verdict about each result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.forms import Length, LinearForm, Position, Region, Signs, form_of, known_in
from shlo_disc.ragged.notes import MaskAssumption, Notes
from shlo_disc.ragged.states import FREE, Cause, Known, Linear, Padding, State, cause_of
from shlo_disc.ragged.steps import AnalysisContext
from shlo_disc.ragged.values import RegionValue, plain_dims, uniform, whole_state
from shlo_disc.ragged.walk import run
from shlo_disc.records import record


@record
class RaggedSize:
    """A size that is as long as a length in each row.

    `argument`: the number of the argument that says the lengths: integers [batch], or a mask [batch, size] whose row is
    1 up to the length, and 0 from there on (`is_mask`). `batch`: the size that counts rows.
    """

    name: str
    size: Dim
    batch: Dim
    argument: int
    is_mask: bool = False


@record(eq=False)
class ResultVerdict:
    """Whether a result's elements within the lengths are independent of the padding; if not, the cause."""

    cause: Cause | None

    @property
    def is_proven(self) -> bool:
        """Whether they are independent."""
        return self.cause is None


@record(eq=False)
class ProgramAnalysis:
    """The analysis of a program. `least`: the least length for which it holds."""

    program: Program
    sizes: tuple[RaggedSize, ...]
    context: AnalysisContext
    verdicts: tuple[ResultVerdict, ...]
    least: int

    @property
    def is_proven(self) -> bool:
        """Whether all results are independent of the padding."""
        return all(verdict.is_proven for verdict in self.verdicts)

    @property
    def assumptions(self) -> tuple[MaskAssumption, ...]:
        """The assumptions of the proof about elements."""
        return tuple(self.context.notes.assumptions.values())

    def within(self, value: RegionValue) -> tuple[LinearForm, ...]:
        """Forms that are at least 0 where positions of a value are within the lengths."""
        return tuple(_inside(value, self.sizes))


def analyse_program(program: Program, sizes: Sequence[RaggedSize]) -> ProgramAnalysis:
    """Analyse a program: for all lengths or, if that does not prove all results, for lengths of at least 1."""
    found = _analysed(program, sizes, 0)
    return found if found.is_proven else _analysed(program, sizes, 1)


def _analysed(program: Program, sizes: Sequence[RaggedSize], least: int) -> ProgramAnalysis:
    most = {each.argument: each.size for each in sizes}
    context = AnalysisContext(Signs(program.facts, least, most, {}), Notes())
    for tensor in program.constants:
        context.values[tensor] = uniform(plain_dims(tensor.shape), FREE)
    results = run(program.body, list(_arguments(program, sizes)), context)
    arguments = program.body.arguments
    decisive = [results[each.result] for each in program.late]
    decisive += [context.of(arguments[each.argument]) for each in program.unbacked_dims]
    shape = next((cause for value in decisive if (cause := cause_of(whole_state(value))) is not None), None)
    count = len(program.returned)
    verdicts = tuple([ResultVerdict(shape or _cause(value, sizes, context)) for value in results[:count]])
    return ProgramAnalysis(program, tuple(sizes), context, verdicts, least)


def _arguments(program: Program, sizes: Sequence[RaggedSize]) -> Iterator[RegionValue]:
    lengths = {each.argument: each for each in sizes}
    for number, parameter in enumerate(program.parameters):
        tensor = parameter.tensor
        own = lengths.get(number)
        dims = plain_dims(tensor.shape)
        if own is not None and not own.is_mask:
            yield uniform(dims, Linear(form_of(Length(number, 0))) if dims[0] else FREE)
            continue
        beyond: State = Padding(Cause(f"the padding of argument {number}", tensor.span))
        inside: State = FREE
        if own is not None:
            one = True if tensor.dtype.is_bool else 1.0 if tensor.dtype.is_float else 1
            inside, beyond = Known(one), Known(type(one)(0))
        yield _ragged(dims, sizes, inside, beyond)


def _ragged(dims: Sequence[tuple[Dim, ...]], sizes: Sequence[RaggedSize], inside: State, beyond: State) -> RegionValue:
    """An argument: a size is ragged in it if it has the size that counts rows, too."""
    factors = [factor for dim in dims for factor in dim]
    conditions = list[LinearForm]()
    for each in sizes:
        if each.batch in factors:
            row = factors.index(each.batch)
            conditions += [
                form_of(Position(k)) - form_of(Length(each.argument, row))
                for k, size in enumerate(factors)
                if size == each.size
            ]
    states: Mapping[Region, State] = {frozenset(): inside}
    for condition in conditions:
        states = {**states, **{region | {condition}: beyond for region in states}}
    return RegionValue(tuple(dims), tuple(conditions), states)


def _inside(value: RegionValue, sizes: Sequence[RaggedSize]) -> Iterator[LinearForm]:
    factors = value.factors
    for condition in value.conditions:
        at = [atom for atom, k in condition.terms if isinstance(atom, Position) and k == 1]
        lengths = [atom for atom, k in condition.terms if isinstance(atom, Length) and k == -1]
        if len(condition.terms) == 2 and len(at) == len(lengths) == 1:
            size = next(each.size for each in sizes if each.argument == lengths[0].source)
            if size.symbols() & factors[at[0].factor].symbols():
                yield form_of(lengths[0]) - form_of(at[0]).plus(1)


def _cause(value: RegionValue, sizes: Sequence[RaggedSize], context: AnalysisContext) -> Cause | None:
    """Why elements of a result within the lengths depend on the padding; None if they do not."""
    within, signs = tuple(_inside(value, sizes)), context.space(value.factors)
    for region, state in value.states.items():
        cause = cause_of(state)
        if cause is None:
            continue
        known = known_in(value.conditions, region)
        if not any(signs.never_negative(each.scaled(-1).plus(-1), within) for each in known):
            return cause
    return None
