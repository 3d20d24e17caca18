"""Shapes of `shape` and `tensor`: what they compute, what is checked, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shlo_disc
from shlo_disc.diagnostics import CompileError, UnsupportedOpError
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify
from tests.legalize.other_dialects import run

pytestmark = pytest.mark.quick


@settings(max_examples=20)  # sizes of which nothing is known take the prover half a second
@given(st.lists(st.integers(0, 3), max_size=2), st.lists(st.integers(0, 3), max_size=2))
def test_shapes(first: list[int], second: list[int]) -> None:
    """Broadcasting is NumPy's, and sizes are joined, split and counted."""
    types = ["tensor<" + "?x" * len(sizes) + "f32>" for sizes in (first, second)]
    try:
        broadcast: tuple[int, ...] | None = np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        broadcast = None
    rank = max(len(first), len(second))
    text = f"""func.func @main(%x: {types[0]}, %y: {types[1]}) -> (tensor<8xindex>, tensor<?xindex>) {{
      %a = shape.shape_of %x : {types[0]} -> !shape.shape
      %b = shape.shape_of %y : {types[1]} -> tensor<{len(second)}xindex>
      %bs = shape.from_extent_tensor %b : tensor<{len(second)}xindex>
      %c = shape.is_broadcastable %a, %bs : !shape.shape, !shape.shape
      %e = shape.shape_eq %a, %bs : !shape.shape, !shape.shape
      %ci = arith.index_castui %c : i1 to index
      %ei = arith.index_castui %e : i1 to index
      %n = shape.num_elements %a : !shape.shape -> !shape.size
      %ni = shape.size_to_index %n : !shape.size
      %ea = shape.to_extent_tensor %a : !shape.shape -> tensor<?xindex>
      %r = shape.rank %b : tensor<{len(second)}xindex> -> index
      %all = shape.concat %a, %bs : !shape.shape, !shape.shape -> !shape.shape
      %m = shape.num_elements %all : !shape.shape -> !shape.size
      %mn = shape.size_to_index %m : !shape.size
      %k = shape.const_shape [2, 3, 4] : !shape.shape
      %at = arith.constant -1 : index
      %head, %tail = "shape.split_at"(%k, %at) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
      %h = shape.num_elements %head : !shape.shape -> !shape.size
      %hi = shape.size_to_index %h : !shape.size
      %z = shape.const_size 5
      %most = shape.max %z, %n : !shape.size, !shape.size -> !shape.size
      %mi = shape.size_to_index %most : !shape.size
      %q = shape.div %mn, %mi : index, index -> index
      %found = tensor.from_elements %ci, %ei, %ni, %r, %mn, %hi, %mi, %q : tensor<8xindex>
      %s = shape.broadcast %ea, %b : tensor<?xindex>, tensor<{len(second)}xindex> -> tensor<?xindex>
      %t = tensor.cast %s : tensor<?xindex> to tensor<{rank}xindex>
      %u = tensor.cast %t : tensor<{rank}xindex> to tensor<?xindex>
      return %found, %u : tensor<8xindex>, tensor<?xindex>
    }}"""
    found = run(text, np.zeros(first, np.float32), np.zeros(second, np.float32))
    count, joined = int(np.prod(first)), int(np.prod([*first, *second]))
    most = max(5, count)
    assert found[:8] == [broadcast is not None, first == second, count, len(second), joined, 6, most, joined // most]
    if broadcast is not None:
        assert tuple(found[8:]) == broadcast


def test_elements_of_shapes_and_tensors() -> None:
    text = """func.func @main(%x: tensor<?x?xf32>, %t: tensor<2x3xi64>, %i: index) -> tensor<9xindex> {
      %c1_i32 = arith.constant 1 : i32
      %c1 = arith.index_cast %c1_i32 : i32 to index
      %z1 = shape.const_size 1
      %0 = tensor.dim %x, %c1 : tensor<?x?xf32>
      %1 = tensor.dim %x, %i : tensor<?x?xf32>
      %2 = shape.dim %x, %c1 : tensor<?x?xf32>, index -> index
      %s = shape.from_extents %0, %z1, %2 : index, !shape.size, index
      %z = shape.get_extent %s, %z1 : !shape.shape, !shape.size -> !shape.size
      %3 = shape.size_to_index %z : !shape.size
      %k = shape.const_shape [5, 6, 7] : tensor<3xindex>
      %4 = tensor.extract %k[%c1] : tensor<3xindex>
      %5 = tensor.extract %k[%i] : tensor<3xindex>
      %6 = tensor.extract %t[%i, %c1] : tensor<2x3xi64>
      %c0 = arith.subi %c1, %c1 : index
      %7 = tensor.extract %t[%c1, %c0] : tensor<2x3xi64>
      %8 = arith.index_cast %6 : i64 to index
      %9 = arith.index_cast %7 : i64 to index
      %grid = tensor.from_elements %8, %9, %4, %5 : tensor<2x2xindex>
      %10 = tensor.extract %grid[%c1, %c1] : tensor<2x2xindex>
      %11 = tensor.from_elements %0, %1, %2, %3, %4, %5, %8, %9, %10 : tensor<9xindex>
      return %11 : tensor<9xindex>
    }"""
    given = np.arange(10, 16).reshape(2, 3)
    for i in (0, 1):
        found = run(text, np.zeros((3, 4), np.float32), given, np.int64(i))
        assert found == [4, 3 + i, 4, 1, 6, 5 + i, 11 + 3 * i, 13, 5 + i]


def test_a_shape_by_itself_is_broadcastable() -> None:
    text = """func.func @main(%x: tensor<?x4xf32>) -> (tensor<2xindex>, index) {
      %a = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
      %b = shape.broadcast %a : tensor<2xindex> -> tensor<2xindex>
      %c = shape.is_broadcastable %a : tensor<2xindex>
      %d = shape.shape_eq %a : tensor<2xindex>
      %w = shape.cstr_eq %a : tensor<2xindex>
      shape.assuming %w {
      }
      %e = arith.andi %c, %d : i1
      %f = arith.index_castui %e : i1 to index
      return %b, %f : tensor<2xindex>, index
    }"""
    assert run(text, np.zeros((3, 4), np.float32)) == [3, 4, 1]


CASES = """func.func @main(%which: tensor<i32>, %t: tensor<2xindex>, %s: tensor<2xindex>) -> (tensor<i64>, index) {
  %0 = "stablehlo.case"(%which) ({
    %1 = shape.num_elements %t : tensor<2xindex> -> index
    %2 = arith.index_cast %1 : index to i64
    %3 = tensor.from_elements %2 : tensor<i64>
    stablehlo.return %3 : tensor<i64>
  }, {
    %1 = shape.num_elements %t : tensor<2xindex> -> index
    %2 = shape.num_elements %s : tensor<2xindex> -> index
    %3 = arith.addi %1, %2 : index
    %4 = arith.index_cast %3 : index to i64
    %5 = tensor.from_elements %4 : tensor<i64>
    stablehlo.return %5 : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  %1 = shape.num_elements %s : tensor<2xindex> -> index
  return %0, %1 : tensor<i64>, index
}"""


def test_regions_count_the_elements_of_one_shape_each_on_its_own() -> None:
    compiled = shlo_disc.compile(CASES, device="cpu")
    t, s = np.array([3, 4]), np.array([5, 7])
    for which, wanted in enumerate((12, 12 + 35)):
        assert run(CASES, np.int32(which), t, s) == [wanted, 35]
        assert [int(x) for x in compiled(np.int32(which), t, s)] == [wanted, 35]


ASSUMED = """func.func @main(%x: tensor<?xf32>, %y: tensor<?x3xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?x3xf32>
  %a = tensor.from_elements %n : tensor<1xindex>
  %b = tensor.from_elements %m : tensor<1xindex>
  %same = shape.cstr_eq %a, %b : tensor<1xindex>, tensor<1xindex>
  %p = arith.cmpi uge, %n, %c1 : index
  %some = shape.cstr_require %p, "found no elements"
  %w = shape.assuming_all %same, %some
  %0 = shape.assuming %w -> (tensor<?xf32>) {
    shape.assuming_yield %x : tensor<?xf32>
  }
  %1 = tensor.cast %y : tensor<?x3xf32> to tensor<2x?xf32>
  return %0 : tensor<?xf32>
}"""


def test_what_is_assumed_and_cast_is_checked() -> None:
    checks = [check.message for check in legalize(parse_module(ASSUMED)).checks]
    assert checks == [
        "expected equal sizes, found {0} and {1}",
        "found no elements",
        "expected size 2 of dimension 0, found {0}",
    ]


REFUSED = {
    "a divisor 0": ("%0 = arith.divsi %i, %c0 : index", "op 'arith.divsi' is not supported with the divisor 0"),
    "a remainder by 0": ("%0 = arith.remui %i, %c0 : index", "op 'arith.remui' is not supported with the divisor 0"),
    "a shape's divisor 0": ("%0 = shape.div %i, %c0 : index, index -> index", "op 'shape.div' is not supported with"),
    "a dimension too far": ("%0 = tensor.dim %x, %c7 : tensor<?xf32>", "of dimension 7 of a tensor of rank 1"),
    "an index too far": ("%0 = tensor.extract %t[%c7] : tensor<2xindex>", "with the index 7 of a dimension of size 2"),
    "an unknown rank": ("%0 = shape.num_elements %d : tensor<?xindex> -> index", "of a shape whose rank is not known"),
    "another size": ("%k = shape.broadcast %t, %t : tensor<2xindex>, tensor<2xindex> -> tensor<?xindex>\n"
                     "  %0 = tensor.cast %k : tensor<?xindex> to tensor<3xindex>",
                     "op 'tensor.cast' is not supported to size 3 of dimension 0, which has size 2"),
    "a place that is computed": ('%0:2 = "shape.split_at"(%t, %i) : (tensor<2xindex>, index) -> '
                                 "(tensor<?xindex>, tensor<?xindex>)", "but at a constant from -2 to 2"),
    "parts of other sizes": ('%0:2 = "shape.split_at"(%t, %c1) : (tensor<2xindex>, index) -> '
                             "(tensor<1xindex>, tensor<2xindex>)",
                             "'shape.split_at' is not supported with a result tensor<2xindex> that is tensor<1xi64>"),
    "another rank": ("%0 = shape.concat %t, %t : tensor<2xindex>, tensor<2xindex> -> tensor<3xindex>",
                     "op 'shape.concat' is not supported with a result tensor<3xindex> that is tensor<4xi64>"),
    "what i1 has not": ("%0 = arith.divsi %b, %b : i1", "op 'arith.divsi' is not supported of i1"),
    "what never holds": ("%0 = shape.const_witness false\n  shape.assuming %0 {\n  }", "it does not hold"),
    "ranks that differ": ("%k = shape.const_shape [1] : tensor<1xindex>\n"
                          "  %0 = shape.cstr_eq %t, %k : tensor<2xindex>, tensor<1xindex>\n  shape.assuming %0 {\n  }",
                          "expected shapes of one rank, found 2 and 1 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_op_and_its_line(case: str) -> None:
    line, message = REFUSED[case]
    text = f"""func.func @main(%x: tensor<?xf32>, %t: tensor<2xindex>, %d: tensor<?xindex>, %i: index, %b: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  {line}
  return
}}"""
    module = parse_module(text)
    verify(module)
    with pytest.raises(CompileError) as caught:
        legalize(module)
    assert message in str(caught.value)
    assert caught.value.span.line == 5 + (line.count("\n") if "cast" in line else 1 if "cstr_eq" in line else 0)


def test_shapes_do_not_pass_through_functions() -> None:
    text = """func.func @main(%s: !shape.shape) -> index {
      %0 = shape.rank %s : !shape.shape -> index
      return %0 : index
    }"""
    with pytest.raises(UnsupportedOpError, match=r"values of type !shape\.shape are not supported where functions"):
        legalize(parse_module(text))
