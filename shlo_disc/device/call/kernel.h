// What every generated file includes: the vocabulary of formulas, indices, and the ABI.
#pragma once
#include "values/interleave.h"
#include "values/masked.h"
#include "math/math.h"
#include "sort/ranked.h"
#include "call/runtime.h"
#include "values/tile.h"

// A number known when compiling, as an argument: rows(Int<4>(), row).
template <int N> struct Int { static constexpr int value = N; };

// Before a loop of few steps, that a compiler would prepare for many.
#ifdef __clang__
#define SHLO_FEW_STEPS _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define SHLO_FEW_STEPS _Pragma("GCC unroll 1")
#endif

// 16 consecutive indices.
SHLO_INLINE i64v lanes_i64(int64_t start) { return splat_i64(start) + lanes_i64(); }

// Division of sizes and indices rounds down; by zero it is zero, because then there is no element to compute.
SHLO_INLINE int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
SHLO_INLINE int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }

// A size or an index, and a literal.
SHLO_INLINE int64_t min_(int64_t a, int b) { return a < b ? a : b; }
SHLO_INLINE int64_t min_(int a, int64_t b) { return a < b ? a : b; }
SHLO_INLINE int64_t max_(int64_t a, int b) { return a > b ? a : b; }
SHLO_INLINE int64_t max_(int a, int64_t b) { return a > b ? a : b; }

// Asks for an element that will be written. The index may be any.
template <class T>
SHLO_INLINE void prefetch(const T* p, int64_t index) {
  __builtin_prefetch((const void*)((uintptr_t)p + (uintptr_t)index * sizeof(T)), 1);
}

// What the epilogue of a product or a convolution gets besides the tile, and its prologue besides the panel. `row` and
// `column`: where the prelude begins to count, if it sees only a panel.
struct ShloTask {
  void* const* buffers;
  const int64_t* dims;
  int64_t batch[8];
  int64_t row, column;
};

// One of several kernels that share a launch: where its buffers and sizes begin, how many tasks it has, and the work
// of each.
struct ShloPart {
  ShloKernel kernel;
  int64_t buffers, dims, extent, work;
};

// Range [begin, end) of the work of all parts. A task belongs to the range that its first unit of work is in.
SHLO_INLINE void run_parts(const ShloRuntime* runtime, const ShloPart* parts, int64_t count, void* const* buffers,
                           const int64_t* dims, int64_t begin, int64_t end, void* scratch) {
  for (int64_t k = 0; k < count && end > 0; ++k) {
    const ShloPart& part = parts[k];
    const int64_t first = begin <= 0 ? 0 : (begin + part.work - 1) / part.work;
    const int64_t last = (end + part.work - 1) / part.work;
    if (first < part.extent && first < last) {
      part.kernel(runtime, buffers + part.buffers, dims + part.dims, first, last < part.extent ? last : part.extent,
                  scratch);
    }
    begin -= part.extent * part.work;
    end -= part.extent * part.work;
  }
}
