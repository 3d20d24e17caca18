// Batches of small products of one kind of elements. (The interface: gemm/gemm.h; kinds: gemm/kinds.h.)
//
// Nothing is packed: lanes are columns of one product, in registers as narrow as its rows allow, and the loop over the
// products is inside the tile. What a tile cannot read in place, which are elements of other types than the sums and columns
// of B that are not adjacent, is copied for all products at once.
#pragma once
#include "gemm/gemm.h"
#include "gemm/kinds.h"

namespace {

// Rows of a tile: as many as there are, but no more than this, and of more than 4 only so many.
constexpr int SMALL_ROWS = 8;

// Elements [matrix, row, column] from `data` on.
template <class T>
struct Matrices {
  const T* data;
  int64_t next, row, column;
};

// c[count, M, columns] = a[count, M, k] * b[count, k, columns], for at most K::lanes columns.
template <class K, int M>
void small_tile(Matrices<typename K::Storage> a, Matrices<typename K::Storage> b, typename K::Element* c, int64_t c_next,
                int64_t ldc, int64_t columns, int64_t k, int64_t count) {
  const bool whole = columns == K::lanes;
  for (; count > 0; --count, a.data += a.next, b.data += b.next, c += c_next) {
    typename K::vector sum[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) sum[i] = K::zero();
    for (int64_t p = 0; p < k; ++p) {
      const typename K::Storage* const line = b.data + p * b.row;
      const typename K::vector y = whole ? K::read(line) : K::read_n(line, columns);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i)
        sum[i] = K::multiply_add(sum[i], K::broadcast(a.data[i * a.row + p * a.column]), y);
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
      if (whole) K::store(c + i * ldc, sum[i]);
      else K::store_n(c + i * ldc, sum[i], columns);
  }
}

template <class K>
auto small_tile_of(int64_t rows) {
  switch (rows) {
    case 1: return small_tile<K, 1>;
    case 2: return small_tile<K, 2>;
    case 3: return small_tile<K, 3>;
    case 4: return small_tile<K, 4>;
    default: return small_tile<K, SMALL_ROWS>;
  }
}

// The narrowest registers that hold the columns, or the widest.
template <class K>
auto small_tile_of(int64_t rows, int64_t columns) {
  constexpr int L = K::lanes, size = sizeof(typename K::Element) / K::registers;
  if constexpr (L * size >= 64)
    if (columns <= L / 4) return small_tile_of<typename K::template Sums<L / 4>>(rows);
  if constexpr (L * size >= 32)
    if (columns <= L / 2) return small_tile_of<typename K::template Sums<L / 2>>(rows);
  return small_tile_of<typename K::template Sums<L>>(rows);
}

// to[count, rows, columns] = `from` as numbers, with no gaps. Up to a vector more is written.
template <class K>
Matrices<typename K::Element> copied(Matrices<typename K::Storage> from, int64_t count, int64_t rows, int64_t columns,
                                     typename K::Element* to) {
  constexpr int64_t L = K::lanes;
  const Matrices<typename K::Element> found = {to, rows * columns, columns, 1};
  if (from.column == 1 && from.row == columns) columns *= rows, rows = 1;
  if (from.column == 1 && rows == 1 && from.next == columns) columns *= count, count = 1;
  for (int64_t matrix = 0; matrix < count; ++matrix)
    for (int64_t i = 0; i < rows; ++i, to += columns) {
      const typename K::Storage* const line = from.data + matrix * from.next + i * from.row;
      for (int64_t j = 0; j < columns; j += L) {
        const int64_t some = min(L, columns - j);
        if (from.column == 1) {
          K::store(to + j, some == L ? K::read(line + j) : K::read_n(line + j, some));
          continue;
        }
        typename K::Storage some_of[L] = {};
        for (int64_t l = 0; l < some; ++l) some_of[l] = line[(j + l) * from.column];
        K::store(to + j, K::read(some_of));
      }
    }
  return found;
}

template <class K>
void small_products(const ShloGemm& g, int64_t count, int64_t a_next, int64_t b_next, void* scratch) {
  typedef typename K::Storage Storage;
  typedef typename K::Element Element;
  constexpr int64_t ROOM = SHLO_GEMM_SMALL_ELEMENTS + K::lanes;
  static_assert(3 * ROOM * sizeof(Element) <= SHLO_GEMM_SCRATCH, "the results and both operands fit");
  Element* const c = (Element*)scratch;
  const Matrices<Storage> a = {(const Storage*)g.a, a_next, g.a_row, g.a_k};
  const Matrices<Storage> b = {(const Storage*)g.b, b_next, g.b_k, g.b_col};
  Matrices<Element> left, right;
  if constexpr (K::in_place) {
    left = a;
    right = g.b_col == 1 ? b : copied<K>(b, count, g.k, g.n, c + ROOM);
  } else {
    left = copied<K>(a, count, g.m, g.k, c + 2 * ROOM);
    right = copied<K>(b, count, g.k, g.n, c + ROOM);
  }
  for (int64_t i = 0, rows; i < g.m; i += rows) {
    rows = g.m - i >= SMALL_ROWS ? SMALL_ROWS : min(4, g.m - i);
    for (int64_t j = 0, columns; j < g.n; j += columns) {
      columns = min(K::lanes, g.n - j);
      const Matrices<Element> x = {left.data + i * left.row, left.next, left.row, left.column};
      const Matrices<Element> y = {right.data + j, right.next, right.row, 1};
      small_tile_of<K>(rows, columns)(x, y, c + i * g.n + j, g.m * g.n, g.n, columns, g.k, count);
    }
  }
}

}  // namespace

#define SHLO_GEMM_SMALL(name, K)                                                                                    \
  extern "C" void shlo_gemm_small_##name(const ShloGemm* gemm, int64_t count, int64_t a_next, int64_t b_next,       \
                                         void* scratch) {                                                           \
    small_products<K>(*gemm, count, a_next, b_next, scratch);                                                       \
  }
