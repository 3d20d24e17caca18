// Dot products of few rows and columns that are adjacent along the depth. (Kinds of elements: gemm/kinds.h.)
#pragma once
#include "gemm/tiles.h"

namespace {

constexpr int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

// c[M, N] = a[M, k] * b[k, N], both adjacent along k, which is at least one vector. Columns after `last` repeat it.
template <class K, int M, int N>
void dots(const typename K::Storage* a, int64_t a_row, const typename K::Storage* b, int64_t b_col, int64_t last,
          typename K::Element* c, int64_t ldc, int64_t k) {
  constexpr int L = K::lanes;
  typedef typename K::vector vector;
  const typename K::Storage* column[N];
#pragma GCC unroll 16
  for (int j = 0; j < N; ++j) column[j] = b + min(j, last) * b_col;
  vector sum[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) sum[i][j] = K::zero();
  const auto add = [&](int64_t p, auto read) __attribute__((always_inline)) {
    vector y[N];
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      y[j] = read(column[j] + p);
      if (M > 1) K::keep(y[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      vector x = read(a + i * a_row + p);
      K::keep(x);
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) sum[i][j] = K::multiply_add(sum[i][j], x, y[j]);
    }
  };
  for (int64_t p = 0; p + L <= k; p += L)
    add(p, [](const typename K::Storage* at) __attribute__((always_inline)) { return K::read(at); });
  if (k % L != 0)
    add(k - L, [=](const typename K::Storage* at)
                   __attribute__((always_inline)) { return K::keep_last(K::read(at), k % L); });
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < N; j += 4) K::sum(sum[i] + j, c + i * ldc + j);
}

}  // namespace
