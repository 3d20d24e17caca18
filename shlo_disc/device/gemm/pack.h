// Packing operands of matrix products: conversion and transposition on the way. (Kinds of elements: gemm/kinds.h.)
#pragma once
#include "gemm/kinds.h"

namespace {

// One depth of up to `lanes` columns as numbers; the last column is repeated.
template <class K>
SHLO_INLINE typename K::vector read_line(const typename K::Storage* row, int64_t b_col, int64_t columns) {
  if (b_col == 1 && columns >= K::lanes) return K::read(row);
  typename K::Storage line[K::lanes];
#pragma GCC unroll 1
  for (int64_t j = 0; j < K::lanes; ++j) line[j] = row[min(j, columns - 1) * b_col];
  return K::read(line);
}

// `step` depths of them, of which the first `deep` exist, as packed elements.
template <class K>
SHLO_INLINE typename K::vector read_depths(const typename K::Storage* row, int64_t b_k, int64_t b_col, int64_t columns,
                                           int64_t deep) {
  typename K::vector x = read_line<K>(row, b_col, columns);
  if constexpr (K::step > 1)
    for (int depth = 1; depth < min(K::step, deep); ++depth)
      x = K::join(x, read_line<K>(row + depth * b_k, b_col, columns), depth);
  return x;
}

// The same where all exist and columns are adjacent.
template <class K>
SHLO_INLINE typename K::vector read_whole_depths(const typename K::Storage* row, int64_t b_k) {
  typename K::vector x = K::read(row);
  if constexpr (K::step >= 2) x = K::join(x, K::read(row + b_k), 1);
  if constexpr (K::step == 4) x = K::join(K::join(x, K::read(row + 2 * b_k), 2), K::read(row + 3 * b_k), 3);
  return x;
}

// packed[k, width] = b[k, columns], whole vectors; beyond the columns come arbitrary numbers, beyond k zeros.
template <class K>
SHLO_ONCE void pack(const typename K::Storage* b, int64_t b_k, int64_t b_col, int64_t k, int64_t columns,
                    typename K::Packed* packed, int64_t width) {
  constexpr int64_t L = K::lanes, step = K::step;
  int64_t p = 0;
  if (b_k == 1 && b_col != 1)  // squares are transposed; what is left of the depth is read with strides
    for (; p + L * step <= k; p += L * step, packed += L * width)
      for (int64_t j = 0; j < columns; j += L) {
        typename K::vector square[L];
        for (int64_t i = 0; i < L; ++i) square[i] = K::along(b + p + min(j + i, columns - 1) * b_col);
        K::transpose(square);
        for (int64_t i = 0; i < L; ++i) K::pack(packed + j + i * width, square[i]);
      }
  const bool lines = b_col == 1 && columns % (4 * L) == 0;
  for (; p < k; p += step, packed += width) {
    const typename K::Storage* const row = b + p * b_k;
    if (lines && p + step <= k)
      for (int64_t j = 0; j < columns; j += 4 * L) {
        typename K::vector x[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) x[v] = read_whole_depths<K>(row + j + v * L, b_k);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) K::pack(packed + j + v * L, x[v]);
      }
    else
      for (int64_t j = 0; j < columns; j += L)
        K::pack(packed + j, read_depths<K>(row + j * b_col, b_k, b_col, columns - j, k - p));
  }
}

}  // namespace
