// Matrix products of one kind of elements. (The interface, and what strides mean: gemm.h; kinds: gemm_kinds.h.)
//
// The result is made in blocks of sums that lie in scratch memory and go to the epilogue when finished. There are three ways:
//   blocks  B is packed, 64 columns at a time; a tile of up to 6 rows by 4 registers of the result runs over k, loads
//           rows of packed B and broadcasts elements of A, from where they are or packed.
//   stream  Few rows, or little depth, columns of B adjacent: the same with wider tiles, on B where it is.
//   dot     Few rows, B adjacent along k: dot products.
// A product with few columns is computed as the transposed product with few rows. What is packed is converted on the way.
#pragma once
#include "gemm.h"
#include "gemm_kinds.h"
#include "gemm_small.h"
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses a call

// How many registers may hold results.
#if defined(SHLO_AVX512) || defined(__aarch64__)
#define ACCUMULATORS 24
#else
#define ACCUMULATORS 12
#endif

namespace {

// The first of the fewest parts of n, each at most `most`, that differ by one at most.
constexpr int64_t part(int64_t n, int64_t most) {
  const int64_t parts = (n + most - 1) / most;
  return (n + parts - 1) / parts;
}

constexpr int64_t ROWS = SHLO_GEMM_ROWS;        // at most, of a block
constexpr int64_t PANEL = 64;                   // columns of a block
constexpr int64_t COLUMNS = SHLO_GEMM_COLUMNS;  // at most, of a block with few rows
constexpr int TILE_ROWS = 6;
constexpr int STREAM_ROWS = 12;   // at most, to read B where it is
constexpr int SHALLOW_DEPTH = 48;  // at most, to do so for any number of rows: the results, long rows of them, are most
constexpr int SHALLOW_COLUMNS = 128;  // of what moves, and rows of blocks of 64 columns make worse use of the caches
constexpr int DOT_ROWS = 8;       // at most, for dot products
constexpr int PREFETCH_ROWS = 8;  // of B, ahead of packing
constexpr int STREAM_DEPTH = 8;   // rows of B read at a time, when one row of A leaves several tiles side by side

// Blocks that stay in the first-level cache: those finished in one go, and those with few rows.
constexpr int64_t CHUNK_BYTES = 24576;
constexpr int64_t STREAM_BYTES = 16384;

constexpr int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

// Scratch memory: packed B (or A, for dot products), the block, the block transposed, and packed A.
template <class K>
struct Scratch {
  static constexpr int64_t SIZE = largest(8, sizeof(typename K::Element));
  static constexpr int64_t PACKED = K::in_place ? 262144 : 131072;
  static constexpr int64_t BLOCK = ROWS * (K::in_place ? PANEL * SIZE : COLUMNS * sizeof(typename K::Element));
  static constexpr int64_t TURNED = COLUMNS * 16 * SIZE;
  static constexpr int64_t LEFT = K::in_place ? 0 : 393216;
  static constexpr int64_t ALL = PACKED + BLOCK + TURNED + LEFT;
  static_assert(BLOCK >= STREAM_ROWS * COLUMNS * SIZE && BLOCK >= STREAM_BYTES, "blocks of all kinds fit");
  static_assert(ALL <= (K::in_place && SIZE == 8 ? SHLO_GEMM_SCRATCH : SHLO_GEMM_WIDE_SCRATCH), "all parts fit");

  static constexpr int64_t UNIT = sizeof(typename K::Packed);
  static constexpr int64_t DEPTH = PACKED / (PANEL * UNIT) * K::step;             // of packed B
  static constexpr int64_t THIN_DEPTH = LEFT / (STREAM_ROWS + 4) / UNIT * K::step;  // of A with few rows
};

// ---- tiles -----------------------------------------------------------------------------------------------------------

// How a tile reads B: packed; where it is; where it is, packing it for the tiles that follow.
enum Reading { PACKED, IN_PLACE, PACKING };

template <class K, Reading READING>
using Right = typename Pick<READING == PACKED, typename K::Packed, typename K::Storage>::type;

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]; k counts packed elements.
template <class K, Reading READING, int M, int V>
void tile(const typename K::Packed* a, int64_t a_row, int64_t a_k, const Right<K, READING>* b, int64_t b_k,
          typename K::Element* c, int64_t ldc, int64_t k, bool add, typename K::Packed* packed) {
  constexpr int L = K::lanes;
  typedef typename K::vector vector;
  const auto right = [](const Right<K, READING>* at) __attribute__((always_inline)) {
    if constexpr (READING == PACKED) return K::unpack(at);
    else return K::read(at);
  };
  vector sum[M][V];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = add ? K::load(c + i * ldc + v * L) : K::zero();
  for (int64_t p = 0; p < k; ++p, a += a_k, b += b_k) {
    if (READING == PACKING)
#pragma GCC unroll 16
      for (int v = 0; v < V; v += 64 / SHLO_REGISTER) __builtin_prefetch(b + b_k * PREFETCH_ROWS + v * L);
    if constexpr (V <= M || READING == PACKING) {
      vector y[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        y[v] = right(b + v * L);
        K::keep(y[v]);
        if constexpr (READING == PACKING) K::pack(packed + v * L, y[v]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        vector x = K::broadcast(a[i * a_row]);
        K::keep(x);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[i][v] = K::multiply_add(sum[i][v], x, y[v]);
      }
    } else {
      vector x[M];
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        x[i] = K::broadcast(a[i * a_row]);
        K::keep(x[i]);
      }
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        vector y = right(b + v * L);
        if (M > 1) K::keep(y);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) sum[i][v] = K::multiply_add(sum[i][v], x[i], y);
      }
    }
    if (READING == PACKING) packed += V * L;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) K::store(c + i * ldc + v * L, sum[i][v]);
}

template <class K, Reading READING>
using Tile = void (*)(const typename K::Packed*, int64_t, int64_t, const Right<K, READING>*, int64_t,
                      typename K::Element*, int64_t, int64_t, bool, typename K::Packed*);

template <class K>
constexpr int TILE_VECTORS = ACCUMULATORS / TILE_ROWS / K::registers;

// The most vectors of a tile on B where it is, with this number of rows.
template <class K>
constexpr int widest(int64_t rows) {
  const int vectors = ACCUMULATORS / K::registers / (int)rows;
  return vectors >= 16 ? 16 : vectors >= 8 ? 8 : vectors > 4 ? 4 : vectors < 1 ? 1 : vectors;
}

template <class K>
constexpr int next_width(int64_t rows, int64_t left) {
  const int most = widest<K>(rows);
  return left >= most ? most : left >= 8 ? 8 : left >= 4 ? 4 : (int)left;
}

template <class K, Reading READING, int M>
Tile<K, READING> tile_of(int64_t vectors) {
  constexpr int most = READING == IN_PLACE ? widest<K>(M) : TILE_VECTORS<K>;
#define CASE(V) \
  case V: return tile<K, READING, M, V <= most ? V : 1>;
  switch (vectors) { CASE(2) CASE(3) CASE(4) CASE(8) CASE(16) }
#undef CASE
  return tile<K, READING, M, 1>;
}

template <class K, Reading READING>
Tile<K, READING> tile_of(int64_t rows, int64_t vectors) {
  constexpr int most = READING == IN_PLACE ? STREAM_ROWS : TILE_ROWS;
#define CASE(M) \
  case M: return tile_of<K, READING, M <= most ? M : 1>(vectors);
  switch (rows) { CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) }
#undef CASE
  return tile_of<K, READING, 1>(vectors);
}

// ---- packing ---------------------------------------------------------------------------------------------------------

// One depth of up to `lanes` columns as numbers, then zeros.
template <class K>
SHLO_INLINE typename K::vector read_line(const typename K::Storage* row, int64_t b_col, int64_t columns) {
  if (b_col == 1) return columns >= K::lanes ? K::read(row) : K::read_n(row, columns);
  typename K::Storage line[K::lanes];
  for (int64_t j = 0; j < K::lanes; ++j) line[j] = row[min(j, columns - 1) * b_col];
  return K::read(line);
}

// packed[k, width] = b[k, columns], whole vectors; beyond the columns come arbitrary numbers, beyond k zeros.
template <class K>
void pack(const typename K::Storage* b, int64_t b_k, int64_t b_col, int64_t k, int64_t columns,
          typename K::Packed* packed, int64_t width) {
  constexpr int64_t L = K::lanes, step = K::step;
  const int64_t units = (k + step - 1) / step;
  if (b_k == 1 && b_col != 1) {
    for (int64_t j = 0; j < columns; j += L)
      for (int64_t u = 0; u < units; u += L) {
        typename K::vector square[L];
        const auto line = [&](int64_t i) __attribute__((always_inline)) {
          return b + u * step + min(j + i, columns - 1) * b_col;
        };
        typename K::Packed* const to = packed + u * width + j;
        if ((u + L) * step <= k) {
#pragma GCC unroll 16
          for (int64_t i = 0; i < L; ++i) square[i] = K::along(line(i));
          K::turn(square);
#pragma GCC unroll 16
          for (int64_t p = 0; p < L; ++p) K::pack(to + p * width, square[p]);
        } else {
          for (int64_t i = 0; i < L; ++i) square[i] = K::along_n(line(i), k - u * step);
          K::turn(square);
          for (int64_t p = 0; p < units - u; ++p) K::pack(to + p * width, square[p]);
        }
      }
    return;
  }
  for (int64_t p = 0; p < k; p += step, b += step * b_k, packed += width)
    for (int64_t j = 0; j < columns; j += L) {
      typename K::vector x = read_line<K>(b + j * b_col, b_col, columns - j);
      if constexpr (step == 2)
        x = K::join(x, p + 1 < k ? read_line<K>(b + b_k + j * b_col, b_col, columns - j) : K::zero());
      K::pack(packed + j, x);
    }
}

// ---- dot products ----------------------------------------------------------------------------------------------------

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

template <class K>
using Dots = void (*)(const typename K::Storage*, int64_t, const typename K::Storage*, int64_t, int64_t,
                      typename K::Element*, int64_t, int64_t);

// Rows at once; four vectors more hold columns of B.
template <class K>
constexpr int MOST_DOTS = (int)largest(1, (ACCUMULATORS / K::registers - 4) / 4);

// The kernel for this number of rows, and its number of columns: 8 for one row, otherwise 4.
template <class K>
Dots<K> dots_of(int64_t rows) {
#define CASE(M) \
  case M: return dots<K, M <= MOST_DOTS<K> ? M : 2, 4>;
  switch (rows) { CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) }
#undef CASE
  return dots<K, 1, 8>;
}

// ---- products --------------------------------------------------------------------------------------------------------

// The epilogue of a transposed product: takes a block, transposes it and calls the epilogue proper.
template <class T>
struct Turned {
  ShloEpilogue epilogue;
  void* context;
  T* block;  // [COLUMNS, 16]

  static void take(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
    const Turned& it = *(const Turned*)context;
    for (int64_t start = 0; start < columns; start += COLUMNS) {
      const int64_t some = min(COLUMNS, columns - start);
      for (int64_t j = 0; j < some; ++j)
        for (int64_t i = 0; i < rows; ++i) it.block[j * 16 + i] = ((const T*)tile)[i * ld + start + j];
      it.epilogue(it.context, it.block, 16, j0 + start, some, i0, rows);
    }
  }
};

// As many columns as leave the rows' block in half of the first-level cache, at least COLUMNS.
template <class T>
constexpr int64_t stream_columns(int64_t rows) {
  const int64_t columns = STREAM_BYTES / (rows * (int64_t)sizeof(T)) / 16 * 16;
  return columns < COLUMNS ? COLUMNS : columns;
}

template <class S>
struct Operands {
  const S *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t k, i0, i1, j0, j1;
  char* scratch;
  ShloEpilogue epilogue;
  void* context;
};

template <class K>
struct Product : Operands<typename K::Storage> {
  typedef typename K::Storage Storage;
  typedef typename K::Packed Packed;
  typedef typename K::Element Element;
  typedef Scratch<K> Memory;
  using Operands<Storage>::a, Operands<Storage>::b, Operands<Storage>::a_row, Operands<Storage>::a_k;
  using Operands<Storage>::b_k, Operands<Storage>::b_col, Operands<Storage>::k, Operands<Storage>::i0;
  using Operands<Storage>::i1, Operands<Storage>::j0, Operands<Storage>::j1, Operands<Storage>::scratch;
  using Operands<Storage>::epilogue, Operands<Storage>::context;

  static constexpr int L = K::lanes;
  static constexpr int64_t DEPTH = Memory::DEPTH;

  Packed* packed() const { return (Packed*)scratch; }
  Element* block() const { return (Element*)(scratch + Memory::PACKED); }

  const Storage* a_at(int64_t i, int64_t p) const { return a + i * a_row + p * a_k; }
  const Storage* b_at(int64_t p, int64_t j) const { return b + p * b_k + j * b_col; }

  // A as tiles read it.
  struct Left {
    const Packed* at;
    int64_t row, k;
    const Packed* operator()(int64_t i, int64_t p) const { return at + i * row + p * k; }
  };
  Left left(int64_t i, int64_t rows, int64_t p, int64_t deep) const {
    if constexpr (K::in_place) return {a_at(i, p), a_row, a_k};
    else {
      Packed* const to = (Packed*)(scratch + Memory::PACKED + Memory::BLOCK + Memory::TURNED);
      const int64_t vectors = (rows + L - 1) / L;
      pack<K>(a_at(i, p), a_k, a_row, deep, rows, to, vectors * L);
      return {to, 1, vectors * L};
    }
  }

  // Whether the rows of A are adjacent along k, or fit into the scratch memory to be made so.
  bool can_dot(int64_t rows) const {
    return b_k == 1 && k >= 2 * L && (a_k == 1 || rows * k * (int64_t)sizeof(Storage) <= Memory::PACKED);
  }

  void dot() const {
    const int64_t rows = i1 - i0, width = rows == 1 ? 8 : 4;
    const Storage* from = a_at(i0, 0);
    int64_t row = a_row;
    if (a_k != 1) {
      Storage* const to = (Storage*)scratch;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < k; ++p) to[i * k + p] = *a_at(i0 + i, p);
      from = to;
      row = k;
    }
    for (int64_t j = j0; j < j1; j += COLUMNS) {
      const int64_t columns = min(COLUMNS, j1 - j), ld = (columns + 15) / 16 * 16;
      for (int64_t c = 0; c < columns; c += width)
        for (int64_t i = 0, height; i < rows; i += height) {
          height = part(rows - i, MOST_DOTS<K>);
          dots_of<K>(height)(from + i * row, row, b_at(0, j + c), b_col, columns - c - 1, block() + i * ld + c, ld, k);
        }
      epilogue(context, block(), ld, i0, rows, j, columns);
    }
  }

  // B where it is, for a few rows after the other; only the columns of a last vector that is not full are packed.
  void stream() const {
    for (int64_t i = i0, rows; i < i1; i += rows) {
      rows = part(i1 - i, STREAM_ROWS);
      Product strip = *this;
      strip.i0 = i;
      strip.i1 = i + rows;
      strip.stream_rows();
    }
  }

  void stream_rows() const {
    const int64_t rows = i1 - i0, most = stream_columns<Element>(rows);
    const int64_t depth = K::in_place ? largest(1, k) : Memory::THIN_DEPTH;
    for (int64_t j = j0; j < j1; j += most) {
      const int64_t columns = min(most, j1 - j), ld = (columns + 15) / 16 * 16;
      for (int64_t p = 0; p == 0 || p < k; p += depth) {
        const int64_t deep = min(depth, k - p);
        stream_columns_at(j, columns, ld, left(i0, rows, p, deep), p, deep);
      }
      epilogue(context, block(), ld, i0, rows, j, columns);
    }
  }

  void stream_columns_at(int64_t j, int64_t columns, int64_t ld, Left x, int64_t start, int64_t depth) const {
    const int64_t rows = i1 - i0, full = columns / L * L;
    const int64_t at_once = rows == 1 && full > widest<K>(rows) * L ? STREAM_DEPTH : largest(1, depth);
    for (int64_t p = 0; full > 0 && (p == 0 || p < depth); p += at_once) {
      const int64_t deep = min(at_once, depth - p);
      for (int64_t c = 0, width; c < full; c += width * L) {
        width = next_width<K>(rows, (full - c) / L);
        tile_of<K, IN_PLACE>(rows, width)(x(0, p), x.row, x.k, b_at(start + p, j + c), b_k, block() + c, ld, deep,
                                          start + p > 0, nullptr);
      }
    }
    for (int64_t p = 0; full < columns && (p == 0 || p < depth); p += DEPTH) {
      const int64_t deep = min(DEPTH, depth - p);
      pack<K>(b_at(start + p, j + full), b_k, b_col, deep, columns - full, packed(), L);
      for (int64_t r = 0, height; r < rows; r += height) {
        height = part(rows - r, TILE_ROWS);
        tile_of<K, PACKED>(height, 1)(x(r, p), x.row, x.k, packed(), L, block() + r * ld + full, ld, deep,
                                      start + p > 0, nullptr);
      }
    }
  }

  // to[rows, columns] (+)= the product of rows of A as `x` reads them and columns from j on, over `deep` of k from p on.
  // The first call for these columns packs them.
  void multiply(Left x, int64_t rows, int64_t p, int64_t deep, int64_t j, int64_t columns, Element* to, int64_t ld,
                bool first) const {
    constexpr int64_t most = TILE_VECTORS<K> * L;
    const int64_t units = (deep + K::step - 1) / K::step;
    for (int64_t c = 0; c < columns; c += most) {
      const int64_t wide = min(most, columns - c), width = (wide + L - 1) / L;
      Packed* const right = packed() + c * units;
      const bool packing = K::step == 1 && first && b_col == 1 && wide % L == 0;
      if (first && !packing) pack<K>(b_at(p, j + c), b_k, b_col, deep, wide, right, width * L);
      for (int64_t r = 0, height; r < rows; r += height) {
        height = part(rows - r, TILE_ROWS);
        if constexpr (K::step == 1)
          if (packing && r == 0) {
            tile_of<K, PACKING>(height, width)(x(0, 0), x.row, x.k, b_at(p, j + c), b_k, to + c, ld, deep, p > 0,
                                               right);
            continue;
          }
        tile_of<K, PACKED>(height, width)(x(r, 0), x.row, x.k, right, width * L, to + r * ld + c, ld, units, p > 0,
                                          nullptr);
      }
    }
  }

  void blocks() const {
    const int64_t chunk = k <= DEPTH ? CHUNK_BYTES / (PANEL * (int64_t)sizeof(Element)) : ROWS;
    for (int64_t start = i0; start < i1; start += ROWS) {
      const int64_t end = min(start + ROWS, i1);
      if constexpr (!K::in_place)
        if (k > DEPTH) {
          slabs(start, end - start);
          continue;
        }
      const Left x = left(start, end - start, 0, k);
      for (int64_t j = j0; j < j1; j += PANEL) {
        const int64_t columns = min(PANEL, j1 - j);
        for (int64_t i = start; i < end; i += chunk) {
          const int64_t rows = min(chunk, end - i);
          for (int64_t p = 0; p == 0 || p < k; p += DEPTH)
            multiply({x(i - start, p), x.row, x.k}, rows, p, min(DEPTH, k - p), j, columns, block(), PANEL, i == start);
          epilogue(context, block(), PANEL, i, rows, j, columns);
        }
      }
    }
  }

  // Rows of which not all of A can be packed: one part of k after the other, for as many columns as the block holds.
  void slabs(int64_t start, int64_t rows) const {
    for (int64_t j = j0; j < j1; j += COLUMNS) {
      const int64_t columns = min(COLUMNS, j1 - j);
      for (int64_t p = 0; p < k; p += DEPTH) {
        const int64_t deep = min(DEPTH, k - p);
        const Left x = left(start, rows, p, deep);
        for (int64_t c = 0; c < columns; c += PANEL)
          multiply(x, rows, p, deep, j + c, min(PANEL, columns - c), block() + c, COLUMNS, true);
      }
      epilogue(context, block(), COLUMNS, start, rows, j, columns);
    }
  }

  // B is packed already: nothing but sums is written.
  void panels(const ShloGemm& g) const {
    const int64_t chunk = CHUNK_BYTES / (PANEL * (int64_t)sizeof(Element)), units = (k + K::step - 1) / K::step;
    const int64_t most = TILE_VECTORS<K> * L, depth = K::in_place ? DEPTH : min(DEPTH, Memory::THIN_DEPTH / 8);
    const Packed* const data = (const Packed*)g.packed;
    for (int64_t i = i0; i < i1; i += chunk) {
      const int64_t rows = min(chunk, i1 - i);
      for (int64_t j = j0; j < j1; j += PANEL) {
        const int64_t columns = min(PANEL, j1 - j);
        for (int64_t p = 0; p == 0 || p < k; p += depth) {
          const int64_t deep = (min(depth, k - p) + K::step - 1) / K::step;
          const Left x = left(i, rows, p, min(depth, k - p));
          const Packed* const right = data + j * units + p / K::step * PANEL;
          for (int64_t c = 0; c < columns; c += most)
            for (int64_t r = 0, height; r < rows; r += height) {
              height = part(rows - r, TILE_ROWS);
              const int64_t width = (min(most, columns - c) + L - 1) / L;
              tile_of<K, PACKED>(height, width)(x(r, 0), x.row, x.k, right + c, PANEL, block() + r * PANEL + c, PANEL,
                                                deep, p > 0, nullptr);
            }
        }
        epilogue(context, block(), PANEL, i, rows, j, columns);
      }
    }
  }

  void run() const {
    const int64_t rows = i1 - i0, columns = j1 - j0;
    const Product<typename K::Single> thin = {*this};
    if (rows <= DOT_ROWS && (b_col != 1 || columns < L) && can_dot(rows))
      thin.dot();
    else if (b_col == 1 && (rows <= STREAM_ROWS || (k <= SHALLOW_DEPTH && columns >= SHALLOW_COLUMNS)))
      thin.stream();
    else
      blocks();
  }
};

template <class K>
int64_t packed_bytes(int64_t k, int64_t n) {
  return (n + PANEL - 1) / PANEL * PANEL * ((k + K::step - 1) / K::step) * (int64_t)sizeof(typename K::Packed);
}

template <class K>
void pack_panels(const ShloGemm& g, int64_t j0, int64_t j1, void* packed) {
  typedef typename K::Packed Packed;
  const int64_t units = (g.k + K::step - 1) / K::step;
  for (int64_t j = j0; j < j1; j += PANEL)
    pack<K>((const typename K::Storage*)g.b + j * g.b_col, g.b_k, g.b_col, g.k, min(PANEL, j1 - j),
            (Packed*)packed + j * units, PANEL);
}

template <class K>
void product(const ShloGemm* g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch, ShloEpilogue epilogue,
             void* context) {
  typedef typename K::Storage S;
  typedef typename K::Element Element;
  if (i0 >= i1 || j0 >= j1) return;
  char* const memory = (char*)scratch;
  const S *const a = (const S*)g->a, *const b = (const S*)g->b;
  Turned<Element> turned = {epilogue, context, (Element*)(memory + Scratch<K>::PACKED + Scratch<K>::BLOCK)};
  const Product<K> transposed = {{b, a, g->b_col, g->b_k, g->a_k, g->a_row, g->k, j0, j1, i0, i1, memory,
                                  Turned<Element>::take, &turned}};
  const Product<K> plain = {{a, b, g->a_row, g->a_k, g->b_k, g->b_col, g->k, i0, i1, j0, j1, memory, epilogue,
                             context}};
  if (g->packed) {
    plain.panels(*g);
    return;
  }
  const int64_t rows = i1 - i0, columns = j1 - j0;
  if (columns <= DOT_ROWS && columns < rows && (g->a_row == 1 || transposed.can_dot(columns))) {
    transposed.run();
    return;
  }
  plain.run();
}

}  // namespace

#define SHLO_GEMM(name, K)                                                                                          \
  extern "C" void shlo_gemm_##name(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1,            \
                                   void* scratch, ShloEpilogue epilogue, void* context) {                           \
    product<K>(gemm, i0, i1, j0, j1, scratch, epilogue, context);                                                   \
  }                                                                                                                 \
  extern "C" int64_t shlo_packed_bytes_##name(int64_t k, int64_t n) { return packed_bytes<K>(k, n); }               \
  extern "C" void shlo_pack_##name(const ShloGemm* gemm, int64_t j0, int64_t j1, void* packed) {                    \
    static_assert(K::step == SHLO_GEMM_STEP_##name && sizeof(K::Packed) == SHLO_GEMM_BYTES_##name * K::step,        \
                  "gemm.h says what packed elements are");                                                          \
    pack_panels<K>(*gemm, j0, j1, packed);                                                                          \
  }                                                                                                                 \
  extern "C" void shlo_gemm_small_##name(const ShloGemm* gemm, int64_t count, int64_t a_next, int64_t b_next,       \
                                         void* scratch) {                                                           \
    small_products<K::Single>(*gemm, count, a_next, b_next, scratch);                                               \
  }
