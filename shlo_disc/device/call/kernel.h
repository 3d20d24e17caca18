// Included by every generated file: functions for formulas and indices, and the ABI.
#pragma once
#include "values/interleave.h"
#include "values/masked.h"
#include "math/math.h"
#include "sort/ranked.h"
#include "call/caches.h"
#include "call/runtime.h"
#include "values/tile.h"

SHLO_DEFINE_CACHES

// A compile-time constant as an argument: rows(Int<4>(), row).
template <int N> struct Int { static constexpr int value = N; };

// Placed before a loop with few iterations, to keep it from being unrolled or vectorized.
#ifdef __clang__
#define SHLO_FEW_STEPS _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define SHLO_FEW_STEPS _Pragma("GCC unroll 1")
#endif

// 16 consecutive indices.
SHLO_INLINE i64v lanes_i64(int64_t start) { return splat_i64(start) + lanes_i64(); }

// Division of sizes and indices rounds down. Division by zero gives zero: there is no element to compute then.
SHLO_INLINE int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
SHLO_INLINE int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }

// A number that the compiler takes for any number. What it computes of constants it rounds after each operation, but
// products that the CPU adds are contracted, so that elements at known places would have other bits than the rest.
SHLO_INLINE int64_t unknown(int64_t x) {
  __asm__("" : "+r"(x));
  return x;
}

// Of a size or index and a literal.
SHLO_INLINE int64_t min_(int64_t a, int b) { return a < b ? a : b; }
SHLO_INLINE int64_t min_(int a, int64_t b) { return a < b ? a : b; }
SHLO_INLINE int64_t max_(int64_t a, int b) { return a > b ? a : b; }
SHLO_INLINE int64_t max_(int a, int64_t b) { return a > b ? a : b; }

// Prefetches an element that will be written. The index may be out of bounds.
template <class T>
SHLO_INLINE void prefetch(const T* p, int64_t index) {
  __builtin_prefetch((const void*)((uintptr_t)p + (uintptr_t)index * sizeof(T)), 1);
}

// Context of a product's or convolution's epilogue (besides the tile) and prologue (besides the panel). `row` and
// `column`: the origin of the prelude's indices, if it is given only a panel.
struct ShloTask {
  void* const* buffers;
  const int64_t* dims;
  int64_t batch[8];
  int64_t row, column;
};

// One of several horizontally fused kernels: offsets of its buffers and dims, its number of tasks, and work per task.
struct ShloPart {
  ShloKernel kernel;
  int64_t buffers, dims, extent, work;
};

// Runs units [begin, end) of the work of all parts. A task belongs to the range that contains its first unit.
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
