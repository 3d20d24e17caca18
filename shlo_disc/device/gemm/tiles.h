// Register tiles of matrix products: which there are, and how they multiply. (What a kind of elements is:
// gemm/kinds.h.)
#pragma once
#include "gemm/gemm.h"
#include "gemm/kinds.h"

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

// Lines of the caches that tiles fetch while they multiply, row by row of B, some at each step of the depth. Long rows: a core of a
// Zen 5 reads pieces of 256 bytes that are a row apart at 15 GB/s, and pieces of 4 KiB at 35. Few at a time: what finds no buffer
// to wait in is not fetched.
struct Walk {
  const char* at;
  int64_t left, each, skip;  // steps until a row ends, and those of a row; bytes from its end to the next row
  int64_t steps;             // in all
  int share;                 // how many lines a step fetches: all that it reads itself, half of them, or a quarter
};
constexpr int LINE = 64, SHARES = 3;  // bytes
template <class K, int V>
constexpr int fetched(int share) {
  constexpr int lines = V * K::lanes * (int)sizeof(typename K::Packed) / LINE;
  return lines >> share > 0 ? lines >> share : 1;
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

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]; k counts packed elements. Fetches so many LINES at a step: all that a lone tile
// needs come into the first-level cache, others are read after a while.
template <class K, Reading R, int M, int V, int LINES>
void tile(const LeftPacked<K>* a, int64_t a_row, int64_t a_k, const Right<K, R>* b, int64_t b_k, typename K::Element* c,
          int64_t ldc, int64_t k, bool add, Walk* walk) {
  constexpr int L = K::lanes, LEVEL = LINES == fetched<K, V>(0) ? 3 : 2;
  typename K::Sum sum[M * V];
#pragma GCC unroll 32
  for (int i = 0; i < M * V; ++i) sum[i] = add ? K::load(c + i / V * ldc + i % V * L) : K::zero();
  const char* at = LINES > 0 ? walk->at : nullptr;
  int64_t left = LINES > 0 ? walk->left : 0;
  for (int64_t p = k; p > 0; --p, a += a_k, b += b_k) {
    if constexpr (LINES > 0) {
#pragma GCC unroll 4
      for (int i = 0; i < LINES; ++i) __builtin_prefetch(at + i * LINE, 0, LEVEL);
      at += LINES * LINE;
      if (--left == 0) {
        at += walk->skip;
        left = walk->each;
      }
    }
    add_depth<K, R, M, V, 0>(sum, a, a_row, b);
    if constexpr (K::parts == 2) add_depth<K, R, M, V, 1>(sum, a, a_row, b);
  }
  if constexpr (LINES > 0) {
    walk->at = at;
    walk->left = left;
    walk->steps -= k;
  }
#pragma GCC unroll 32
  for (int i = 0; i < M * V; ++i) K::store(c + i / V * ldc + i % V * L, sum[i]);
}

template <class K, Reading R>
using Tile = void (*)(const LeftPacked<K>*, int64_t, int64_t, const Right<K, R>*, int64_t, typename K::Element*,
                      int64_t, int64_t, bool, Walk*);

// All tiles of a kind, by the logarithm of their vectors and by their rows; null: there is none. Those that fetch are of the
// width that products of many columns take. Elements that are converted are fetched where few rows wait for them.
template <class K, Reading R>
struct Tiles {
  static constexpr int MOST_ROWS = 12, WIDTHS = 5;
  static constexpr int FETCHING = ACCUMULATORS == 24 ? 2 : 1;  // the logarithm of their vectors
  static constexpr int CONVERTED_ROWS = 2, SHARED_ROWS = 4;    // at most, and at least to fetch a share
  Tile<K, R> at[WIDTHS][MOST_ROWS + 1];
  Tile<K, R> fetching[SHARES][MOST_ROWS + 1];

  template <int M, int V>
  constexpr void put() {
    constexpr int wide = V / K::registers < 1 ? 1 : V / K::registers;  // complex numbers take two registers
    at[__builtin_ctz(wide)][M] = tile<K, READING<K, R>, M, wide, 0>;
    if constexpr (V == 1 << FETCHING && K::registers == 1 && (K::in_place || (R == PACKED && M <= CONVERTED_ROWS))) {
      fetching[0][M] = tile<K, READING<K, R>, M, wide, fetched<K, wide>(0)>;
      if constexpr (M >= SHARED_ROWS) fetching[1][M] = tile<K, READING<K, R>, M, wide, fetched<K, wide>(1)>;
      if constexpr (M >= SHARED_ROWS) fetching[2][M] = tile<K, READING<K, R>, M, wide, fetched<K, wide>(2)>;
    }
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

// How far ahead tiles fetch of the columns that they read themselves. On Zen 5, 1 to 8 KiB are alike if these come from the
// third-level cache; 8 KiB are best for up to four rows if from memory.
constexpr int64_t AHEAD = 8192;  // bytes

// What tiles fetch: nothing, the same columns further along the depth, or what `walk` says.
struct Fetch {
  bool ahead;
  Walk* walk;
};

// c[rows, vectors] (+)= a * b for any number of rows and vectors, tile by tile: all rows of some columns come one after the
// other, so that these columns of B stay near.
template <class K, Reading R>
SHLO_ONCE void multiply_tiles(const LeftPacked<K>* a, int64_t a_row, int64_t a_k, const Right<K, R>* b, int64_t b_k,
                    typename K::Element* c, int64_t ldc, int64_t k, bool add, int64_t rows, int64_t vectors,
                    Shape shape, Fetch fetch = {}) {
  constexpr int64_t L = K::lanes;
  for (int64_t v = 0; v < vectors;) {
    const int width = width_of<K, R>(min(vectors - v, shape.vectors));
    const int64_t most = min(shape.rows ? shape.rows : ACCUMULATORS / K::registers >> width, Tiles<K, R>::MOST_ROWS);
    const int64_t row = b_k * (int64_t)sizeof(*b), some = (int64_t)fetched<K, 1 << Tiles<K, R>::FETCHING>(0) * LINE;
    Walk own = {(const char*)(b + v * L) + AHEAD, 1, 1, row - some, fetch.ahead ? k : 0, 0};
    Walk* const walk = fetch.walk ? fetch.walk : &own;
    for (int64_t i = 0, height; i < rows; i += height) {
      height = height_of<K, R>(width, rows - i, most);
      const auto& fetching = TILES<K, R>.fetching[walk->share];
      const bool fetches = walk->steps > 0 && width == Tiles<K, R>::FETCHING && fetching[height];
      const auto& tiles = fetches ? fetching : TILES<K, R>.at[width];
      tiles[height](a + i * a_row, a_row, a_k, b + v * L, b_k, c + i * ldc + v * L, ldc, k, add, walk);
    }
    v += 1 << width;
  }
}

}  // namespace
