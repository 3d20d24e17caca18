// What every generated file includes: the vocabulary of formulas, indices, and the ABI.
#pragma once
#include "math.h"
#include "runtime.h"
#include "sort.h"

// A number known when compiling, as an argument: rows(Int<4>(), row).
template <int N> struct Int { static constexpr int value = N; };

// 16 consecutive indices.
SHLO_INLINE i64v lanes_i64(int64_t start) { return splat_i64(start) + lanes_i64(); }

// Division of sizes and indices rounds down; by zero it is zero, because then there is no element to compute.
SHLO_INLINE int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
SHLO_INLINE int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }

// What the epilogue of a product or a convolution gets besides the tile.
struct ShloTask {
  void* const* buffers;
  const int64_t* dims;
  int64_t batch[8];
};
