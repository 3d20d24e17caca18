"""Sizes that data decides, compiled: against NumPy, the reference interpreter, and both host programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module

Array = NDArray[Any]

GRID = """
func.func @main(%size: tensor<2xTYPE>, %x: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xTYPE>) {
  %one = stablehlo.constant dense<1> : tensor<2xTYPE>
  %more = stablehlo.add %size, %one : tensor<2xTYPE>
  %rows = stablehlo.slice %more [0:1] : (tensor<2xTYPE>) -> tensor<1xTYPE>
  %columns = stablehlo.slice %size [1:2] : (tensor<2xTYPE>) -> tensor<1xTYPE>
  %shape = stablehlo.concatenate %rows, %columns, dim = 0 : (tensor<1xTYPE>, tensor<1xTYPE>) -> tensor<2xTYPE>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1] : (tensor<?xf32>, tensor<2xTYPE>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xTYPE>) -> tensor<?x?xf32>
  %2 = stablehlo.add %0, %1 : tensor<?x?xf32>
  %3 = stablehlo.dynamic_iota %rows, dim = 0 : (tensor<1xTYPE>) -> tensor<?xTYPE>
  %4 = stablehlo.slice %size [0:1] : (tensor<2xTYPE>) -> tensor<1xTYPE>
  %5 = stablehlo.dynamic_broadcast_in_dim %4, %rows, dims = [0] : (tensor<1xTYPE>, tensor<1xTYPE>) -> tensor<?xTYPE>
  %6 = stablehlo.multiply %3, %5 : tensor<?xTYPE>
  return %2, %6 : tensor<?x?xf32>, tensor<?xTYPE>
}"""
DTYPES = {"i8": np.int8, "ui16": np.uint16, "i32": np.int32, "ui64": np.uint64, "i64": np.int64}


def run_all(text: str, calls: Sequence[Sequence[Array]]) -> list[Sequence[Array]]:
    """What each call gives: the same on both host programs, and as the reference interpreter has it."""
    program = legalize(parse_module(text))
    generated, vm = (shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=d)) for d in ("c", "vm"))
    found = list[Sequence[Array]]()
    for inputs in calls:
        found.append(generated(*inputs))
        for one, other, wanted in zip(found[-1], vm(*inputs), interpret(program, inputs), strict=True):
            assert one.shape == other.shape == wanted.shape
            assert one.tobytes() == other.tobytes()
            np.testing.assert_allclose(one, wanted, rtol=1e-5)
    return found


def floats(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_an_argument_are_sizes(dtype: str) -> None:
    kind = DTYPES[dtype]
    sizes = [(0, 0), (0, 3), (4, 1), (16, 17), (6, 0)]
    inputs = [(np.array(size, kind), floats(size[1])) for size in sizes]
    for (size, x), (grid, line) in zip(inputs, run_all(GRID.replace("TYPE", dtype), inputs), strict=True):
        np.testing.assert_array_equal(grid, x + np.arange(int(size[0]) + 1, dtype=np.float32)[:, None])
        np.testing.assert_array_equal(line, np.arange(int(size[0]) + 1).astype(kind) * size[0])


def refusal(dtype: str, size: Sequence[int], driver: Any, columns: int = 1) -> str:
    run = shlo_disc.compile(GRID.replace("TYPE", dtype), device="cpu", options=CompileOptions(driver=driver))
    with pytest.raises(RuntimeShapeError) as caught:
        run(np.array(size, DTYPES[dtype]), floats(columns))
    return str(caught.value)


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_negative_or_overflowing_size_names_the_op_and_the_line(driver: str) -> None:
    negative = refusal("i64", (-3, 1), driver)
    assert negative.splitlines()[:4] == [
        "the result of stablehlo.dynamic_broadcast_in_dim has no negative sizes: "
        "found -2 and 0, expected size_0 + 1 >= 0",
        "  found size_0 + 1 = -2, expected >= 0",
        "  where size_0 is element 0 of argument 0",
        "  demanded at <string>:8:8",
    ]
    wrapped = refusal("i8", (127, 1), driver)
    assert "the size that stablehlo.add computes does not overflow i8: found 127 and 128" in wrapped
    assert "demanded at <string>:4:11" in wrapped
    huge = refusal("i64", (1 << 62, 1), driver)
    assert f"the result of broadcast fits into memory: found f32[{(1 << 62) + 1}, 1]" in huge
    assert "computes does not overflow i64: found 9223372036854775808" in refusal("i64", ((1 << 63) - 1, 1), driver)
    assert "what is read from ui64 is a 64-bit size" in refusal("ui64", ((1 << 64) - 1, 1), driver)
    assert "a broadcast keeps sizes that are not 1: found 2 and 3" in refusal("i64", (1, 3), driver, 2)


ROW_BY_ROW = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i64>) -> tensor<1xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %step = stablehlo.constant dense<1> : tensor<1xi64>
  %none = stablehlo.constant dense<0.0> : tensor<1xf32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %none) : tensor<i64>, tensor<1xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %same = stablehlo.convert %i : tensor<i64>
    %next = stablehlo.add %same, %one : tensor<i64>
    %low = stablehlo.reshape %same : (tensor<i64>) -> tensor<1xi64>
    %high = stablehlo.reshape %next : (tensor<i64>) -> tensor<1xi64>
    %row = stablehlo.real_dynamic_slice %x, %low, %high, %step
      : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xf32>
    %more = stablehlo.add %sum, %row : tensor<1xf32>
    stablehlo.return %next, %more : tensor<i64>, tensor<1xf32>
  }
  return %r#1 : tensor<1xf32>
}
"""


def test_an_op_that_hands_on_what_a_loop_carries_is_seen_through() -> None:
    x = np.arange(7, dtype=np.float32)
    run = shlo_disc.compile(ROW_BY_ROW, device="cpu")
    for n in (0, 1, 5, 7):
        assert run(x, np.array(n, np.int64))[0] == x[:n].sum()


def test_what_is_said_of_such_a_program_is_true() -> None:
    run = shlo_disc.compile(GRID.replace("TYPE", "i64"), device="cpu")
    assert run.executable.artifact.free == ("s0", "size_0", "size_1")
    assert run.peak_memory(s0=3, size_0=4, size_1=3) == 0
    with pytest.raises(RuntimeShapeError, match="size_0=-2"):
        run.peak_memory(s0=3, size_0=-2, size_1=3)
    assert "size_0: element 0 of argument 0" in run.explain("facts")
