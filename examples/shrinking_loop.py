"""A loop whose work shrinks: Newton's method for square roots, where numbers that have converged leave the loop.

Each turn gathers the numbers that are left, improves them, and keeps those that still changed: the shape of what the
loop carries is another one in every turn. Run it with `python examples/shrinking_loop.py`.
"""

from __future__ import annotations

import sys

import numpy as np

import shlo_disc

PROGRAM = """
func.func @roots(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %close = stablehlo.constant dense<1.0e-6> : tensor<f32>
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %all = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>

  // %left: the numbers of those that still change; %work: how many were improved in all turns together
  %r:4 = stablehlo.while(%y = %x, %left = %all, %turns = %zero, %work = %zero)
    : tensor<?xf32>, tensor<?xi32>, tensor<i32>, tensor<i32>
  cond {
    %many = stablehlo.get_dimension_size %left, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    %more = stablehlo.compare GT, %many, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %many = stablehlo.get_dimension_size %left, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    %line = stablehlo.reshape %many : (tensor<i32>) -> tensor<1xi32>
    %a = "stablehlo.gather"(%x, %left) <{
      dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1>
    }> : (tensor<?xf32>, tensor<?xi32>) -> tensor<?xf32>
    %b = "stablehlo.gather"(%y, %left) <{
      dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1>
    }> : (tensor<?xf32>, tensor<?xi32>) -> tensor<?xf32>
    %quotient = stablehlo.divide %a, %b : tensor<?xf32>
    %sum = stablehlo.add %b, %quotient : tensor<?xf32>
    %halves = stablehlo.dynamic_broadcast_in_dim %half, %line, dims = []
      : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %better = stablehlo.multiply %sum, %halves : tensor<?xf32>
    %next = "stablehlo.scatter"(%y, %left, %better) <{
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                     index_vector_dim = 1>, unique_indices = true
    }> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
        stablehlo.return %new : tensor<f32>
    }) : (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xf32>

    // who changed by more than a part in a million stays: a stable sort puts those in front
    %step = stablehlo.subtract %better, %b : tensor<?xf32>
    %moved = stablehlo.abs %step : tensor<?xf32>
    %parts = stablehlo.dynamic_broadcast_in_dim %close, %line, dims = []
      : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %bound = stablehlo.multiply %better, %parts : tensor<?xf32>
    %done = stablehlo.compare LE, %moved, %bound : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
    %stays = stablehlo.not %done : tensor<?xi1>
    %ones = stablehlo.convert %stays : (tensor<?xi1>) -> tensor<?xi32>
    %count = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
    %sorted:2 = "stablehlo.sort"(%done, %left) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%p: tensor<i1>, %q: tensor<i1>, %u: tensor<i32>, %v: tensor<i32>):
        %before = stablehlo.compare LT, %p, %q : (tensor<i1>, tensor<i1>) -> tensor<i1>
        stablehlo.return %before : tensor<i1>
    }) : (tensor<?xi1>, tensor<?xi32>) -> (tensor<?xi1>, tensor<?xi32>)
    %kept = "stablehlo.set_dimension_size"(%sorted#1, %count) <{dimension = 0 : i64}>
      : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>

    %turn = stablehlo.add %turns, %one : tensor<i32>
    %worked = stablehlo.add %work, %many : tensor<i32>
    stablehlo.return %next, %kept, %turn, %worked : tensor<?xf32>, tensor<?xi32>, tensor<i32>, tensor<i32>
  }
  return %r#0, %r#2, %r#3 : tensor<?xf32>, tensor<i32>, tensor<i32>
}
"""


def main() -> int:
    """Compile once, take the roots of vectors of several sizes, and compare with NumPy; 0 if all is right."""
    random = np.random.default_rng(0)
    run = shlo_disc.compile(PROGRAM)
    wrong = 0
    for size in (0, 1, 1000, 100_000):
        x = np.exp(random.uniform(-20, 20, size)).astype(np.float32)
        found, turns, work = run(x)
        right = bool(np.allclose(found, np.sqrt(x), rtol=1e-6))
        wrong += not right
        share = int(work) / max(1, size * int(turns))
        print(
            f"{size:6} roots, {int(turns):2} turns, {share:4.0%} of the work: {'as NumPy has it' if right else 'WRONG'}"
        )
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
