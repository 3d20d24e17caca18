"""The schedule of software pipelining, held against a model: turns that are executed with symbols instead of numbers.

The model knows which stage reads and writes what, as it was drawn, and asks nothing of the check that it judges.
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Sym, of, symbol
from shlo_disc.expr.scalar import Arg, Binary, Const, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Param, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.kernel_check import check_rows
from shlo_disc.lower_cpu import pipeline_schedule, software_pipelining
from shlo_disc.lower_cpu.pipeline_schedule import Finish, Move, Schedule, check, schedule_of
from tests.pipeline.exports import In
from tests.pipeline.programs import generated

pytestmark = pytest.mark.quick

MOST_STAGES, MOST_GROUPS, LANES = 5, 7, 2
F32 = DType.F32
Token: TypeAlias = object  # what a place holds: its name, the group, and all that it was computed from

LANE, ROW = Axis(Sym("%c0"), symbol("s")), Axis(Sym("%x0"), symbol("b"))


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a stage does: which stages' numbers it reads for its elements, and to start from; whose scratch it reads."""

    elements: frozenset[int]
    starts: frozenset[int]
    scratch: frozenset[int]
    reduces: bool
    stores: bool  # elements, for later stages

    @property
    def numbers(self) -> frozenset[int]:
        return self.elements | (self.starts if self.reduces else frozenset())


@st.composite
def stages(draw: st.DrawFn) -> tuple[Drawn, ...]:
    """Stages of which each reads any of what earlier ones hand on."""
    made = list[Drawn]()
    for number in range(draw(st.integers(2, MOST_STAGES))):
        numbers = [k for k in range(number) if made[k].reduces]
        filled = [k for k in range(number) if made[k].stores]
        some, others, elements = (_subset(draw, which) for which in (numbers, numbers, filled))
        made.append(Drawn(some, others, elements, draw(st.booleans()), draw(st.booleans())))
    return tuple(made)


def _subset(draw: st.DrawFn, options: Sequence[int]) -> frozenset[int]:
    return draw(st.frozensets(st.sampled_from(options))) if options else frozenset()


# --- as a kernel


def kernel_of(drawn: Sequence[Drawn]) -> RowKernel:
    """A row kernel whose stages read and write just that."""
    operand, result = Param("p0", F32), Param("p1", F32)
    scratch = {k: Scratch(f"t{k}", F32, LANE.extent) for k, one in enumerate(drawn) if one.stores}
    lane, made = of(LANE.symbol), list[Stage]()
    for number, one in enumerate(drawn):
        loads: list[Scalar] = [Load(operand, (of(ROW.symbol) * LANE.extent + lane,))]
        loads += [Load(scratch[k], (lane,)) for k in sorted(one.scratch)]
        element = _sum([*loads, *(_number(k) for k in sorted(one.elements))])
        stores = [Store(scratch[number], lane, element)] if one.stores else []
        if not one.reduces and not stores:
            stores = [Store(result, of(ROW.symbol) * LANE.extent + lane, element)]
        reductions = [_reduction(number, one, element)] if one.reduces else []
        made.append(Stage((LANE,), (one.reduces,), tuple(stores), tuple(reductions)))
    return RowKernel((operand, result), (ROW,), tuple(made), tuple(scratch.values()))


def _reduction(number: int, one: Drawn, element: Scalar) -> Reduction:
    carry, value = _number(number), Arg(f"e{number}", F32)
    start = _sum([Const(0.0, F32), *(_number(k) for k in sorted(one.starts))])
    update = Binary(BinaryFn.ADD, carry, value, F32)
    return Reduction((carry,), (start,), (value,), (element,), (update,), BinaryFn.ADD, ())


def _number(stage: int) -> Arg:
    return Arg(f"a{stage}", F32)


def _sum(parts: Sequence[Scalar]) -> Scalar:
    return reduce(lambda a, b: Binary(BinaryFn.ADD, a, b, F32), parts)


# --- executed


def one_after_the_other(drawn: Sequence[Drawn], groups: int) -> set[Token]:
    """What stages read, for each group, if a group is done before the next one begins."""
    found = set[Token]()
    for group in range(groups):
        numbers, elements = dict[int, Token](), dict[int, Token]()
        for stage, one in enumerate(drawn):
            read = [numbers[k] for k in sorted(one.numbers)], [elements[k] for k in sorted(one.scratch)]
            found.add(token := ("stage", stage, group, *map(tuple, read)))
            numbers[stage], elements[stage] = ("number", token), ("elements", token)
    return found


def in_turns(drawn: Sequence[Drawn], schedule: Schedule, groups: int) -> set[Token]:
    """The same, if the turns of a schedule are executed: what each moment of a turn reads."""
    return _Turns(drawn, schedule, groups).run()


class _Turns:
    def __init__(self, drawn: Sequence[Drawn], schedule: Schedule, groups: int) -> None:
        self.drawn, self.schedule, self.groups = drawn, schedule, groups
        self.variables = dict[str, Token]()
        self.elements = dict[tuple[int, int, int], Token]()  # of a stage: which copy, which lane
        self.copies = {int(scratch.name[1:]): count for scratch, count in schedule.copies}
        self.found = set[Token]()

    def run(self) -> set[Token]:
        """Execute all turns."""
        for turn in range(self.groups + len(self.drawn) - 1):
            at = {s: turn - s for s in range(len(self.drawn)) if 0 <= turn - s < self.groups}
            for stage, group in at.items():  # before the loop
                self.read(stage, group, self.drawn[stage].numbers)
            for lane in range(LANES):
                for stage, group in reversed(at.items()):
                    token = self.read(stage, group, self.drawn[stage].numbers)
                    if self.drawn[stage].stores:
                        self.elements[stage, group % self.copies[stage], lane] = ("elements", token)
            for end in self.schedule.ends:
                self.end(end, at)
        return self.found

    def end(self, end: Finish | Move, at: dict[int, int]) -> None:
        match end:
            case Finish(stage):
                if (group := at.get(stage)) is not None:
                    token = self.read(stage, group, self.drawn[stage].numbers)
                    for value in self.schedule.passed_by(stage):
                        self.variables[value.variable.name] = ("number", token)
            case Move(value):
                self.variables[value.variable.name] = self.variables.get(value.source.name)

    def read(self, stage: int, group: int, numbers: frozenset[int]) -> Token:
        variables = self.schedule.variables_of(stage)
        names = [variables[f"a{k}"].name if f"a{k}" in variables else "unknown" for k in sorted(numbers)]
        read = [self.variables.get(name) for name in names]
        of_lanes = list[Token]()  # a stage may read elements of any lane
        for lane in range(LANES):
            elements = [self.elements.get((k, group % self.copies[k], lane)) for k in sorted(self.drawn[stage].scratch)]
            of_lanes.append(("stage", stage, group, tuple(read), tuple(elements)))
        self.found.update(of_lanes)
        return of_lanes[-1]


@given(stages(), st.integers(1, MOST_GROUPS))
def test_turns_compute_what_groups_one_after_the_other_compute(drawn: tuple[Drawn, ...], groups: int) -> None:
    kernel = check_rows(kernel_of(drawn))
    assert in_turns(drawn, schedule_of(kernel), groups) == one_after_the_other(drawn, groups)


@given(stages(), st.data())
def test_a_schedule_that_computes_something_else_is_refused(drawn: tuple[Drawn, ...], data: st.DataObject) -> None:
    kernel = kernel_of(drawn)
    changed = _changed(schedule_of(kernel), data)
    if in_turns(drawn, changed, MOST_GROUPS) != one_after_the_other(drawn, MOST_GROUPS):
        with pytest.raises(InternalError, match="software pipelining"):
            check(kernel, changed)


def _changed(schedule: Schedule, data: st.DataObject) -> Schedule:
    """Other places for the ends, one end less, or other numbers of copies."""
    match data.draw(st.sampled_from(("order", "less", "copies"))):
        case "order":
            return replace(schedule, ends=tuple(data.draw(st.permutations(schedule.ends))))
        case "less":
            left_out = data.draw(st.integers(0, len(schedule.ends)))
            return replace(schedule, ends=schedule.ends[:left_out] + schedule.ends[left_out + 1 :])
        case _:
            copies = [(scratch, data.draw(st.integers(1, MOST_STAGES))) for scratch, _ in schedule.copies]
            return replace(schedule, copies=tuple(copies))


def drawn_stage(elements: str = "", starts: str = "", scratch: str = "", kind: str = "reduces") -> Drawn:
    """A stage that reads the numbers and the scratch of these stages."""
    sets = (frozenset(map(int, one)) for one in (elements, starts, scratch))
    return Drawn(*sets, reduces="reduces" in kind, stores="stores" in kind)


JOINED = (drawn_stage(), drawn_stage(starts="0"))
THREE = (drawn_stage(), drawn_stage(), drawn_stage(elements="0", starts="01"))
KEPT = (drawn_stage(kind="stores"), drawn_stage(scratch="0"), drawn_stage("1", scratch="0", kind="stores"))


@pytest.mark.parametrize("drawn", [JOINED, THREE], ids=["a reduction that goes on", "two turns later"])
def test_ends_in_the_order_of_the_stages_are_refused(drawn: tuple[Drawn, ...]) -> None:
    """A reduction that goes on starts from a number that the stage before it would have overwritten."""
    kernel = kernel_of(drawn)
    ends = schedule_of(kernel).ends
    moves = [end for end in ends if isinstance(end, Move)]
    changed = replace(schedule_of(kernel), ends=(*moves, *(Finish(k) for k in range(len(drawn)))))
    assert in_turns(drawn, changed, 3) != one_after_the_other(drawn, 3)
    with pytest.raises(InternalError, match=r"software pipelining: a0_\d .* has overwritten it"):
        check(kernel, changed)


def test_too_few_copies_of_scratch_are_refused() -> None:
    kernel = kernel_of(KEPT)
    found = schedule_of(kernel)
    assert [count for _, count in found.copies] == [3, 1]
    changed = replace(found, copies=tuple((scratch, 2) for scratch, _ in found.copies))
    assert in_turns(KEPT, changed, 4) != one_after_the_other(KEPT, 4)
    with pytest.raises(InternalError, match="t0 of 2 copies"):
        check(kernel, changed)


def test_a_kernel_whose_schedule_is_wrong_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_order(kernel: RowKernel) -> Schedule:
        found = schedule_of(kernel)
        changed = replace(found, ends=tuple(reversed(found.ends)))
        pipeline_schedule.check(kernel, changed)
        return changed

    def joined(x: Any) -> Any:
        return jnp.exp(jnp.concatenate([x, 2 * x], 1)).sum(1)

    generated(joined, In("b, s"))
    monkeypatch.setattr(software_pipelining, "schedule_of", in_order)
    with pytest.raises(InternalError, match=r"kernel reduce -> .*: software pipelining: .* has overwritten it"):
        generated(joined, In("b, s"))
