"""Legalization: shape arithmetic becomes dims, assertions become checks and facts, errors point at the text."""

from __future__ import annotations

import numpy as np
import pytest

from shlo_disc.diagnostics import CompileError, RuntimeShapeError, ShapeError, UnsupportedOpError
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

S0 = symbol("s0")
FLOOR_DIVISION = """
  func.func private @floor_divide(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %a, %b : tensor<i32>
    %1 = stablehlo.sign %a : tensor<i32>
    %2 = stablehlo.sign %b : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %a, %b : tensor<i32>
    %5 = stablehlo.compare NE, %4, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %one : tensor<i32>
    %8 = stablehlo.select %6, %7, %0 : tensor<i1>, tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @modulo(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.remainder %a, %b : tensor<i32>
    %3 = stablehlo.compare NE, %2, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %b, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %b : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
"""


def program(body: str, arguments: str = "%x: tensor<?xf32>", results: str = "tensor<?xf32>", rest: str = "") -> Program:
    text = f"module @m {{\n func.func public @main({arguments}) -> ({results}) {{\n{body}\n }}{rest}\n}}"
    return legalize(parse_module(text, "m.mlir"))


def iota_size(arithmetic: str, rest: str = "") -> Dim:
    """The size that `%size`, computed from `%n`, the size of the argument, gives to an iota."""
    made = program(
        f"""%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %c1 = stablehlo.constant dense<1> : tensor<i32>
        %c3 = stablehlo.constant dense<3> : tensor<i32>
        {arithmetic}
        %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
        %result = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
        return %result : tensor<?xi32>""",
        results="tensor<?xi32>",
        rest=rest,
    )
    (size,) = made.body.results[0].shape
    return made.facts.unfolded(size)


CALL = "func.call @{0}({1}, %c3) : (tensor<i32>, tensor<i32>) -> tensor<i32>"


@pytest.mark.parametrize(
    ("arithmetic", "expected"),
    [
        ("%size = stablehlo.add %n, %c3 : tensor<i32>", S0 + 3),
        ("%size = stablehlo.multiply %n, %c3 : tensor<i32>", 3 * S0),
        ("%size = stablehlo.divide %n, %c3 : tensor<i32>", S0 // 3),
        ("%size = stablehlo.remainder %n, %c3 : tensor<i32>", S0 % 3),
        ("%size = stablehlo.abs %n : tensor<i32>", S0),
        (f"%size = {CALL.format('floor_divide', '%n')}", S0 // 3),
        (f"%size = {CALL.format('modulo', '%n')}", S0 % 3),
        (f"%k = stablehlo.subtract %n, %c1 : tensor<i32>\n%size = {CALL.format('floor_divide', '%k')}", (S0 - 1) // 3),
        (f"%k = stablehlo.subtract %n, %c1 : tensor<i32>\n%size = {CALL.format('modulo', '%k')}", (S0 - 1) % 3),
        (
            """%p = stablehlo.compare LT, %n, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %q = stablehlo.constant dense<true> : tensor<i1>
            %r = stablehlo.and %q, %q : tensor<i1>
            %size = stablehlo.select %r, %n, %c3 : tensor<i1>, tensor<i32>""",
            S0,
        ),
        (
            """%a = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
            %b = stablehlo.reshape %c3 : (tensor<i32>) -> tensor<1xi32>
            %ab = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %s = stablehlo.slice %ab [0:1] : (tensor<2xi32>) -> tensor<1xi32>
            %size = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>""",
            S0,
        ),
    ],
)
def test_shape_arithmetic_becomes_one_dim(arithmetic: str, expected: Dim) -> None:
    assert iota_size(arithmetic, FLOOR_DIVISION) == expected


@pytest.mark.parametrize("size", range(9))
def test_an_undecided_comparison_is_a_formula(size: int) -> None:
    dim = iota_size(
        """%p = stablehlo.compare GE, %n, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %q = stablehlo.compare NE, %n, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %r = stablehlo.and %p, %q : tensor<i1>
        %size = stablehlo.select %r, %c1, %n : tensor<i1>, tensor<i32>"""
    )
    (s0,) = S0.symbols()
    assert dim.evaluate({s0: size}) == (1 if size > 3 else size)


def test_equal_shapes_that_nothing_proves_are_checked_and_then_known() -> None:
    made = program(
        "%0 = stablehlo.add %x, %y : tensor<?xf32>\nreturn %0 : tensor<?xf32>", "%x: tensor<?xf32>, %y: tensor<?xf32>"
    )
    (check,) = made.checks
    assert {check.lhs, check.rhs} == {S0, symbol("s1")}
    assert [p.tensor.shape for p in made.parameters] == [(S0,), (S0,)]
    assert [p.raw_shape for p in made.parameters] == [(S0,), (symbol("s1"),)]
    with pytest.raises(RuntimeShapeError, match=r"equal shapes: found .* expected"):
        interpret(made, [np.zeros(2, np.float32), np.zeros(3, np.float32)])


def test_a_shape_that_is_also_data_is_stored() -> None:
    made = program(
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %k = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
        %m = stablehlo.add %k, %k : tensor<i64>
        return %m : tensor<i64>""",
        results="tensor<i64>",
    )
    assert [op.name for op in made.body.ops] == ["d_from_dims"]
    assert interpret(made, [np.zeros(7, np.float32)]) == [14]


def test_arithmetic_of_sizes_that_may_wrap_around_is_computed_where_it_is_data() -> None:
    body = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %k = stablehlo.convert %n : (tensor<i32>) -> tensor<i8>
        %m = stablehlo.add %k, %k : tensor<i8>"""
    made = program(f"{body}\nreturn %m : tensor<i8>", results="tensor<i8>")
    assert [op.name for op in made.body.ops] == ["d_from_dims", "convert", "add"]
    assert made.checks == ()
    assert interpret(made, [np.zeros(200, np.float32)]) == [-112]


def test_arithmetic_of_sizes_that_may_wrap_around_is_checked_where_it_is_a_size() -> None:
    made = program(
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %k = stablehlo.convert %n : (tensor<i32>) -> tensor<i8>
        %m = stablehlo.add %k, %k : tensor<i8>
        %s = stablehlo.reshape %m : (tensor<i8>) -> tensor<1xi8>
        %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi8>) -> tensor<?xi32>
        return %i : tensor<?xi32>""",
        results="tensor<?xi32>",
    )
    (found,) = interpret(made, [np.zeros(63, np.float32)])
    assert found.tolist() == list(range(126))
    with pytest.raises(RuntimeShapeError, match=r"the size that stablehlo\.add computes does not overflow i8"):
        interpret(made, [np.zeros(64, np.float32)])


def test_shapes_that_always_differ_are_an_error_with_a_place() -> None:
    with pytest.raises(ShapeError) as caught:
        program(
            """%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?xf32>, tensor<3xf32>) -> tensor<?xf32>
            %1 = stablehlo.subtract %0, %x : tensor<?xf32>
            return %1 : tensor<?xf32>""",
            "%x: tensor<?xf32>, %y: tensor<3xf32>",
        )
    assert "m.mlir:4:" in str(caught.value)
    assert "s0 and s0 + 3 differ" in str(caught.value)


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ('%0 = interpreter.probe %x, probe_id = "here" : tensor<?xf32>', "interpreter.probe"),
        ("%0 = stablehlo.custom_call @tpu_custom_call(%x) : (tensor<?xf32>) -> tensor<?xf32>", "@tpu_custom_call"),
    ],
)  # fmt: skip
def test_an_unknown_op_is_named_with_its_place(op: str, name: str) -> None:
    body = f"%n = stablehlo.constant dense<1> : tensor<i32>\n{op}\nreturn %0 : tensor<?xf32>"
    with pytest.raises(UnsupportedOpError, match=name) as caught:
        program(body)
    assert "m.mlir:4:" in str(caught.value)


def test_an_element_of_an_argument_is_a_size_once_whatever_is_computed_of_it() -> None:
    found = program(
        """%0 = stablehlo.dynamic_iota %x, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
        %two = stablehlo.constant dense<2> : tensor<1xi32>
        %more = stablehlo.add %x, %two : tensor<1xi32>
        %both = stablehlo.concatenate %two, %more, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %1 = stablehlo.dynamic_iota %both, dim = 0 : (tensor<2xi32>) -> tensor<2x?xi32>
        return %0, %1 : tensor<?xi32>, tensor<2x?xi32>""",
        "%x: tensor<1xi32>",
        "tensor<?xi32>, tensor<2x?xi32>",
    )
    (dim,) = found.unbacked_dims
    assert (dim.symbol.name, dim.argument, dim.element) == ("x_0", 0, 0)
    assert [str(size) for size in found.body.results[1].shape] == ["2", "x_0 + 2"]


def test_a_loop_whose_shape_changes_is_a_program_of_its_own() -> None:
    made = program(
        """%t = stablehlo.constant dense<true> : tensor<i1>
        %0:2 = stablehlo.while(%a = %x, %b = %x) : tensor<?xf32>, tensor<?xf32>
        cond { stablehlo.return %t : tensor<i1> }
        do {
          %1 = stablehlo.concatenate %a, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          %2 = stablehlo.negate %b : tensor<?xf32>
          stablehlo.return %1, %2 : tensor<?xf32>, tensor<?xf32>
        }
        return %0#0, %0#1 : tensor<?xf32>, tensor<?xf32>""",
        results="tensor<?xf32>, tensor<?xf32>",
    )
    (loop,) = (op for op in made.body.ops if op.name == "d_outlined_while")
    assert [[str(size) for size in x.shape] for x in loop.results] == [["v0"], ["s0"], ["1"]]
    assert isinstance(loop.attrs, OutlinedAttrs)
    condition, body = loop.attrs.programs
    assert not condition.unbacked_dims
    assert [str(size) for size in body.returned[0].shape] == ["s0 + s2"]
    assert loop.attrs.takes == ((0, 1), (0, 1, 2))


def test_what_a_loop_hands_on_unchanged_is_no_carry() -> None:
    made = program(
        """%c = stablehlo.constant dense<0> : tensor<i32>
        %c1 = stablehlo.constant dense<1> : tensor<i32>
        %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %0:3 = stablehlo.while(%i = %c, %m = %n, %a = %x) : tensor<i32>, tensor<i32>, tensor<?xf32>
        cond {
          %p = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        }
        do {
          %j = stablehlo.add %i, %c1 : tensor<i32>
          %b = stablehlo.add %a, %a : tensor<?xf32>
          stablehlo.return %j, %m, %b : tensor<i32>, tensor<i32>, tensor<?xf32>
        }
        return %0#2 : tensor<?xf32>"""
    )
    (loop,) = (op for op in made.body.ops if op.name == "d_while")
    assert len(loop.operands) == 2
    np.testing.assert_array_equal(interpret(made, [np.ones(3, np.float32)])[0], np.full(3, 8.0))


def test_recursion_is_an_error() -> None:
    with pytest.raises(CompileError, match="recursive call of @f"):
        program(
            "%0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>\nreturn %0 : tensor<?xf32>",
            rest="""
            func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
              %0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
              return %0 : tensor<?xf32>
            }""",
        )
