"""What ops demand of sizes: proven, or checked at every call and known from there on; never more than XLA demands."""

from __future__ import annotations

import numpy as np
import pytest

from shlo_disc.diagnostics import NOWHERE, RuntimeShapeError, ShapeError
from shlo_disc.dynamic_ops.program import Op, Program, Relation
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.expr.dim import Sym, symbol
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

N, M = symbol("s0"), symbol("s1")
SIZE = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %size = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %five = stablehlo.constant dense<5> : tensor<1xi32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
"""


def program(body: str, arguments: str = "%x: tensor<?xf32>", result: str = "tensor<?xf32>") -> Program:
    text = f"func.func @main({arguments}) -> {result} {{\n{SIZE}{body}\n return %r : {result}\n}}"
    return legalize(parse_module(text, "m.mlir"))


def slice_to(limit: str) -> str:
    return (
        f"%r = stablehlo.real_dynamic_slice %x, %zero, {limit}, %one "
        ": (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>"
    )


CLAMPED = "%l = stablehlo.minimum %size, %five : tensor<1xi32>\n" + slice_to("%l")
PAD = (
    "%low = stablehlo.constant dense<-3> : tensor<1xi32>\n%r = stablehlo.dynamic_pad %x, %f, %low, %zero, %zero "
    ": (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>"
)
WINDOW = (
    "%i = stablehlo.constant dense<0> : tensor<i32>\n%w = stablehlo.dynamic_slice %x, %i, sizes = [4] "
    ": (tensor<?xf32>, tensor<i32>) -> tensor<4xf32>\n"
    "%r = stablehlo.dynamic_update_slice %x, %w, %i : (tensor<?xf32>, tensor<4xf32>, tensor<i32>) -> tensor<?xf32>"
)
COUNT = "%few = stablehlo.subtract %size, %five : tensor<1xi32>\n"
IOTA = COUNT + "%r = stablehlo.dynamic_iota %few, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>"
SPREAD = (
    COUNT
    + "%r = stablehlo.dynamic_broadcast_in_dim %f, %few, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>"
)
EXPANDED = (
    "%r = stablehlo.dynamic_broadcast_in_dim %x, %five, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>"
)
WINDOWS = """%r = "stablehlo.reduce_window"(%x, %f) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}
    : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>"""


@pytest.mark.parametrize(
    ("body", "demands"),
    [
        (IOTA, ["the result of stablehlo.dynamic_iota has no negative sizes: found {0} and {1}, expected s0 - 5 >= 0"]),
        (
            SPREAD,
            [
                "the result of stablehlo.dynamic_broadcast_in_dim has no negative sizes: "
                "found {0} and {1}, expected s0 - 5 >= 0"
            ],
        ),
        (
            EXPANDED,
            ["a broadcast keeps sizes that are not 1: found {0} and {1}, expected s0 == 1 or s0 == 5"],
        ),
        (slice_to("%five"), ["a slice ends within its operand: found {0} and {1}, expected s0 >= 5"]),
        (slice_to("%size"), []),
        (CLAMPED, []),
        (PAD, ["a padded size is not negative: found {0} and {1}, expected s0 - 3 >= 0"]),
        (WINDOW, ["the window of stablehlo.dynamic_slice is at most its operand: found {0} and {1}, expected s0 >= 4"]),
    ],
)
def test_what_is_not_proven_is_checked_once(body: str, demands: list[str]) -> None:
    made = program(body)
    assert [check.message for check in made.checks] == demands
    for check in made.checks:
        if check.relation is Relation.GE:
            assert made.facts.at_least(check.lhs, check.rhs).is_true


def test_a_size_that_may_be_1_is_1_or_its_target() -> None:
    made = program(EXPANDED)
    s0 = symbol("s0")
    assert made.facts.interval(s0) == (1, 5)
    (check,) = made.checks
    assert [size for size in range(12) if check.holds({Sym("s0"): size})] == [1, 5]
    x = np.arange(1, dtype=np.float32)
    np.testing.assert_array_equal(interpret(made, [x])[0], np.zeros(5))
    for size in (0, 3, 6):
        with pytest.raises(RuntimeShapeError, match=f"found {size} and 5, expected s0 == 1 or s0 == 5"):
            interpret(made, [np.zeros(size, np.float32)])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8])
def test_windows_are_counted(size: int) -> None:
    """As many as XLA counts, none where the operand is smaller; what is known of sizes leaves out the case."""
    made = program(WINDOWS)
    (windows,) = [op.results[0] for op in made.body.ops if op.name == "d_reduce_window"]
    assert made.facts.at_least(windows.shape[0], 0).is_true
    assert windows.shape[0].evaluate({Sym("s0"): size}) == max(0, (size - 3) // 2 + 1)
    known = made.facts.assume_at_least(symbol("s0"), 3, "a test", NOWHERE)
    assert str(known.canonical(windows.shape[0])) == "(s0 + 1) // 2 - 1"


def test_what_no_size_can_meet_is_refused() -> None:
    negative = "%l = stablehlo.subtract %zero, %five : tensor<1xi32>\n" + slice_to("%l")
    with pytest.raises(ShapeError, match="a slice ends after its start: -5 is less than 0"):
        program(negative)


LOOP = """%c0 = stablehlo.constant dense<{start}> : tensor<i32>
  %cn = stablehlo.constant dense<{limit}> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<?xf32>
  cond {{
    %p = stablehlo.compare {direction}, %i, {end}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{step}> : tensor<i32>
    %next = stablehlo.add %i, %step : tensor<i32>
    %b = stablehlo.tanh %a : tensor<?xf32>
    stablehlo.return %next, %b : tensor<i32>, tensor<?xf32>
  }}"""


@pytest.mark.parametrize(
    ("start", "direction", "end", "step", "wanted"),
    [
        (0, "LT", "%n", 1, ("0", "s0 - 1")),
        (2, "LT", "%n", 1, ("2", "s0 - 1")),
        (0, "LE", "%cn", 3, ("0", "9")),
        (7, "GE", "%cn", -2, ("9", "7")),
        (0, "LT", "%n", 3, ("0", "s0 - 1")),
        (0, "LT", "%n", 1 << 17, ("None", "s0 - 1")),  # near the end of i32 the step may wrap around
        (0, "LT", "%n", -1, ("None", "s0 - 1")),
        (0, "NE", "%n", 1, ("None", "None")),
    ],
)
def test_loop_counters_have_bounds(start: int, direction: str, end: str, step: int, wanted: tuple[str, str]) -> None:
    text = LOOP.format(start=start, limit=9, direction=direction, end=end, step=step)
    made = program(text.replace("%r:2", "%w:2") + "\n%r = stablehlo.add %w#1, %w#1 : tensor<?xf32>")
    loop: Op[object] = next(op for op in made.body.ops if op.name == "d_while")
    counter = loop.bodies[1].arguments[0]
    assert tuple(map(str, counter.bounds)) == wanted


def test_computed_integers_have_bounds() -> None:
    made = program(
        """%at = stablehlo.iota dim = 0 : tensor<7xi32>
        %limit = stablehlo.constant dense<4> : tensor<7xi32>
        %least = stablehlo.minimum %at, %limit : tensor<7xi32>
        %table = stablehlo.constant dense<[3, -1, 2, 0, 0, 5, 1]> : tensor<7xi32>
        %sum = stablehlo.add %least, %table : tensor<7xi32>
        %r = stablehlo.convert %sum : (tensor<7xi32>) -> tensor<7xi32>""",
        result="tensor<7xi32>",
    )
    bounds = [tuple(map(str, op.results[0].bounds)) for op in made.body.ops if op.name in {"minimum", "add"}]
    assert bounds == [("0", "4"), ("-1", "9")]
    (table,) = made.constants
    assert tuple(map(str, table.bounds)) == ("-1", "5")
    np.testing.assert_array_equal(made.constants[table], [3, -1, 2, 0, 0, 5, 1])
