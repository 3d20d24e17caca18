// What every generated file includes: the vocabulary of formulas, indices, and the ABI.
#pragma once
#include "math.h"
#include "runtime.h"

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

// Stable merge sort of `n` numbers by `before`, with `n` numbers of scratch memory: runs of 16 by insertion, then merges.
template <class Before>
static void merge_sort(int64_t* order, int64_t* scratch, int64_t n, Before before) {
  constexpr int64_t RUN = 16;
  for (int64_t first = 0; first < n; first += RUN) {
    const int64_t last = first + RUN < n ? first + RUN : n;
    for (int64_t i = first + 1; i < last; ++i) {
      const int64_t x = order[i];
      int64_t j = i;
      for (; j > first && before(x, order[j - 1]); --j) order[j] = order[j - 1];
      order[j] = x;
    }
  }
  int64_t *from = order, *to = scratch;
  for (int64_t width = RUN; width < n; width *= 2) {
    for (int64_t first = 0; first < n; first += 2 * width) {
      const int64_t middle = first + width < n ? first + width : n, last = first + 2 * width < n ? first + 2 * width : n;
      int64_t a = first, b = middle, at = first;
      while (a < middle && b < last) to[at++] = before(from[b], from[a]) ? from[b++] : from[a++];
      while (a < middle) to[at++] = from[a++];
      while (b < last) to[at++] = from[b++];
    }
    int64_t* const swap = from;
    from = to;
    to = swap;
  }
  if (from != order)
    for (int64_t i = 0; i < n; ++i) order[i] = from[i];
}
