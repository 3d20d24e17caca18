"""Passes: fewer ops, the same results."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from shlo_disc.custom_calls import register_custom_call
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.passes.cse import CSE
from shlo_disc.passes.dce import DCE
from shlo_disc.passes.fold import FOLD
from shlo_disc.passes.pad_into_convolution import PAD_INTO_CONVOLUTION
from shlo_disc.passes.unit_dim_reduction import UNIT_DIM_REDUCTION
from shlo_disc.passes.update_to_scatter import UPDATE_TO_SCATTER

pytestmark = pytest.mark.quick

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def program(body: str, result: str = "tensor<?x3xf32>") -> Program:
    text = f"func.func public @main(%x: tensor<?x3xf32>) -> ({result}) {{\n{body}\n}}"
    return legalize(parse_module(text, "m.mlir"))


def names(one: Program) -> Counter[str]:
    return Counter(op.name for op in one.body.walk())


def test_dce_drops_what_no_result_needs() -> None:
    made = program(
        """%c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
        %0 = stablehlo.tanh %x : tensor<?x3xf32>
        %1 = stablehlo.exponential %0 : tensor<?x3xf32>
        %2 = stablehlo.negate %x : tensor<?x3xf32>
        return %2 : tensor<?x3xf32>"""
    )
    smaller = DCE.run(made)
    assert names(smaller) == {"negate": 1}
    assert len(made.constants) == 1
    assert not smaller.constants


def test_dce_keeps_what_only_a_body_needs() -> None:
    made = program(
        """%i = stablehlo.constant dense<0> : tensor<i32>
        %0 = stablehlo.tanh %x : tensor<?x3xf32>
        %t = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %1 = "stablehlo.case"(%t) ({
          stablehlo.return %0 : tensor<?x3xf32>
        }, {
          %2 = stablehlo.negate %0 : tensor<?x3xf32>
          stablehlo.return %2 : tensor<?x3xf32>
        }) : (tensor<i32>) -> tensor<?x3xf32>
        return %1 : tensor<?x3xf32>"""
    )
    assert names(DCE.run(made))["tanh"] == 1


def test_dce_drops_carries_and_results_of_branches_that_nothing_needs() -> None:
    made = program(
        """%i = stablehlo.constant dense<0> : tensor<i32>
        %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %0 = stablehlo.tanh %x : tensor<?x3xf32>
        %1:4 = stablehlo.while(%k = %i, %y = %x, %first = %0, %second = %0)
            : tensor<i32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
          cond {
            %2 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %2 : tensor<i1>
          } do {
            %3 = stablehlo.constant dense<1> : tensor<i32>
            %4 = stablehlo.add %k, %3 : tensor<i32>
            %5:2 = "stablehlo.case"(%k) ({
              %6 = stablehlo.exponential %first : tensor<?x3xf32>
              stablehlo.return %y, %6 : tensor<?x3xf32>, tensor<?x3xf32>
            }, {
              %7 = stablehlo.negate %y : tensor<?x3xf32>
              stablehlo.return %7, %y : tensor<?x3xf32>, tensor<?x3xf32>
            }) : (tensor<i32>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
            stablehlo.return %4, %5#0, %5#1, %first
                : tensor<i32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
          }
        return %1#1 : tensor<?x3xf32>"""
    )
    smaller = DCE.run(made)
    (loop,) = [op for op in smaller.body.ops if op.name == "d_while"]
    assert len(loop.operands) == len(loop.results) == len(loop.bodies[1].results) == 2
    assert {name: names(smaller)[name] for name in ("tanh", "exponential", "negate")} == {
        "tanh": 0, "exponential": 0, "negate": 1,
    }  # fmt: skip


def test_dce_keeps_what_a_loop_without_carries_needs() -> None:
    register_custom_call("passes_poll", np.sign)
    made = program(
        """%0 = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0, 1]
            : (tensor<?x3xf32>, tensor<f32>) -> tensor<f32>
        %2 = stablehlo.constant dense<0> : tensor<i32>
        %3 = stablehlo.while(%k = %2) : tensor<i32>
          cond {
            %4 = stablehlo.custom_call @passes_poll(%1) {has_side_effect = true} : (tensor<f32>) -> tensor<i1>
            stablehlo.return %4 : tensor<i1>
          } do {
            stablehlo.return %k : tensor<i32>
          }
        return %x : tensor<?x3xf32>"""
    )
    (loop,) = [op for op in made.body.ops if op.name == "d_while"]
    assert not loop.results, "a carry that never changes is none"
    assert names(DCE.run(made)) == names(made)


def test_cse_computes_equal_things_once_also_with_bodies() -> None:
    reduce = """%{0} = stablehlo.reduce(%x init: %z) across dimensions = [1]
        : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
        reducer(%a{0}: tensor<f32>, %b{0}: tensor<f32>) {{
          %r{0} = stablehlo.{1} %a{0}, %b{0} : tensor<f32>
          stablehlo.return %r{0} : tensor<f32>
        }}"""
    made = program(
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        {reduce.format(1, "add")}
        {reduce.format(2, "add")}
        {reduce.format(3, "maximum")}
        %4 = stablehlo.add %1, %2 : tensor<?xf32>
        %5 = stablehlo.add %4, %3 : tensor<?xf32>
        return %5 : tensor<?xf32>""",
        "tensor<?xf32>",
    )
    smaller = CSE.run(made)
    assert names(made)["d_reduce"] == 3
    assert names(smaller)["d_reduce"] == 2
    np.testing.assert_array_equal(interpret(smaller, [X])[0], X.sum(1) * 2 + X.max(1))


BROADCAST = "stablehlo.dynamic_broadcast_in_dim"
SHAPE = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %c3 = stablehlo.constant dense<3> : tensor<1xi32>
    %c1 = stablehlo.constant dense<1> : tensor<1xi32>
    %shape = stablehlo.concatenate %n1, %c3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %column = stablehlo.concatenate %n1, %c1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>"""


@pytest.mark.parametrize(
    ("body", "expected", "left"),
    [
        (  # a splat stays a splat however it is moved and computed with
            f"""%c = stablehlo.constant dense<2.0> : tensor<f32>
            %1 = stablehlo.add %c, %c : tensor<f32>
            %2 = {BROADCAST} %1, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
            %3 = stablehlo.multiply %2, %2 : tensor<?x3xf32>
            return %3 : tensor<?x3xf32>""",
            np.full((2, 3), 16.0),
            {"d_constant": 1},
        ),
        (  # NaN is a value like any other
            """%c = stablehlo.constant dense<0x7FC00000> : tensor<f32>
            %p = stablehlo.compare EQ, %c, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %y = stablehlo.negate %x : tensor<?x3xf32>
            %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<?x3xf32>
            return %0 : tensor<?x3xf32>""",
            -X,
            {"negate": 1},
        ),
        (
            """%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf32>) -> tensor<3x?xf32>
            %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x?xf32>) -> tensor<?x3xf32>
            return %1 : tensor<?x3xf32>""",
            X,
            {},
        ),
        (
            f"""%r = stablehlo.slice %x [0:1, 0:3] : (tensor<?x3xf32>) -> tensor<1x3xf32>
            %0 = stablehlo.slice %r [0:1, 0:1] : (tensor<1x3xf32>) -> tensor<1x1xf32>
            %1 = {BROADCAST} %0, %column, dims = [0, 1] : (tensor<1x1xf32>, tensor<2xi32>) -> tensor<?x1xf32>
            %2 = {BROADCAST} %1, %shape, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x3xf32>
            return %2 : tensor<?x3xf32>""",
            np.zeros((2, 3)),
            {"d_slice": 2, "d_broadcast": 1},
        ),
        (  # nothing is computed for a result without elements
            """%0 = stablehlo.slice %x [0:1, 2:2] : (tensor<?x3xf32>) -> tensor<1x0xf32>
            %1 = stablehlo.negate %0 : tensor<1x0xf32>
            %2 = stablehlo.reshape %1 : (tensor<1x0xf32>) -> tensor<0x3xf32>
            %3 = stablehlo.concatenate %2, %x, dim = 0 : (tensor<0x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
            return %3 : tensor<?x3xf32>""",
            X,
            {"d_constant": 1, "d_concatenate": 1},
        ),
    ],
)
def test_fold(body: str, expected: np.ndarray, left: dict[str, int]) -> None:
    made = program(f"{SHAPE}\n{body}")
    folded = DCE.run(FOLD.run(made))
    assert names(folded) == left
    for one in (made, folded):
        np.testing.assert_array_equal(interpret(one, [X])[0], expected)


def test_passes_run_in_a_stated_order() -> None:
    order = [
        "dce",
        "cse",
        "unit_dim_reduction",
        "fold",
        "dynamic_slice_to_view",
        "cse",
        "pad_into_convolution",
        "convolution_to_dot",
        "dot_to_reduce",
        "update_to_scatter",
        "dce",
        "sort_to_top_k",
        "cut_views",
    ]
    assert [one.name for one in PASSES] == order


CONVOLUTION = """%v = stablehlo.constant dense<{value}> : tensor<f32>
    %k = stablehlo.constant dense<[[[1.0], [2.0]], [[3.0], [-1.0]]]> : tensor<2x2x1xf32>
    %x3 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<1x3x2xf32>
    %p = stablehlo.pad %x3, %v, low = [0, {low}, 0], high = [0, {high}, 0], interior = [0, {interior}, 0]
        : (tensor<1x3x2xf32>, tensor<f32>) -> tensor<1x{padded}x2xf32>
    %0 = stablehlo.convolution(%p, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
        window = {{stride = [1], pad = [[1, 0]], lhs_dilate = [{dilation}], rhs_dilate = [1]}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
        : (tensor<1x{padded}x2xf32>, tensor<2x2x1xf32>) -> tensor<1x{length}x1xf32>
    return %0 : tensor<1x{length}x1xf32>"""


@pytest.mark.parametrize(
    ("value", "low", "high", "interior", "dilation", "pads"),
    [
        ("0.0", 1, 2, 0, 1, 0), ("0.0", 0, 0, 0, 1, 0), ("0.0", -1, 3, 0, 1, 1), ("0.0", 2, -2, 0, 1, 1),
        ("1.0", 1, 2, 0, 1, 1), ("-0.0", 1, 2, 0, 1, 1), ("0.0", 1, 2, 1, 1, 1), ("0.0", 1, 2, 0, 2, 1),
    ],
)  # fmt: skip
def test_a_convolution_pads_its_input_itself(
    value: str, low: int, high: int, interior: int, dilation: int, pads: int
) -> None:
    padded = low + 3 + 2 * interior + high
    length = (padded - 1) * dilation + 1
    body = CONVOLUTION.format(**locals())
    text = f"func.func public @main(%x: tensor<2x3xf32>) -> tensor<1x{length}x1xf32> {{\n{body}\n}}"
    made = legalize(parse_module(text, "m.mlir"))
    smaller = DCE.run(PAD_INTO_CONVOLUTION.run(made))
    assert names(smaller)["d_pad"] == pads
    np.testing.assert_array_equal(interpret(smaller, [X])[0], interpret(made, [X])[0])


def test_an_update_of_a_carry_is_a_scatter() -> None:
    """Of one window, which is moved inside; not where the result becomes another carry."""
    made = program(
        """%zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %seven = stablehlo.constant dense<7> : tensor<i32>
        %row = stablehlo.constant dense<5.0> : tensor<1x3xf32>
        %0:3 = stablehlo.while(%i = %one, %a = %x, %b = %x) : tensor<i32>, tensor<?x3xf32>, tensor<?x3xf32>
          cond {
            %2 = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %2 : tensor<i1>
          } do {
            %2 = stablehlo.add %i, %one : tensor<i32>
            %3 = stablehlo.dynamic_update_slice %a, %row, %i, %zero
              : (tensor<?x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<?x3xf32>
            stablehlo.return %2, %3, %a : tensor<i32>, tensor<?x3xf32>, tensor<?x3xf32>
          }
        return %0#1 : tensor<?x3xf32>"""
    )
    changed = UPDATE_TO_SCATTER.run(made)
    assert names(changed)["d_scatter"] == 1
    assert "d_dynamic_update_slice" not in names(changed)
    (wanted,), (found,) = interpret(made, [X]), interpret(changed, [X])
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found[-1], [5, 5, 5])


def test_a_reduction_over_one_element_is_a_step_of_its_body() -> None:
    """In the order of the body's operands, and with its initial value: the signs of zeros are those of its op."""
    made = program(
        """%zero = stablehlo.constant dense<-0.0> : tensor<f32>
        %c = stablehlo.constant dense<[1.0, -0.0, 0.0]> : tensor<3xf32>
        %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
        %2 = stablehlo.reduce(%1 init: %zero) across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
          reducer(%a: tensor<f32>, %b: tensor<f32>) {
            %3 = stablehlo.subtract %b, %a : tensor<f32>
            stablehlo.return %3 : tensor<f32>
          }
        return %2 : tensor<3xf32>""",
        "tensor<3xf32>",
    )
    changed = UNIT_DIM_REDUCTION.run(made)
    assert "d_reduce" not in names(changed)
    (wanted,), (found,) = interpret(made, [X]), interpret(changed, [X])
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
