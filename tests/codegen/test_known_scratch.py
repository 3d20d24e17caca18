"""What is known of an element in scratch memory, where a later stage reads it."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.expr.dim import Sym, const, of, symbol
from shlo_disc.expr.scalar import Const, InRange, Load, Select
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Param, Scratch, Stage, Store
from shlo_disc.kernels.seams import with_known_scratch

F32 = DType.F32
LANE, OTHER = Axis(Sym("%c0"), symbol("s")), Axis(Sym("%c1"), symbol("s"))
OPERAND, RESULT, SCRATCH = Param("p0", F32), Param("p1", F32), Scratch("t0", F32, symbol("s"))
PADDED = Select(InRange(of(LANE.symbol), const(2), symbol("s")), Load(OPERAND, (of(LANE.symbol) - 2,)), Const(0.0, F32))
FIRST = Stage((LANE,), (False,), (Store(SCRATCH, of(LANE.symbol), PADDED),), ())
KEPT = Load(SCRATCH, (of(LANE.symbol),))
LAST = Stage((LANE,), (False,), (Store(RESULT, of(LANE.symbol), KEPT),), ())


def stored_last(*stages: Stage) -> object:
    *_, last = with_known_scratch(stages)
    return last.stores[0].value


def test_an_element_of_the_same_loop_is_known() -> None:
    assert stored_last(FIRST, LAST) == Select(PADDED.condition, KEPT, Const(0.0, F32))


def test_nothing_is_known_in_another_loop() -> None:
    """The condition is about a loop that the reading stage does not have, or has for something else."""
    longer = replace(LANE, extent=symbol("s") * 2)
    for axes in ((OTHER,), (longer,), (LANE, OTHER)):
        elsewhere = replace(LAST, axes=axes, reduced=(False,) * len(axes))
        assert stored_last(FIRST, elsewhere) == KEPT


def test_a_number_that_is_not_chosen_is_not_known() -> None:
    plain = replace(FIRST, stores=(replace(FIRST.stores[0], value=PADDED.then),))
    assert stored_last(plain, LAST) == KEPT
