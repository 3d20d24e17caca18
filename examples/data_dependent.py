"""A result whose size is decided by data: keep the rows whose score is above a threshold, and nothing else.

Run it with `python examples/data_dependent.py`.
"""

from __future__ import annotations

import sys

import numpy as np

import shlo_disc

PROGRAM = """
func.func @keep(%rows: tensor<?x8xf32>, %scores: tensor<?xf32>, %least: tensor<f32>) -> tensor<?x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %size = stablehlo.get_dimension_size %scores, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %bound = stablehlo.dynamic_broadcast_in_dim %least, %shape, dims = []
    : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %keep = stablehlo.compare GT, %scores, %bound : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>

  // how many rows are kept: a size that is known once the scores have been compared
  %ones = stablehlo.convert %keep : (tensor<?xi1>) -> tensor<?xi32>
  %count = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?xi32>, tensor<i32>) -> tensor<i32>

  // where they are: a stable sort puts them first
  %drop = stablehlo.not %keep : tensor<?xi1>
  %numbers = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %sorted:2 = "stablehlo.sort"(%drop, %numbers) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<i32>, %d: tensor<i32>):
      %before = stablehlo.compare LT, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %before : tensor<i1>
  }) : (tensor<?xi1>, tensor<?xi32>) -> (tensor<?xi1>, tensor<?xi32>)
  %places = "stablehlo.set_dimension_size"(%sorted#1, %count) <{dimension = 0 : i64}>
    : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>

  %found = "stablehlo.gather"(%rows, %places) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 8>
  }> : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return %found : tensor<?x8xf32>
}
"""


def main() -> int:
    """Compile once, filter tables of several sizes, and compare with NumPy; 0 if all is right."""
    random = np.random.default_rng(0)
    run = shlo_disc.compile(PROGRAM)
    wrong = 0
    for size in (1, 10, 1000, 100_000):
        rows = random.standard_normal((size, 8), dtype=np.float32)
        scores = random.random(size, dtype=np.float32)
        (kept,) = run(rows, scores, np.array(0.75, np.float32))
        wanted = rows[scores > 0.75]
        same = kept.shape == wanted.shape and bool((kept == wanted).all())
        wrong += not same
        print(f"{size:6} rows, {len(kept):5} kept: {'as NumPy has it' if same else 'WRONG'}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
