"""Tuples among arguments, results and values: their members are arguments and results of their own."""

from __future__ import annotations

import numpy as np

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

TEXT = """
func.func private @swap(%p: tuple<tensor<?xf32>, tuple<tensor<i32>>>) -> tuple<tuple<tensor<i32>>, tensor<?xf32>> {
  %x = stablehlo.get_tuple_element %p[0] : (tuple<tensor<?xf32>, tuple<tensor<i32>>>) -> tensor<?xf32>
  %n = stablehlo.get_tuple_element %p[1] : (tuple<tensor<?xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
  %q = stablehlo.tuple %n, %x : tuple<tuple<tensor<i32>>, tensor<?xf32>>
  return %q : tuple<tuple<tensor<i32>>, tensor<?xf32>>
}
func.func @main(%a: tensor<?xf32>, %t: tuple<tensor<?xf32>, tuple<tensor<i32>>, tuple<>>)
    -> (tuple<tuple<tensor<i32>>, tensor<?xf32>>, tensor<?xf32>) {
  %x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<?xf32>, tuple<tensor<i32>>, tuple<>>) -> tensor<?xf32>
  %n = stablehlo.get_tuple_element %t[1] : (tuple<tensor<?xf32>, tuple<tensor<i32>>, tuple<>>) -> tuple<tensor<i32>>
  %sum = stablehlo.add %a, %x : tensor<?xf32>
  %p = stablehlo.tuple %sum, %n : tuple<tensor<?xf32>, tuple<tensor<i32>>>
  %q = func.call @swap(%p) : (tuple<tensor<?xf32>, tuple<tensor<i32>>>) -> tuple<tuple<tensor<i32>>, tensor<?xf32>>
  %again = stablehlo.get_tuple_element %q[1] : (tuple<tuple<tensor<i32>>, tensor<?xf32>>) -> tensor<?xf32>
  %double = stablehlo.add %again, %again : tensor<?xf32>
  return %q, %double : tuple<tuple<tensor<i32>>, tensor<?xf32>>, tensor<?xf32>
}
"""


def test_members_stand_in_the_place_of_a_tuple() -> None:
    a, x, n = np.arange(5, dtype=np.float32), np.ones(5, np.float32), np.array(7, np.int32)
    for found in (shlo_disc.compile(TEXT)(a, x, n), interpret(legalize(parse_module(TEXT)), [a, x, n])):
        assert [one.dtype for one in found] == [np.int32, np.float32, np.float32]
        assert found[0] == 7
        np.testing.assert_array_equal(found[1], a + 1)
        np.testing.assert_array_equal(found[2], 2 * (a + 1))
