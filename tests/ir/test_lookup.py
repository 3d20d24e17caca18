"""Functions, ops and values are found by name; values lead to the ops that make and take them."""

from __future__ import annotations

import pytest

from shlo_disc.parse.parser import parse_module

MODULE = parse_module("""\
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1:2 = "stablehlo.case"(%n) ({
    %inner = stablehlo.tanh %0 : tensor<4xf32>
    stablehlo.return %inner, %n : tensor<4xf32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  %2 = stablehlo.tanh %1#0 : tensor<4xf32>
  %3 = call @other(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @other(%y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
""")
MAIN = MODULE.functions["main"]


def test_ops_of_a_name_in_text_order() -> None:
    assert [op.results[0].name for op in MODULE.find("stablehlo.tanh")] == ["inner", "2", "0"]
    assert MODULE.find("stablehlo.sine") == ()


@pytest.mark.parametrize("name", ["x", "%x", "%0", "%1#1", "inner"])
def test_a_value_by_name(name: str) -> None:
    assert MAIN.value(name).name == name.removeprefix("%")


def test_a_name_that_no_value_has() -> None:
    with pytest.raises(KeyError, match="no value %y in @main"):
        MAIN.value("%y")


def test_who_takes_a_value() -> None:
    users = MAIN.users()
    assert [op.name for op in users[MAIN.value("x")]] == ["stablehlo.add"]  # once, though it takes it twice
    assert [op.name for op in users[MAIN.value("n")]] == ["stablehlo.case", "stablehlo.return"]
    assert [op.name for op in users[MAIN.value("0")]] == ["stablehlo.tanh"]
    assert MAIN.value("1#1") not in users


def test_who_makes_a_value() -> None:
    producers = MAIN.producers()
    assert producers[MAIN.value("1#1")].name == "stablehlo.case"
    assert producers[MAIN.value("inner")].name == "stablehlo.tanh"
    assert MAIN.value("x") not in producers
