// Matrix products. (The interface, and what strides mean: gemm.h.)
//
// The result is made in blocks that lie in scratch memory and go to the epilogue when finished. The innermost loop, the
// micro-kernel, keeps up to 6 x 4 registers of the result and runs over k: it loads a row of B and broadcasts elements of
// A, both from where they are. B is packed, 64 columns at a time, when more than a few rows read it or when its columns
// are not adjacent.
#include "gemm.h"
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses a call

#define SHLO_INLINE static inline __attribute__((always_inline))

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
  typedef T unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T))));
  static constexpr int lanes = VECTOR_BYTES / sizeof(T);
};

constexpr int64_t PANEL = 64;             // columns packed at a time
constexpr int64_t PACKED_BYTES = 262144;  // of B, at most
constexpr int64_t CHUNK_BYTES = 24576;    // of the result, when it is finished in one go: in the first-level cache
constexpr int64_t RESULT_BYTES = SHLO_GEMM_ROWS * PANEL * 8;
static_assert(PACKED_BYTES + RESULT_BYTES <= SHLO_GEMM_SCRATCH, "scratch memory");

constexpr int ROWS = 6;                                     // of the tile on packed B
constexpr int WIDTH = ACCUMULATORS / ROWS;                  // its vectors
constexpr int STREAM_ROWS = 12;                             // at most, when B is read where it is
constexpr int64_t STREAM_COLUMNS = SHLO_GEMM_COLUMNS;

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- micro-kernels ---------------------------------------------------------------------------------------------------

// c[M, V vectors] (+)= a[M, k] * b[k, V vectors]
template <class T, int M, int V>
void tile(const T* a, int64_t a_row, int64_t a_k, const T* b, int64_t b_k, T* c, int64_t ldc, int64_t k, bool add) {
  typedef typename Vector<T>::type vec;
  typedef typename Vector<T>::unaligned unaligned;
  constexpr int L = Vector<T>::lanes;
  vec sum[M][V];
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v) sum[i][v] = add ? *(const unaligned*)(c + i * ldc + v * L) : vec{};
  for (int64_t p = 0; p < k; ++p, a += a_k, b += b_k) {
    vec row[V];
    for (int v = 0; v < V; ++v) row[v] = *(const unaligned*)(b + v * L);
    for (int i = 0; i < M; ++i) {
      const vec x = vec{} + a[i * a_row];
      for (int v = 0; v < V; ++v) sum[i][v] += x * row[v];
    }
  }
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v) *(unaligned*)(c + i * ldc + v * L) = sum[i][v];
}

template <class T>
using Tile = void (*)(const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t, int64_t, bool);

constexpr int MOST_VECTORS = 16;

// The vectors that a tile of some rows may have: a table's column for each number of vectors that has a kernel.
constexpr int widest(int rows) {
  const int vectors = ACCUMULATORS / rows;
  return vectors >= 16 ? 16 : vectors >= 8 ? 8 : vectors > 4 ? 4 : vectors;
}

template <class T, int M>
Tile<T> tile_of(int vectors) {
  constexpr int most = widest(M);
  switch (vectors) {
    case 16: return tile<T, M, most < 16 ? most : 16>;
    case 8: return tile<T, M, most < 8 ? most : 8>;
    case 4: return tile<T, M, most < 4 ? most : 4>;
    case 3: return tile<T, M, most < 3 ? most : 3>;
    case 2: return tile<T, M, most < 2 ? most : 2>;
    default: return tile<T, M, 1>;
  }
}

template <class T>
Tile<T> tile_of(int64_t rows, int vectors) {
  switch (rows) {
    case 1: return tile_of<T, 1>(vectors);
    case 2: return tile_of<T, 2>(vectors);
    case 3: return tile_of<T, 3>(vectors);
    case 4: return tile_of<T, 4>(vectors);
    case 5: return tile_of<T, 5>(vectors);
    case 6: return tile_of<T, 6>(vectors);
    case 7: return tile_of<T, 7>(vectors);
    case 8: return tile_of<T, 8>(vectors);
    case 9: return tile_of<T, 9>(vectors);
    case 10: return tile_of<T, 10>(vectors);
    case 11: return tile_of<T, 11>(vectors);
    default: return tile_of<T, 12>(vectors);
  }
}

// How many vectors of `left` the next tile takes.
int next_width(int rows, int64_t left) {
  const int most = widest(rows);
  if (left >= most) return most;
  return left >= 8 ? 8 : left >= 4 ? 4 : (int)left;
}

// ---- packing ---------------------------------------------------------------------------------------------------------

// packed[k, vectors] = b[k, columns]; what is read beyond the columns is never used. `readable`: elements of b from its
// start that may be read when its columns are adjacent.
template <class T>
void pack(const T* b, int64_t b_k, int64_t b_col, int64_t readable, int64_t k, int64_t columns, T* packed,
          int64_t vectors) {
  typedef typename Vector<T>::unaligned unaligned;
  constexpr int L = Vector<T>::lanes;
  const int64_t width = vectors * L;
  for (int64_t p = 0; p < k; ++p, packed += width) {
    const T* const row = b + p * b_k;
    if (b_col == 1 && p * b_k + width <= readable) {
      for (int64_t v = 0; v < vectors; ++v) *(unaligned*)(packed + v * L) = *(const unaligned*)(row + v * L);
    } else {
      for (int64_t j = 0; j < width; ++j) packed[j] = row[min(j, columns - 1) * b_col];
    }
  }
}

// ---- products --------------------------------------------------------------------------------------------------------

template <class T>
struct Product {
  const T *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t k, i0, i1, j0, j1;
  int64_t readable;  // elements of b that may be read, when b_col == 1 and b_k >= 0; else none
  T *packed, *result;
  ShloEpilogue epilogue;
  void* context;

  static constexpr int L = Vector<T>::lanes;
  static constexpr int64_t depth = PACKED_BYTES / (PANEL * sizeof(T));

  void pack_at(int64_t p, int64_t depth_, int64_t j, int64_t columns, int64_t vectors) const {
    const int64_t start = p * b_k + j * b_col;
    pack(b + start, b_k, b_col, readable - start, depth_, columns, packed, vectors);
  }

  // Few rows: B is read once, so where it is; only the columns of a last vector that is not full are packed.
  void stream() const {
    const int64_t rows = i1 - i0;
    const T* const first = a + i0 * a_row;
    for (int64_t j = j0; j < j1; j += STREAM_COLUMNS) {
      const int64_t columns = min(STREAM_COLUMNS, j1 - j), full = columns / L, ld = (columns + 15) / 16 * 16;
      for (int64_t v = 0; v < full;) {
        const int vectors = next_width((int)rows, full - v);
        tile_of<T>(rows, vectors)(first, a_row, a_k, b + j + v * L, b_k, result + v * L, ld, k, false);
        v += vectors;
      }
      for (int64_t p = 0; full * L < columns && (p < k || p == 0); p += depth) {
        const int64_t deep = min(depth, k - p);
        pack_at(p, deep, j + full * L, columns - full * L, 1);
        tile_of<T>(rows, 1)(first + p * a_k, a_row, a_k, packed, L, result + full * L, ld, deep, p > 0);
      }
      epilogue(context, result, ld, i0, rows, j, columns);
    }
  }

  // result[rows, columns] (+)= a[rows, deep] * packed[deep, columns]
  void multiply(const T* from, int64_t rows, int64_t deep, int64_t vectors, bool add) const {
    const int64_t tiles = (rows + ROWS - 1) / ROWS;
    for (int64_t v = 0; v < vectors; v += WIDTH) {
      const int width = (int)min(WIDTH, vectors - v);
      int64_t row = 0;
      for (int64_t t = tiles; t > 0; --t) {
        const int64_t height = (rows - row + t - 1) / t;
        tile_of<T>(height, width)(from + row * a_row, a_row, a_k, packed + v * L * deep, width * L,
                                  result + row * PANEL + v * L, PANEL, deep, add);
        row += height;
      }
    }
  }

  void blocks() const {
    const bool once = k <= depth;
    const int64_t chunk = CHUNK_BYTES / (PANEL * (int64_t)sizeof(T));
    for (int64_t i = i0; i < i1; i += SHLO_GEMM_ROWS)
      for (int64_t j = j0; j < j1; j += PANEL) {
        const int64_t rows = min(SHLO_GEMM_ROWS, i1 - i), columns = min(PANEL, j1 - j), vectors = (columns + L - 1) / L;
        for (int64_t p = 0; p < k || p == 0; p += depth) {
          const int64_t deep = min(depth, k - p);
          for (int64_t v = 0; v < vectors; v += WIDTH) {
            const int64_t width = min(WIDTH, vectors - v), start = p * b_k + (j + v * L) * b_col;
            pack(b + start, b_k, b_col, readable - start, deep, min(columns - v * L, width * L),
                 packed + v * L * deep, width);
          }
          const T* const from = a + i * a_row + p * a_k;
          if (!once) {
            multiply(from, rows, deep, vectors, p > 0);
            continue;
          }
          for (int64_t r = 0; r < rows; r += chunk) {
            multiply(from + r * a_row, min(chunk, rows - r), deep, vectors, false);
            epilogue(context, result, PANEL, i + r, min(chunk, rows - r), j, columns);
          }
        }
        if (!once) epilogue(context, result, PANEL, i, rows, j, columns);
      }
  }
};

template <class T>
void product(const ShloGemm* g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch, ShloEpilogue epilogue,
             void* context) {
  if (i0 >= i1 || j0 >= j1) return;
  char* const memory = (char*)scratch;
  const int64_t readable = g->b_col == 1 && g->b_k >= 0 && g->k > 0 ? (g->k - 1) * g->b_k + g->n : 0;
  const Product<T> it = {(const T*)g->a, (const T*)g->b, g->a_row,    g->a_k,
                         g->b_k,         g->b_col,       g->k,        i0,
                         i1,             j0,             j1,          readable,
                         (T*)memory,     (T*)(memory + PACKED_BYTES), epilogue, context};
  if (g->b_col == 1 && i1 - i0 <= STREAM_ROWS)
    it.stream();
  else
    it.blocks();
}

}  // namespace

extern "C" void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context) {
  product<float>(gemm, i0, i1, j0, j1, scratch, epilogue, context);
}

extern "C" void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context) {
  product<double>(gemm, i0, i1, j0, j1, scratch, epilogue, context);
}
