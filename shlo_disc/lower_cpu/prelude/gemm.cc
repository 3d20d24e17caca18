// Matrix products. (The interface, and what strides mean: gemm.h.)
//
// The result is made in blocks that lie in scratch memory and go to the epilogue when finished. There are three ways:
//   blocks  B is packed, 64 columns at a time; a tile of up to 6 rows by 4 registers of the result runs over k, loads
//           rows of packed B and broadcasts elements of A from where they are.
//   stream  Few rows, columns of B adjacent: the same with wider tiles, on B where it is.
//   dot     Few rows, B adjacent along k: dot products.
// A product with few columns is computed as the transposed product with few rows.
#include "gemm.h"
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses a call

// Registers: their size, and how many may hold results.
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define ACCUMULATORS 24
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define ACCUMULATORS 12
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define ACCUMULATORS 24
#else
#define VECTOR_BYTES 16
#define ACCUMULATORS 12
#endif

// Keeps a value in a register: gcc would rather read it again from memory for every use.
#if defined(__clang__)
#define KEEP(x) (void)(x)
#elif defined(__aarch64__)
#define KEEP(x) asm("" : "+w"(x))
#elif defined(__x86_64__)
#define KEEP(x) asm("" : "+v"(x))
#else
#define KEEP(x) (void)(x)
#endif

namespace {

template <class T>
struct Vector {
  typedef T type __attribute__((vector_size(VECTOR_BYTES)));
  typedef T unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  static constexpr int lanes = VECTOR_BYTES / sizeof(T);
};
template <class T>
using vec = typename Vector<T>::type;
template <class T>
constexpr int lanes = Vector<T>::lanes;

template <class T>
vec<T> load(const T* p) { return *(const typename Vector<T>::unaligned*)p; }
template <class T>
void store(T* p, vec<T> x) { *(typename Vector<T>::unaligned*)p = x; }

template <class T>
vec<T> broadcast(T x) { return x - vec<T>{}; }  // x - 0 is x, also when x is -0

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

// The first of the fewest parts of n, each at most `most`, that differ by one at most.
constexpr int64_t part(int64_t n, int64_t most) {
  const int64_t parts = (n + most - 1) / most;
  return (n + parts - 1) / parts;
}

constexpr int64_t ROWS = SHLO_GEMM_ROWS;        // at most, of a block
constexpr int64_t PANEL = 64;                   // columns of a block
constexpr int64_t COLUMNS = SHLO_GEMM_COLUMNS;  // at most, of a block with few rows
constexpr int TILE_ROWS = 6;
constexpr int TILE_VECTORS = ACCUMULATORS / TILE_ROWS;
constexpr int STREAM_ROWS = 12;   // at most, to read B where it is
constexpr int DOT_ROWS = 8;       // at most, for dot products
constexpr int PREFETCH_ROWS = 8;  // of B, ahead of packing
constexpr int STREAM_DEPTH = 8;   // rows of B read at a time, when one row of A leaves several tiles side by side

// Scratch memory: packed B (or A, for dot products), the block, and the block transposed.
constexpr int64_t PACKED_BYTES = 262144;
constexpr int64_t BLOCK_BYTES = ROWS * PANEL * 8;
constexpr int64_t TURNED_BYTES = COLUMNS * 16 * 8;
static_assert(BLOCK_BYTES >= STREAM_ROWS * COLUMNS * 8, "blocks of all kinds fit");
static_assert(PACKED_BYTES + BLOCK_BYTES + TURNED_BYTES == SHLO_GEMM_SCRATCH, "all parts fit");
// Blocks that stay in the first-level cache: those finished in one go, and those with few rows.
constexpr int64_t CHUNK_BYTES = 24576;
constexpr int64_t STREAM_BYTES = 16384;
static_assert(BLOCK_BYTES >= STREAM_BYTES, "so do wide ones");

// ---- tiles -----------------------------------------------------------------------------------------------------------

// How a tile reads B: packed; where it is; where it is, packing it for the tiles that follow.
enum Reading { PACKED, IN_PLACE, PACKING };

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]
template <class T, Reading READING, int M, int V>
void tile(const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k, T* c, int64_t ldc, int64_t k, bool add,
          T* packed) {
  constexpr int L = lanes<T>;
  vec<T> sum[M][V];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = add ? load(c + i * ldc + v * L) : vec<T>{};
  for (int64_t p = 0; p < k; ++p, a += a_k, b += b_k) {
    if (READING == PACKING)
#pragma GCC unroll 16
      for (int v = 0; v < V; v += 64 / VECTOR_BYTES) __builtin_prefetch(b + b_k * PREFETCH_ROWS + v * L);
    if constexpr (V <= M || READING == PACKING) {
      vec<T> y[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        y[v] = load(b + v * L);
        KEEP(y[v]);
        if (READING == PACKING) store(packed + v * L, y[v]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        vec<T> x = broadcast(a[i * a_row]);
        KEEP(x);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[i][v] += x * y[v];
      }
    } else {
      vec<T> x[M];
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        x[i] = broadcast(a[i * a_row]);
        KEEP(x[i]);
      }
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        vec<T> y = load(b + v * L);
        if (M > 1) KEEP(y);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) sum[i][v] += x[i] * y;
      }
    }
    if (READING == PACKING) packed += V * L;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) store(c + i * ldc + v * L, sum[i][v]);
}

template <class T>
using Tile = void (*)(const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t, int64_t, bool, T*);

// The most vectors of a tile on B where it is, with this number of rows.
constexpr int widest(int64_t rows) {
  const int vectors = ACCUMULATORS / (int)rows;
  return vectors >= 16 ? 16 : vectors >= 8 ? 8 : vectors > 4 ? 4 : vectors < 1 ? 1 : vectors;
}

constexpr int next_width(int64_t rows, int64_t left) {
  const int most = widest(rows);
  return left >= most ? most : left >= 8 ? 8 : left >= 4 ? 4 : (int)left;
}

template <class T, Reading READING, int M>
Tile<T> tile_of(int64_t vectors) {
  constexpr int most = READING == IN_PLACE ? widest(M) : TILE_VECTORS;
#define CASE(V) \
  case V: return tile<T, READING, M, V <= most ? V : 1>;
  switch (vectors) { CASE(2) CASE(3) CASE(4) CASE(8) CASE(16) }
#undef CASE
  return tile<T, READING, M, 1>;
}

template <class T, Reading READING>
Tile<T> tile_of(int64_t rows, int64_t vectors) {
  constexpr int most = READING == IN_PLACE ? STREAM_ROWS : TILE_ROWS;
#define CASE(M) \
  case M: return tile_of<T, READING, M <= most ? M : 1>(vectors);
  switch (rows) { CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) }
#undef CASE
  return tile_of<T, READING, 1>(vectors);
}

// ---- packing ---------------------------------------------------------------------------------------------------------

// The elements of x and y in turn: of their first and their second halves.
template <class V, int L = sizeof(V) / sizeof(V{}[0])>
V interleave_low(V x, V y) {
  if constexpr (L == 16)
    return __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (L == 8)
    return __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11);
  else if constexpr (L == 4)
    return __builtin_shufflevector(x, y, 0, 4, 1, 5);
  else
    return __builtin_shufflevector(x, y, 0, 2);
}
template <class V, int L = sizeof(V) / sizeof(V{}[0])>
V interleave_high(V x, V y) {
  if constexpr (L == 16)
    return __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (L == 8)
    return __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15);
  else if constexpr (L == 4)
    return __builtin_shufflevector(x, y, 2, 6, 3, 7);
  else
    return __builtin_shufflevector(x, y, 1, 3);
}

// to[p * to_row + j] = from[p + j * column] for p and j below the number of lanes, but j at most `last`. Each round
// rotates the digits of the index (j, p) by one place.
template <class T>
void transpose(const T* from, int64_t column, int64_t last, T* to, int64_t to_row) {
  constexpr int L = lanes<T>;
  vec<T> x[L], y[L];
#pragma GCC unroll 16
  for (int j = 0; j < L; ++j) x[j] = load(from + min(j, last) * column);
#pragma GCC unroll 4
  for (int round = 1; round < L; round *= 2) {
#pragma GCC unroll 8
    for (int j = 0; j < L / 2; ++j) {
      y[2 * j] = interleave_low(x[j], x[j + L / 2]);
      y[2 * j + 1] = interleave_high(x[j], x[j + L / 2]);
    }
#pragma GCC unroll 16
    for (int j = 0; j < L; ++j) x[j] = y[j];
  }
#pragma GCC unroll 16
  for (int p = 0; p < L; ++p) store(to + p * to_row, x[p]);
}

// packed[k, vectors] = b[k, columns]; beyond the columns come arbitrary numbers. `readable`: elements from b on that may
// be read although they do not belong to it.
template <class T>
void pack(const T* b, int64_t b_k, int64_t b_col, int64_t readable, int64_t k, int64_t columns, T* packed,
          int64_t vectors) {
  constexpr int L = lanes<T>;
  const int64_t width = vectors * L;
  if (b_k == 1 && b_col != 1 && k >= L) {
    for (int64_t j = 0; j < columns; j += L)
      for (int64_t p = 0; p < k; p += L) {
        const int64_t at = min(p, k - L);
        transpose(b + at + j * b_col, b_col, columns - j - 1, packed + at * width + j, width);
      }
    return;
  }
  for (int64_t p = 0; p < k; ++p, packed += width) {
    const T* const row = b + p * b_k;
    if (b_col == 1 && p * b_k + width <= readable)
      for (int64_t j = 0; j < width; j += L) store(packed + j, load(row + j));
    else
      for (int64_t j = 0; j < width; ++j) packed[j] = row[min(j, columns - 1) * b_col];
  }
}

// ---- dot products ----------------------------------------------------------------------------------------------------

template <int BYTES>
struct Integer {
  typedef int64_t type;
};
template <>
struct Integer<4> {
  typedef int32_t type;
};

// All ones in the last n lanes, otherwise zero.
template <class T>
auto last_lanes(int64_t n) {
  typedef typename Integer<sizeof(T)>::type integer;
  typename Vector<integer>::type lane;
  for (int i = 0; i < lanes<T>; ++i) lane[i] = i;
  return lane >= (integer)(lanes<T> - n);
}

// c[i, j] = the sum of the elements of sum[i][j].
template <class T, int M, int N>
void reduce(const vec<T> (&sum)[M][N], T* c, int64_t ldc) {
  constexpr int L = lanes<T>;
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < N; j += 4) {
      const vec<T>* const x = sum[i] + j;
      T* const to = c + i * ldc + j;
      if constexpr (L < 4) {
#pragma GCC unroll 16
        for (int q = 0; q < 4; ++q) to[q] = x[q][0] + x[q][1];
      } else {
        const vec<T> even = interleave_low(x[0], x[2]) + interleave_high(x[0], x[2]);
        const vec<T> odd = interleave_low(x[1], x[3]) + interleave_high(x[1], x[3]);
        const vec<T> all = interleave_low(even, odd) + interleave_high(even, odd);
#pragma GCC unroll 16
        for (int q = 0; q < 4; ++q) to[q] = all[q];
#pragma GCC unroll 16
        for (int q = 4; q < L; ++q) to[q % 4] += all[q];
      }
    }
}

// c[M, N] = a[M, k] * b[k, N], both adjacent along k, which is at least one vector. Columns after `last` repeat it.
template <class T, int M, int N>
void dots(const T* a, int64_t a_row, const T* b, int64_t b_col, int64_t last, T* c, int64_t ldc, int64_t k) {
  constexpr int L = lanes<T>;
  const T* column[N];
#pragma GCC unroll 16
  for (int j = 0; j < N; ++j) column[j] = b + min(j, last) * b_col;
  vec<T> sum[M][N] = {};
  const auto add = [&](int64_t p, auto read) __attribute__((always_inline)) {
    vec<T> y[N];
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      y[j] = read(column[j] + p);
      if (M > 1) KEEP(y[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      vec<T> x = read(a + i * a_row + p);
      KEEP(x);
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) sum[i][j] += x * y[j];
    }
  };
  for (int64_t p = 0; p + L <= k; p += L) add(p, [](const T* at) { return load(at); });
  if (k % L != 0) {
    const auto mask = last_lanes<T>(k % L);
    typedef decltype(mask) bits;
    add(k - L, [=](const T* at) { return (vec<T>)((bits)load(at) & mask); });
  }
  reduce<T, M, N>(sum, c, ldc);
}

template <class T>
using Dots = void (*)(const T*, int64_t, const T*, int64_t, int64_t, T*, int64_t, int64_t);

constexpr int MOST_DOTS = (ACCUMULATORS - 4) / 4;  // rows at once; four more registers hold columns of B

// The kernel for this number of rows, and its number of columns: 8 for one row, otherwise 4.
template <class T>
Dots<T> dots_of(int64_t rows) {
#define CASE(M) \
  case M: return dots<T, M <= MOST_DOTS ? M : 2, 4>;
  switch (rows) { CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) }
#undef CASE
  return dots<T, 1, 8>;
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

template <class T>
struct Product {
  const T *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t n, k, i0, i1, j0, j1;
  T *packed, *block;
  ShloEpilogue epilogue;
  void* context;

  static constexpr int L = lanes<T>;
  static constexpr int64_t DEPTH = PACKED_BYTES / (PANEL * sizeof(T));

  const T* a_at(int64_t i, int64_t p) const { return a + i * a_row + p * a_k; }
  const T* b_at(int64_t p, int64_t j) const { return b + p * b_k + j * b_col; }

  void pack_at(int64_t p, int64_t deep, int64_t j, int64_t columns, T* to, int64_t vectors) const {
    const bool rows_follow = b_col == 1 && b_k >= 0;
    const int64_t readable = rows_follow ? (k - 1 - p) * b_k + n - j : 0;
    pack(b_at(p, j), b_k, b_col, readable, deep, columns, to, vectors);
  }

  // Whether the rows of A are adjacent along k, or fit into the scratch memory to be made so.
  bool can_dot(int64_t rows) const {
    return b_k == 1 && k >= 2 * L && (a_k == 1 || rows * k * (int64_t)sizeof(T) <= PACKED_BYTES);
  }

  void dot() const {
    const int64_t rows = i1 - i0, width = rows == 1 ? 8 : 4;
    const T* left = a_at(i0, 0);
    int64_t left_row = a_row;
    if (a_k != 1) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < k; ++p) packed[i * k + p] = *a_at(i0 + i, p);
      left = packed;
      left_row = k;
    }
    for (int64_t j = j0; j < j1; j += COLUMNS) {
      const int64_t columns = min(COLUMNS, j1 - j), ld = (columns + 15) / 16 * 16;
      for (int64_t c = 0; c < columns; c += width)
        for (int64_t i = 0, height; i < rows; i += height) {
          height = part(rows - i, MOST_DOTS);
          dots_of<T>(height)(left + i * left_row, left_row, b_at(0, j + c), b_col, columns - c - 1, block + i * ld + c,
                             ld, k);
        }
      epilogue(context, block, ld, i0, rows, j, columns);
    }
  }

  // B where it is; only the columns of a last vector that is not full are packed.
  void stream() const {
    const int64_t rows = i1 - i0, most = stream_columns<T>(rows);
    for (int64_t j = j0; j < j1; j += most) {
      const int64_t columns = min(most, j1 - j), ld = (columns + 15) / 16 * 16, full = columns / L * L;
      const int64_t depth = rows == 1 && full > widest(rows) * L ? STREAM_DEPTH : k;
      for (int64_t p = 0, deep; full > 0 && (p == 0 || p < k); p += deep) {
        deep = min(depth, k - p);
        for (int64_t c = 0, width; c < full; c += width * L) {
          width = next_width(rows, (full - c) / L);
          tile_of<T, IN_PLACE>(rows, width)(a_at(i0, p), a_row, a_k, b_at(p, j + c), b_k, block + c, ld, deep, p > 0,
                                            nullptr);
        }
      }
      for (int64_t p = 0; full < columns && (p == 0 || p < k); p += DEPTH) {
        const int64_t deep = min(DEPTH, k - p);
        pack_at(p, deep, j + full, columns - full, packed, 1);
        tile_of<T, IN_PLACE>(rows, 1)(a_at(i0, p), a_row, a_k, packed, L, block + full, ld, deep, p > 0, nullptr);
      }
      epilogue(context, block, ld, i0, rows, j, columns);
    }
  }

  // block[rows, columns] (+)= the product of rows from i and columns from j on, over `deep` of k from p on. The first
  // call for these columns packs them.
  void multiply(int64_t i, int64_t rows, int64_t p, int64_t deep, int64_t j, int64_t columns, bool first) const {
    for (int64_t c = 0; c < columns; c += TILE_VECTORS * L) {
      const int64_t wide = min(TILE_VECTORS * L, columns - c), width = (wide + L - 1) / L;
      T* const right = packed + c * deep;
      const bool packing = first && b_col == 1 && wide % L == 0;
      if (first && !packing) pack_at(p, deep, j + c, wide, right, width);
      for (int64_t r = 0, height; r < rows; r += height) {
        height = part(rows - r, TILE_ROWS);
        if (packing && r == 0)
          tile_of<T, PACKING>(height, width)(a_at(i, p), a_row, a_k, b_at(p, j + c), b_k, block + c, PANEL, deep, p > 0,
                                             right);
        else
          tile_of<T, PACKED>(height, width)(a_at(i + r, p), a_row, a_k, right, width * L, block + r * PANEL + c, PANEL,
                                            deep, p > 0, nullptr);
      }
    }
  }

  void blocks() const {
    const int64_t chunk = k <= DEPTH ? CHUNK_BYTES / (PANEL * (int64_t)sizeof(T)) : ROWS;
    for (int64_t start = i0; start < i1; start += ROWS)
      for (int64_t j = j0; j < j1; j += PANEL) {
        const int64_t columns = min(PANEL, j1 - j), end = min(start + ROWS, i1);
        for (int64_t i = start; i < end; i += chunk) {
          const int64_t rows = min(chunk, end - i);
          for (int64_t p = 0; p == 0 || p < k; p += DEPTH)
            multiply(i, rows, p, min(DEPTH, k - p), j, columns, i == start);
          epilogue(context, block, PANEL, i, rows, j, columns);
        }
      }
  }

  void run() const {
    const int64_t rows = i1 - i0, columns = j1 - j0;
    if (rows <= DOT_ROWS && (b_col != 1 || columns < L) && can_dot(rows))
      dot();
    else if (rows <= STREAM_ROWS && b_col == 1)
      stream();
    else
      blocks();
  }
};

template <class T>
void product(const ShloGemm* g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch, ShloEpilogue epilogue,
             void* context) {
  if (i0 >= i1 || j0 >= j1) return;
  char* const memory = (char*)scratch;
  T *const packed = (T*)memory, *const block = (T*)(memory + PACKED_BYTES);
  const T *const a = (const T*)g->a, *const b = (const T*)g->b;
  Turned<T> turned = {epilogue, context, (T*)(memory + PACKED_BYTES + BLOCK_BYTES)};
  const Product<T> transposed = {b,  a,  g->b_col, g->b_k, g->a_k, g->a_row, g->m,
                                 g->k, j0, j1, i0, i1, packed, block, Turned<T>::take, &turned};
  const int64_t rows = i1 - i0, columns = j1 - j0;
  if (columns <= DOT_ROWS && columns < rows && (g->a_row == 1 || transposed.can_dot(columns))) {
    transposed.run();
    return;
  }
  const Product<T> plain = {a,  b,  g->a_row, g->a_k, g->b_k, g->b_col, g->n,
                            g->k, i0, i1, j0, j1, packed, block, epilogue, context};
  plain.run();
}

}  // namespace

// A program that needs one type compiles only that one: see gemm_f32.cc and gemm_f64.cc.
#ifndef SHLO_ONLY_F64
extern "C" void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context) {
  product<float>(gemm, i0, i1, j0, j1, scratch, epilogue, context);
}
#endif

#ifndef SHLO_ONLY_F32
extern "C" void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context) {
  product<double>(gemm, i0, i1, j0, j1, scratch, epilogue, context);
}
#endif
