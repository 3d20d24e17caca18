"""The schedule of a software pipeline's iteration, and the lifetime rule of the values that stages pass on.

In iteration t, stage s processes group t - s of the rows; so stage s processes group g in iteration g + s. An iteration
has moments: what stages compute before the loop (`BEFORE`), the loop over the lanes, with all stages in it (`LOOP`),
and then in order the `ends`, which finish a reduction or copy a value to the variable of a later stage.

A value that one stage passes to another is kept in a place. A variable has one copy, which the next group overwrites
one iteration later; scratch has c copies used in rotation, so group g + c overwrites the copy of group g, c iterations
later. For a place with c copies, written at stage w, moment p, and read at stage r, moment q, every group reads its own
value if

    (w, p) < (r, q) < (w + c, p)

as pairs: after it is written, and before it is overwritten. This is the lifetime rule of software pipelining (Lam,
"Software pipelining", PLDI 1988, calls copies for values that live longer "modulo variable expansion"). `check` proves
it for every place of a kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Load
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.records import record

BEFORE, LOOP, ENDS = 0, 1, 2  # the moments of an iteration; end number k is at ENDS + k


@record
class PassedValue:
    """The result of a reduction of stage `producer`, as the later stage `stage` reads it."""

    carry: Arg
    producer: int
    stage: int

    @property
    def variable(self) -> Arg:
        """The variable that holds it. Each stage has its own, as stages process different rows at a time."""
        return Arg(f"{self.carry.name}_{self.stage}", self.carry.dtype)

    @property
    def source(self) -> Arg:
        """What is copied there: the result itself, or the variable of the stage before."""
        return (
            self.carry
            if self.stage == self.producer + 1
            else PassedValue(self.carry, self.producer, self.stage - 1).variable
        )


@record
class Finish:
    """Stage `stage` finishes its reductions and passes the results to the next stage."""

    stage: int


@record
class Move:
    """A value that is needed more than one iteration later is copied to the variable of the next stage."""

    value: PassedValue


End: TypeAlias = Finish | Move


@record
class Schedule:
    """The variables between stages of a kernel, the numbers of copies of its scratch, the ends in order."""

    passed: tuple[PassedValue, ...]
    copies: tuple[tuple[Scratch, int], ...]
    ends: tuple[End, ...]

    def variables_of(self, stage: int) -> dict[str, Arg]:
        """The variables that a stage reads, by the names of the reductions' results."""
        return {value.carry.name: value.variable for value in self.passed if value.stage == stage}

    def passed_by(self, stage: int) -> list[PassedValue]:
        """The results that a stage passes to the next one."""
        return [value for value in self.passed if value.producer == stage and value.stage == stage + 1]

    def copies_of(self, scratch: Scratch) -> int:
        """Number of groups whose elements a scratch holds at a time."""
        return dict(self.copies)[scratch]


def schedule_of(kernel: RowKernel) -> Schedule:
    """The schedule of a kernel: later stages first, so that they read values before these are overwritten.

    Raises:
        InternalError: the schedule breaks the lifetime rule.
    """
    passed = list[PassedValue]()
    for producer, stage in enumerate(kernel.stages):
        for carry in (reduction.carries[0] for reduction in stage.reductions):
            readers = [n for n in range(producer + 1, len(kernel.stages)) if carry.name in _reads(kernel.stages[n])]
            passed += [PassedValue(carry, producer, n) for n in range(producer + 1, max(readers, default=producer) + 1)]
    ends = list[End]()
    for number in reversed(range(len(kernel.stages))):
        moved = [one for one in passed if one.producer == number and one.stage > number + 1]
        ends += [Move(one) for one in sorted(moved, key=lambda one: -one.stage)]
        ends += [Finish(number)] if kernel.stages[number].reductions else []
    found = Schedule(tuple(passed), tuple((s, copies(kernel, s)) for s in kernel.scratch), tuple(ends))
    check(kernel, found)
    return found


def copies(kernel: RowKernel, scratch: Scratch) -> int:
    """Number of groups kept at a time: each from the iteration that stores its elements to the last that reads them."""
    users = [number for number, stage in enumerate(kernel.stages) if scratch in {*_loaded(stage), *_stored(stage)}]
    return users[-1] - users[0] + 1 if users else 1


def scratch_of(stage: Stage) -> list[Scratch]:
    """The scratch that a stage reads or writes, sorted by name."""
    return sorted({*_loaded(stage), *_stored(stage)}, key=lambda one: one.name)


@record
class CopyAccess:
    """A write or read by a stage of its group's copy of a place, at a moment of an iteration."""

    place: str
    copies: int
    stage: int
    moment: int


def check(kernel: RowKernel, schedule: Schedule) -> None:
    """Prove the lifetime rule for all values that the stages of a kernel pass on under a schedule.

    Raises:
        InternalError: a value is read before it is written, or after it is overwritten, or two values share a place.
    """
    names = Counter(value.variable.name for value in schedule.passed)
    names.update(carry.name for stage in kernel.stages for r in stage.reductions for carry in r.carries)
    if shared := [name for name, count in names.items() if count > 1]:
        raise InternalError(f"software pipelining: found several numbers named {shared[0]}, expected one")
    writes, reads = list(_writes(kernel, schedule)), list(_all_reads(kernel, schedule))
    for read in reads:
        writers = [write for write in writes if write.place == read.place]
        if not writers:
            raise InternalError(
                f"software pipelining: stage {read.stage} reads {read.place}, which no stage has written"
            )
        for write in writers:
            if not (write.stage, write.moment) < (read.stage, read.moment):
                raise InternalError(f"software pipelining: {_described(read)} before {_described(write)} writes it")
            if not (read.stage, read.moment) < (write.stage + write.copies, write.moment):
                raise InternalError(
                    f"software pipelining: {_described(read)} after {_described(write)} has overwritten it"
                )


def _described(access: CopyAccess) -> str:
    return f"{access.place} of {access.copies} copies, at stage {access.stage}, moment {access.moment}"


def _writes(kernel: RowKernel, schedule: Schedule) -> Iterator[CopyAccess]:
    for number, stage in enumerate(kernel.stages):
        for scratch in _stored(stage):
            yield CopyAccess(scratch.name, schedule.copies_of(scratch), number, LOOP)
    for moment, end in enumerate(schedule.ends, start=ENDS):
        match end:
            case Finish(number):
                yield from (CopyAccess(value.variable.name, 1, number, moment) for value in schedule.passed_by(number))
                for scratch in _stored_late(kernel.stages[number]):
                    yield CopyAccess(scratch.name, schedule.copies_of(scratch), number, moment)
            case Move(value):
                yield CopyAccess(value.variable.name, 1, value.stage - 1, moment)


def _all_reads(kernel: RowKernel, schedule: Schedule) -> Iterator[CopyAccess]:
    """The reads of all stages, each assumed at every moment from before the loop to the stage's own end."""
    ends = {end.stage: moment for moment, end in enumerate(schedule.ends, start=ENDS) if isinstance(end, Finish)}
    for number, stage in enumerate(kernel.stages):
        for moment in (BEFORE, LOOP, *([ends[number]] if number in ends else [])):
            for name in sorted(_reads(stage)):
                yield CopyAccess(_place(schedule, name, number), 1, number, moment)
            for scratch in _loaded(stage):
                yield CopyAccess(scratch.name, schedule.copies_of(scratch), number, moment)
    for moment, end in enumerate(schedule.ends, start=ENDS):
        if isinstance(end, Move):
            yield CopyAccess(end.value.source.name, 1, end.value.stage - 1, moment)


def _place(schedule: Schedule, name: str, stage: int) -> str:
    variable = schedule.variables_of(stage).get(name)
    return name if variable is None else variable.name


def _reads(stage: Stage) -> set[str]:
    """The names of other stages' results that a stage reads."""
    own = {arg.name for r in stage.reductions for arg in r.inputs}
    made = {carry.name for r in stage.reductions for carry in r.carries}
    starts = _names([x for r in stage.reductions for x in r.init])
    return (_names(stage_formulas(stage)) - made - own) | starts


def _names(formulas: Iterable[Node]) -> set[str]:
    deps = Dependence()
    return {name for formula in formulas for name in deps.of(formula) if not name.startswith("%")}


def _loaded(stage: Stage) -> list[Scratch]:
    loads = (node.source for node in nodes_of(stage_formulas(stage)) if isinstance(node, Load))
    return [source for source in loads if isinstance(source, Scratch)]


def _stored(stage: Stage) -> list[Scratch]:
    return [*_targets(stage.stores), *_stored_late(stage)]


def _stored_late(stage: Stage) -> list[Scratch]:
    return _targets([store for reduction in stage.reductions for store in reduction.stores])


def _targets(stores: Sequence[Store]) -> list[Scratch]:
    return [store.target for store in stores if isinstance(store.target, Scratch)]
