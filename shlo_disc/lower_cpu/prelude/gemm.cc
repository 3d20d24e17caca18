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

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

constexpr int64_t ROWS = SHLO_GEMM_ROWS;        // at most, of a block
constexpr int64_t PANEL = 64;                   // columns of a block
constexpr int64_t COLUMNS = SHLO_GEMM_COLUMNS;  // at most, of a block with few rows
constexpr int TILE_ROWS = 6;
constexpr int TILE_VECTORS = ACCUMULATORS / TILE_ROWS;
constexpr int STREAM_ROWS = 12;   // at most, to read B where it is
constexpr int DOT_ROWS = 8;       // at most, for dot products
constexpr int PREFETCH_ROWS = 8;  // of B, ahead

// Scratch memory: packed B, the block, and the block transposed.
constexpr int64_t PACKED_BYTES = 262144;
constexpr int64_t BLOCK_BYTES = ROWS * PANEL * 8;
constexpr int64_t TURNED_BYTES = COLUMNS * 16 * 8;
static_assert(BLOCK_BYTES >= STREAM_ROWS * COLUMNS * 8, "blocks of all kinds fit");
static_assert(PACKED_BYTES + BLOCK_BYTES + TURNED_BYTES <= SHLO_GEMM_SCRATCH, "all parts fit");
constexpr int64_t CHUNK_BYTES = 24576;  // of a block finished in one go: stays in the first-level cache

// ---- tiles -----------------------------------------------------------------------------------------------------------

// How a tile reads B: packed; where it is; where it is, packing it for the tiles that follow.
enum Reading { PACKED, IN_PLACE, PACKING };

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]
template <class T, Reading READING, int M, int V>
void tile(const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k, T* c, int64_t ldc, int64_t k, bool add,
          T* packed) {
  constexpr int L = lanes<T>;
  vec<T> sum[M][V];
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v) sum[i][v] = add ? load(c + i * ldc + v * L) : vec<T>{};
  for (int64_t p = 0; p < k; ++p, a += a_k, b += b_k) {
    vec<T> row[V];
    for (int v = 0; v < V; ++v) row[v] = load(b + v * L);
    if (READING != PACKED)
      for (int v = 0; v < V; v += 64 / VECTOR_BYTES) __builtin_prefetch(b + b_k * PREFETCH_ROWS + v * L);
    if (READING == PACKING)
      for (int v = 0; v < V; ++v, packed += L) store(packed, row[v]);
    for (int i = 0; i < M; ++i) {
      const vec<T> x = vec<T>{} + a[i * a_row];
      for (int v = 0; v < V; ++v) sum[i][v] += x * row[v];
    }
  }
  for (int i = 0; i < M; ++i)
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

// c[M, N] = a[M, k] * b[k, N], both adjacent along k, for k of at least one vector. Columns after `last` repeat it.
template <class T, int M, int N>
void dots(const T* a, int64_t a_row, const T* b, int64_t b_col, int64_t last, T* c, int64_t ldc, int64_t k) {
  typedef typename Vector<typename Bits<T>::type>::type bits;
  constexpr int L = lanes<T>;
  const T* column[N];
  for (int j = 0; j < N; ++j) column[j] = b + min(j, last) * b_col;
  vec<T> sum[M][N] = {};
  const auto step = [&](int64_t p, bits mask) {
    vec<T> y[N];
    for (int j = 0; j < N; ++j) y[j] = (vec<T>)((bits)load(column[j] + p) & mask);
    for (int i = 0; i < M; ++i) {
      const vec<T> x = (vec<T>)((bits)load(a + i * a_row + p) & mask);
      for (int j = 0; j < N; ++j) sum[i][j] += x * y[j];
    }
  };
}
}  // namespace
