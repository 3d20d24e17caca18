"""What a loop or a branch demands of sizes counts if it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.pipeline.test_unbacked_dims import run_all

Array = NDArray[Any]

# Neither branch computes a size, but one demands more of those of the arguments than the other.
GUARD = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %starts = stablehlo.constant dense<2> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %ends = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %some = stablehlo.compare GE, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %0 = "stablehlo.if"(%some) ({
    %part = stablehlo.real_dynamic_slice %x, %starts, %ends, %one
      : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    stablehlo.return %part : tensor<?xf32>
  }, {
    stablehlo.return %x : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  %1 = "stablehlo.if"(%some) ({
    %negated = stablehlo.negate %0 : tensor<?xf32>
    stablehlo.return %negated : tensor<?xf32>
  }, {
    stablehlo.return %0 : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}"""


def test_a_branch_that_does_not_run_demands_nothing() -> None:
    x = np.arange(5, dtype=np.float32)
    calls = [(x, np.array(n, np.int32)) for n in (-3, 2, 4, 5)]
    for (_, n), (found, other) in zip(calls, run_all(GUARD, calls), strict=True):
        wanted = x[2 : int(n)] if n >= 0 else x
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(other, -wanted if n >= 0 else x)
    run = shlo_disc.compile(GUARD, device="cpu")
    assert run.host_source.count("jump by ") == 1  # the second one knows its sizes
    for n in (1, 6):
        with pytest.raises(RuntimeShapeError, match="in branch 1 at <string>:8:8"):
            run(x, np.array(n, np.int32))


# %x[3:5] is added in a loop, in a loop in that, and in a branch in that: what it demands counts where it is reached.
DEMANDS = """
func.func private @part(%x: tensor<?xf32>) -> tensor<2xf32> {
  %start = stablehlo.constant dense<3> : tensor<1xi32>
  %end = stablehlo.constant dense<5> : tensor<1xi32>
  %step = stablehlo.constant dense<1> : tensor<1xi32>
  %part = stablehlo.real_dynamic_slice %x, %start, %end, %step
    : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
  return %part : tensor<2xf32>
}
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: tensor<i32>, %m: tensor<i32>, %take: tensor<i1>)
  -> (tensor<2xf32>, tensor<2xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r:4 = stablehlo.while(%k = %n, %i = %zero, %a = %none, %z = %x)
    : tensor<i32>, tensor<i32>, tensor<2xf32>, tensor<?xf32>
  cond {
    %more = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %p = func.call @part(%x) : (tensor<?xf32>) -> tensor<2xf32>
    %b = stablehlo.add %a, %p : tensor<2xf32>
    %twice = stablehlo.add %z, %z : tensor<?xf32>
    stablehlo.return %k, %next, %b, %twice : tensor<i32>, tensor<i32>, tensor<2xf32>, tensor<?xf32>
  }
  %s:2 = stablehlo.while(%i = %zero, %a = %r#2) : tensor<i32>, tensor<2xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %u:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<2xf32>
    cond {
      %more = stablehlo.compare LT, %j, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %c = "stablehlo.if"(%take) ({
        %p = func.call @part(%y) : (tensor<?xf32>) -> tensor<2xf32>
        %d = stablehlo.add %b, %p : tensor<2xf32>
        stablehlo.return %d : tensor<2xf32>
      }, {
        stablehlo.return %b : tensor<2xf32>
      }) : (tensor<i1>) -> tensor<2xf32>
      %after = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %after, %c : tensor<i32>, tensor<2xf32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %u#1 : tensor<i32>, tensor<2xf32>
  }
  return %r#2, %s#1, %r#3 : tensor<2xf32>, tensor<2xf32>, tensor<?xf32>
}"""


def test_what_a_turn_demands_counts_if_there_is_one() -> None:
    def demanding(sizes: tuple[int, int], n: int, m: int, take: bool) -> tuple[Array, ...]:
        x, y = (np.arange(size, dtype=np.float32) for size in sizes)
        return x, y, np.array(n, np.int32), np.array(m, np.int32), np.array(take)

    calls = [
        demanding((5, 6), 2, 3, True), demanding((4, 0), 0, 3, True), demanding((7, 2), 2, 0, True),
        demanding((7, 2), 2, 1, False),
    ]  # fmt: skip
    for (x, y, n, m, take), found in zip(calls, run_all(DEMANDS, calls), strict=True):
        first = n * x[3:5] if n else np.zeros(2)
        second = first + (n * m * y[3:5] if n * m * take else 0)
        for one, wanted in zip(found, (first, second, x * 2**n), strict=True):
            np.testing.assert_array_equal(one, wanted)
    run = shlo_disc.compile(DEMANDS, device="cpu")
    with pytest.raises(RuntimeShapeError, match=r"found 4 and 5(.|\n)*in the loop at <string>:15:10$"):
        run(*demanding((4, 6), 1, 1, True))
    with pytest.raises(
        RuntimeShapeError, match=r"found 4 and 5(.|\n)*in branch 1(.|\n)*in iteration 1 of (.|\n)*in iteration 1 of"
    ):
        run(*demanding((5, 4), 1, 1, True))


# A loop that certainly has an iteration demands what its body does, and stays in the host program.
CERTAIN = (
    DEMANDS.split("  %s:2 =", maxsplit=1)[0].replace("%k = %n", "%k = %one")
    + """
  return %r#2, %r#2, %r#3 : tensor<2xf32>, tensor<2xf32>, tensor<?xf32>
}"""
)


def test_a_loop_that_has_a_turn_demands_all() -> None:
    program = legalize(parse_module(CERTAIN, "m.mlir"))
    assert [op.name for op in program.body.ops if op.name.startswith("d_outlined")] == []
    assert [str(check.lhs - check.rhs) for check in program.checks] == ["s0 - 5"]
