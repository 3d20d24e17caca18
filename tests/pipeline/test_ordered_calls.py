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


@pytest.fixture
def seen() -> list[Any]:
    """What the calls got, in the order in which they came."""
    found = list[Any]()

    def noting(name: str) -> Any:
        def function(*arrays: Any) -> Any:
            found.append((name, *[np.array(one) for one in arrays]))
            return arrays if arrays and not arrays[0].shape else ()

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
@pytest.mark.parametrize("taken", [False, True])
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
