"""What is refused of a row kernel: loops that share a name, and formulas that read what nobody has computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Sym, const, of, symbol
from shlo_disc.expr.scalar import Arg, Binary, Const, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Param, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.kernel_check import check_rows

pytestmark = pytest.mark.quick

F32 = DType.F32
ROW, LANE = Axis(Sym("%x0"), symbol("b")), Axis(Sym("%c0"), symbol("s"))
OPERAND, RESULT, SCRATCH = Param("p0", F32), Param("p1", F32), Scratch("t0", F32, LANE.extent)
TOTAL, INPUT = Arg("a1", F32), Arg("e1", F32)
PLACE = of(ROW.symbol) * LANE.extent + of(LANE.symbol)
ELEMENT, KEPT = Load(OPERAND, (PLACE,)), Load(SCRATCH, (of(LANE.symbol),))


def plus(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.ADD, a, b, F32)


SUM = Reduction((TOTAL,), (Const(0.0, F32),), (INPUT,), (ELEMENT,), (plus(TOTAL, INPUT),), BinaryFn.ADD, ())
FIRST = Stage((LANE,), (True,), (Store(SCRATCH, of(LANE.symbol), ELEMENT),), (SUM,))
LAST = Stage((LANE,), (False,), (Store(RESULT, PLACE, plus(KEPT, TOTAL)),), ())
KERNEL = RowKernel((OPERAND, RESULT), (ROW,), (FIRST, LAST), (SCRATCH,))


def with_stages(*stages: Stage) -> RowKernel:
    return replace(KERNEL, stages=stages)


def storing(value: Scalar) -> Stage:
    return replace(LAST, stores=(Store(RESULT, PLACE, value),))


def reducing(**changed: object) -> Stage:
    return replace(FIRST, reductions=(replace(SUM, **changed),))


OTHER = Axis(Sym("%c1"), LANE.extent)
REFUSED: dict[str, tuple[Callable[[], RowKernel], str]] = {
    "a loop named as a row": (
        lambda: with_stages(FIRST, replace(LAST, axes=(replace(LANE, symbol=ROW.symbol),))),
        "stage 1 has several loops named %x0",
    ),
    "two loops of one name": (
        lambda: with_stages(replace(FIRST, axes=(LANE, LANE), reduced=(True, True)), LAST),
        "stage 0 has several loops named %c0",
    ),
    "rows of one name": (lambda: replace(KERNEL, rows=(ROW, ROW)), "the rows has several loops named %x0"),
    "a loop of another stage": (
        lambda: with_stages(FIRST, storing(Load(OPERAND, (of(OTHER.symbol),)))),
        "a store of stage 1 reads %c1, which no stage",
    ),
    "an extent by a loop inside": (
        lambda: with_stages(
            FIRST, replace(LAST, axes=(replace(OTHER, extent=of(LANE.symbol)), LANE), reduced=(False,) * 2)
        ),
        "the extent of loop 0 of stage 1 reads %c0",
    ),
    "a number before it is known": (lambda: with_stages(storing(TOTAL), FIRST), "reads a1, which no stage"),
    "a number that two stages found": (lambda: with_stages(FIRST, FIRST, LAST), "reads a1, which 2 stages"),
    "a sum in its own elements": (
        lambda: with_stages(reducing(elements=(plus(ELEMENT, TOTAL),)), LAST),
        "an element of stage 0 reads a1",
    ),
    "a start that differs in the loop": (
        lambda: with_stages(reducing(init=(ELEMENT,)), LAST),
        "an initial value of stage 0 reads %c0",
    ),
    "a result stored by the loop": (
        lambda: with_stages(reducing(stores=(Store(RESULT, of(LANE.symbol), TOTAL),)), LAST),
        "a result of stage 0 reads %c0",
    ),
    "scratch before it is stored": (lambda: with_stages(storing(KEPT), FIRST), "stage 0 reads t0, which no earlier"),
    "a result that is read": (
        lambda: with_stages(FIRST, storing(Load(RESULT, (const(0),)))),
        "p1 is read and written",
    ),
    "flags of other loops": (lambda: with_stages(replace(FIRST, reduced=()), LAST), "stage 0 has 1 loops, and 0 flags"),
}


def test_a_kernel_that_keeps_the_rules() -> None:
    assert check_rows(KERNEL) is KERNEL
    apart = replace(LAST, axes=(replace(LANE, extent=symbol("t")),))
    assert check_rows(with_stages(FIRST, apart)), "loops of different stages may have one name"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    made, message = REFUSED[name]
    with pytest.raises(InternalError, match=f"row kernel: .*{message}|row kernel: {message}"):
        check_rows(made())
