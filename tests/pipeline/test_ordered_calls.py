"""Tokens order the custom calls of functions that users register, whatever the compiler orders otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from tests.pipeline.hooks import WAYS, Floats, register, way

# `@second` is ready long before `@first`, and frees memory.
CHAIN = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = stablehlo.exponential %x : tensor<?xf32>
  %b = stablehlo.sine %a : tensor<?xf32>
  %1 = "stablehlo.custom_call"(%b, %t) {call_target_name = "first", has_side_effect = true}
    : (tensor<?xf32>, !stablehlo.token) -> !stablehlo.token
  %u = stablehlo.after_all %t, %1 : !stablehlo.token
  %2 = "stablehlo.custom_call"(%u, %x) {call_target_name = "second", has_side_effect = true}
    : (!stablehlo.token, tensor<?xf32>) -> !stablehlo.token
  %3 = stablehlo.after_all %t, %1, %2 : !stablehlo.token
  %4 = "stablehlo.custom_call"(%3) {call_target_name = "third", has_side_effect = true}
    : (!stablehlo.token) -> !stablehlo.token
  %y = stablehlo.add %x, %b : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
# The token is carried by a loop, passed to a function and a branch, taken and returned by the entry.
CARRIED = """
func.func private @note(%t: !stablehlo.token, %x: tensor<f32>) -> (tensor<f32>, !stablehlo.token) {
  %0:2 = "stablehlo.custom_call"(%t, %x) {call_target_name = "first", has_side_effect = true}
    : (!stablehlo.token, tensor<f32>) -> (!stablehlo.token, tensor<f32>)
  return %0#1, %0#0 : tensor<f32>, !stablehlo.token
}
func.func @main(%t: !stablehlo.token, %x: tensor<f32>, %p: tensor<i1>) -> (!stablehlo.token, tensor<f32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:3 = stablehlo.while(%i = %zero, %u = %t, %v = %x) : tensor<f32>, !stablehlo.token, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %i, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<f32>
      %w:2 = func.call @note(%u, %i) : (!stablehlo.token, tensor<f32>) -> (tensor<f32>, !stablehlo.token)
      %z = stablehlo.add %v, %w#0 : tensor<f32>
      stablehlo.return %j, %w#1, %z : tensor<f32>, !stablehlo.token, tensor<f32>
    }
  %s = "stablehlo.if"(%p) ({
      %k:2 = func.call @note(%r#1, %two) : (!stablehlo.token, tensor<f32>) -> (tensor<f32>, !stablehlo.token)
      stablehlo.return %k#1 : !stablehlo.token
    }, {
      stablehlo.return %r#1 : !stablehlo.token
    }) : (tensor<i1>) -> !stablehlo.token
  %e:2 = "stablehlo.custom_call"(%s, %x) {call_target_name = "second", has_side_effect = true}
    : (!stablehlo.token, tensor<f32>) -> (!stablehlo.token, tensor<f32>)
  return %e#0, %r#2 : !stablehlo.token, tensor<f32>
}
"""

# As JAX writes them: tokens come first, and each result has a shape among the operands, tokens too.
SHAPED = """
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %a = stablehlo.exponential %x : tensor<?xf32>
  %b = stablehlo.sine %a : tensor<?xf32>
  %1:2 = "stablehlo.custom_call"(%t, %b, %none, %shape) {call_target_name = "first", has_side_effect = true,
    indices_of_shape_operands = dense<[2, 3]> : tensor<2xi64>}
    : (!stablehlo.token, tensor<?xf32>, tensor<0xi32>, tensor<1xi32>) -> (!stablehlo.token, tensor<?xf32>)
  %2:2 = "stablehlo.custom_call"(%1#0, %x, %none, %shape) {call_target_name = "second", has_side_effect = true,
    indices_of_shape_operands = dense<[2, 3]> : tensor<2xi64>,
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1,
      operand_tuple_indices = []>]}
    : (!stablehlo.token, tensor<?xf32>, tensor<0xi32>, tensor<1xi32>) -> (!stablehlo.token, tensor<?xf32>)
  return %1#1, %2#1 : tensor<?xf32>, tensor<?xf32>
}
"""


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> list[Any]:
    """What the calls got, in the order in which they came. The ones that are named return what they get."""
    found = list[Any]()
    returning = getattr(request, "param", ())

    def noting(name: str) -> Any:
        def function(*arrays: Any) -> Any:
            found.append((name, *[np.array(one) for one in arrays]))
            return arrays if name in returning else ()

        return function

    for name in ("first", "second", "third"):
        register(name, noting(name))
    return found


@way
def test_calls_follow_the_tokens_that_they_take(way: str, seen: list[Any]) -> None:
    run = WAYS[way](CHAIN)
    for size in (1, 5, 64):
        x: Floats = np.linspace(-1, 1, size, dtype=np.float32)
        for _ in range(2):
            seen.clear()
            (y,) = run(x)
            assert [one[0] for one in seen] == ["first", "second", "third"]
            assert [len(one) for one in seen] == [2, 2, 1], "no call gets a token"
            np.testing.assert_array_equal(seen[1][1], x)
            np.testing.assert_allclose(seen[0][1], np.sin(np.exp(x)), rtol=1e-5)
            np.testing.assert_allclose(y, x + np.sin(np.exp(x)), rtol=1e-5)


@way
@pytest.mark.parametrize("seen", [("first", "second")], indirect=True)
def test_operands_are_numbered_without_tokens(way: str, seen: list[Any]) -> None:
    run = WAYS[way](SHAPED)
    for size in (1, 5, 64):
        x: Floats = np.linspace(-1, 1, size, dtype=np.float32)
        seen.clear()
        y, z = run(x)
        assert [one[0] for one in seen] == ["first", "second"]
        assert [len(one) for one in seen] == [2, 2], "no call gets a token, or a shape"
        np.testing.assert_allclose(y, np.sin(np.exp(x)), rtol=1e-5)
        np.testing.assert_array_equal(z, x)


@way
@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("seen", [("first", "second")], indirect=True)
def test_tokens_go_through_loops_branches_and_functions(way: str, taken: bool, seen: list[Any]) -> None:
    (found,) = WAYS[way](CARRIED)(np.array(0.5, np.float32), np.array(taken))
    assert found == 1.5
    numbers = [(name, float(value)) for name, value in seen]
    assert numbers == [("first", 0), ("first", 1), *[("first", 2)] * taken, ("second", 0.5)]


@pytest.mark.parametrize("fusion", ["none", "full"])
def test_tokens_order_calls_at_every_level_of_fusion(fusion: Any, seen: list[Any]) -> None:
    run = shlo_disc.compile(CHAIN, options=CompileOptions(fusion=fusion))
    run(np.ones(7, np.float32))
    assert [one[0] for one in seen] == ["first", "second", "third"]
