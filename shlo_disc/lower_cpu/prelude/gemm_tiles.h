// Register tiles of matrix products: which there are, and how they multiply. (What a kind of elements is: gemm_kinds.h.)
#pragma once
#include "gemm.h"
#include "gemm_kinds.h"

// How many registers may hold results, and which tiles use them.
#if defined(SHLO_AVX512) || defined(__aarch64__)
#define ACCUMULATORS 24
#define SHLO_GEMM_TILES SHLO_GEMM_TILES_32
#else
#define ACCUMULATORS 12
#define SHLO_GEMM_TILES SHLO_GEMM_TILES_16
#endif

namespace {

// How a tile reads B: packed, or where it is.
enum Reading { PACKED, IN_PLACE };

// Packed elements of some kinds are those in memory: one tile reads both.
template <class K, Reading R>
constexpr Reading READING = K::in_place && K::registers == 1 ? PACKED : R;
template <class K, Reading R>
using Right = typename Pick<R == PACKED, typename K::Packed, typename K::Storage>::type;
template <class K> using LeftPacked = typename K::Left::Packed;

template <class K, Reading R, int part>
SHLO_INLINE typename K::Sum read_right(const Right<K, R>* at) {
  if constexpr (R != PACKED) return K::read(at);
  else if constexpr (K::parts == 1) return K::unpack(at);
  else return K::template unpack<part>(at);
}
template <class K, int part>
SHLO_INLINE typename K::Sum read_left(const LeftPacked<K>& x) {
  if constexpr (K::parts == 1) return K::broadcast(x);
  else return K::template broadcast<part>(x);
}

// A tile on B that is not near fetches, while it multiplies, lines of the columns beside its own into the second-level cache: all of
// them if it has few rows, or else half, and the next tile of the same columns the other half.
constexpr int WHOLE_ROWS = 4;
constexpr int LINE = 64;  // bytes
template <class K, int M, int V>
constexpr int fetched() {
  constexpr int lines = (int)(V * K::lanes * sizeof(typename K::Packed)) / LINE;
  return M <= WHOLE_ROWS || lines < 2 ? lines : lines / 2;
}

// sum[M, V] += a[M, 1] * b[1, V vectors], for one part of packed elements. What is needed again stays in registers: a row of B
// or a column of A, whichever is shorter.
template <class K, Reading R, int M, int V, int part>
SHLO_INLINE void add_depth(typename K::Sum* sum, const LeftPacked<K>* a, int64_t a_row, const Right<K, R>* b) {
  constexpr int L = K::lanes;
  typedef typename K::Sum vector;
  if constexpr (V <= M) {
    vector y[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      y[v] = read_right<K, R, part>(b + v * L);
      K::keep(y[v]);
    }
#pragma GCC unroll 32
    for (int i = 0; i < M; ++i) {
      vector x = read_left<K, part>(a[i * a_row]);
      K::keep(x);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[i * V + v] = K::multiply_add(sum[i * V + v], x, y[v]);
    }
  } else {
    vector x[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      x[i] = read_left<K, part>(a[i * a_row]);
      K::keep(x[i]);
    }
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      vector y = read_right<K, R, part>(b + v * L);
      if (M > 1) K::keep(y);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) sum[i * V + v] = K::multiply_add(sum[i * V + v], x[i], y);
    }
  }
}

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]; k counts packed elements. Fetches lines `ahead` bytes after b, if FETCHES.
template <class K, Reading R, int M, int V, bool FETCHES>
void tile(const LeftPacked<K>* a, int64_t a_row, int64_t a_k, const Right<K, R>* b, int64_t b_k, typename K::Element* c,
          int64_t ldc, int64_t k, bool add, int64_t ahead) {
  constexpr int L = K::lanes;
  typename K::Sum sum[M * V];
#pragma GCC unroll 32
  for (int i = 0; i < M * V; ++i) sum[i] = add ? K::load(c + i / V * ldc + i % V * L) : K::zero();
  for (; k > 0; --k, a += a_k, b += b_k) {
    if constexpr (FETCHES)
      for (int i = 0; i < fetched<K, M, V>(); ++i) __builtin_prefetch((const char*)b + ahead + i * LINE, 0, 2);
    add_depth<K, R, M, V, 0>(sum, a, a_row, b);
    if constexpr (K::parts == 2) add_depth<K, R, M, V, 1>(sum, a, a_row, b);
  }
#pragma GCC unroll 32
  for (int i = 0; i < M * V; ++i) K::store(c + i / V * ldc + i % V * L, sum[i]);
}

template <class K, Reading R>
using Tile = void (*)(const LeftPacked<K>*, int64_t, int64_t, const Right<K, R>*, int64_t, typename K::Element*,
                      int64_t, int64_t, bool, int64_t);

// All tiles of a kind, by the logarithm of their vectors and by their rows; null: there is none. Those that fetch are of the
// width that products of many columns take, and of some rows: less have little to do but to wait for B.
template <class K, Reading R>
struct Tiles {
  static constexpr int MOST_ROWS = 12, WIDTHS = 5;
  static constexpr int FETCHING = ACCUMULATORS == 24 ? 2 : 1;  // the logarithm of their vectors
  Tile<K, R> at[WIDTHS][MOST_ROWS + 1];
  Tile<K, R> fetching[MOST_ROWS + 1];

  template <int M, int V>
  constexpr void put() {
    constexpr int wide = V / K::registers < 1 ? 1 : V / K::registers;  // complex numbers take two registers
    at[__builtin_ctz(wide)][M] = tile<K, READING<K, R>, M, wide, false>;
    if constexpr (K::in_place && K::registers == 1 && V == 1 << FETCHING && M >= WHOLE_ROWS)
      fetching[M] = tile<K, READING<K, R>, M, wide, true>;
  }
  constexpr Tiles() : at(), fetching() {
#define TILE(M, V) put<M, V>();
    SHLO_GEMM_TILES(TILE)
#undef TILE
  }
};
template <class K, Reading R>
constexpr Tiles<K, R> TILES = {};

// The first of the fewest parts of n, each at most `most`, that differ by one at most.
constexpr int64_t part(int64_t n, int64_t most) {
  const int64_t parts = (n + most - 1) / most;
  return (n + parts - 1) / parts;
}

// The widest tiles of at most so many vectors, and the tallest of that width for `left` rows. Every width has a tile of one
// row. Parts of equal height are preferred to tall ones and a rest.
template <class K, Reading R>
int width_of(int64_t vectors) {
  int width = (int)min(63 - __builtin_clzll((uint64_t)vectors), Tiles<K, R>::WIDTHS - 1);
  while (!TILES<K, R>.at[width][1]) --width;
  return width;
}
template <class K, Reading R>
int64_t height_of(int width, int64_t left, int64_t most) {
  const auto& tiles = TILES<K, R>.at[width];
  int64_t rows = part(left, most);
  if (!tiles[rows])
    for (rows = min(left, most); !tiles[rows]; --rows) {}
  return rows;
}

// The shape of tiles: at most so many rows and vectors. 0 rows: as many as registers hold.
struct Shape {
  int64_t rows, vectors;
};

// c[rows, vectors] (+)= a * b for any number of rows and vectors, tile by tile: all rows of some columns come one after the
// other, so that these columns of B stay near. `far`: B is not near, so the next columns are fetched.
template <class K, Reading R>
SHLO_ONCE void multiply_tiles(const LeftPacked<K>* a, int64_t a_row, int64_t a_k, const Right<K, R>* b, int64_t b_k,
                    typename K::Element* c, int64_t ldc, int64_t k, bool add, int64_t rows, int64_t vectors,
                    Shape shape, bool far = false) {
  constexpr int64_t L = K::lanes;
  for (int64_t v = 0; v < vectors;) {
    const int width = width_of<K, R>(min(vectors - v, shape.vectors));
    const int64_t most = min(shape.rows ? shape.rows : ACCUMULATORS / K::registers >> width, Tiles<K, R>::MOST_ROWS);
    const int64_t bytes = (int64_t)(L * sizeof(*b)) << width;
    const bool fetches = far && width == Tiles<K, R>::FETCHING;
    int64_t fetched = 0;  // bytes of each row of the next columns
    for (int64_t i = 0, height; i < rows; i += height) {
      height = height_of<K, R>(width, rows - i, most);
      const auto& tiles =
          fetches && fetched < bytes && TILES<K, R>.fetching[height] ? TILES<K, R>.fetching : TILES<K, R>.at[width];
      tiles[height](a + i * a_row, a_row, a_k, b + v * L, b_k, c + i * ldc + v * L, ldc, k, add, bytes + fetched);
      fetched += height <= WHOLE_ROWS ? bytes : bytes / 2;
    }
    v += 1 << width;
  }
}

}  // namespace
