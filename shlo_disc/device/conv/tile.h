// The inner loops of conv/indirect.h: register tiles with input through pointers, depthwise ones, and transposition.
#pragma once
#include "conv/conv.h"
#include "values/tile.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

constexpr int64_t MAX_STRIP = 12;  // positions

// The lanes 0 to sizeof(V) / sizeof(V[0]) as constants.
template <int... I> struct Lanes {};
template <int N, int... I> struct AllLanes : AllLanes<N - 1, N - 1, I...> {};
template <int... I> struct AllLanes<0, I...> { typedef Lanes<I...> type; };

// The elements of even index.
template <class V, int... I>
SHLO_INLINE V take_even(V a, V b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}

template <class E> constexpr int64_t LANES = Register<E>::lanes;

constexpr int64_t smallest(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
constexpr int64_t positive_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// ---- register tiles --------------------------------------------------------------------------------------------------

// Arithmetic traits:
//   Memory       element type in memory
//   step         channels per element of copied lines and packed weights
//   panel        most vectors of columns in a register tile
//   has_excess   whether the excess of the weights must be subtracted from sums: excess(sum, y) adds that of y
//   weights      applied to a vector of weights after its load
//   multiply_add sum + x * weights
template <class E>
struct Whole {
  typedef E Memory;
  static constexpr int step = 1, panel = SHLO_TILE_VECTORS;
  static constexpr bool has_excess = false;
  SHLO_INLINE register_t<E> weights(register_t<E> y) { return y; }
  template <class X>
  SHLO_INLINE register_t<E> multiply_add(register_t<E> sum, X x, register_t<E> y) { return sum + x * y; }
};
// 32-bit integers whose values fit into 16 bits: one instruction instead of two. The upper halves of the weights are
// cleared, so that the product of the upper halves is 0.
struct LowHalves {
  typedef register_t<uint32_t> vector;
  typedef uint32_t Memory;
  static constexpr int step = 1, panel = SHLO_TILE_VECTORS;
  static constexpr bool has_excess = false;
  SHLO_INLINE vector weights(vector y) { return y & 0xffffu; }
  template <class X>
  SHLO_INLINE vector multiply_add(vector sum, X x, vector y) { return add_products_of_pairs(sum, x - vector{}, y); }
};

// The operands of a strip of positions: for each tap, the index of its weights, and the input of each position or, if
// these are equally far apart, of the first alone.
template <class E>
struct Strip {
  static constexpr int64_t MAX_TAPS = 480;
  int64_t taps;
  int64_t weights[MAX_TAPS];
  const E* input[MAX_TAPS * MAX_STRIP + 16];  // [tap][position], with slack for surplus writes
  int64_t next;                               // input stride between positions, or 0: one pointer per position
  E* out[16];                                 // MAX_STRIP are used; slack for surplus writes
};

// The weights of tap t begin at data + strip.weights[t] * scale; `stride` is that between channels. `input` is added to
// the input pointers of the strip.
template <class E>
struct Panel {
  const E* data;
  int64_t scale, stride;
  int64_t column, last;  // the first column, the first column of the last vector
  int64_t input = 0;
};

template <class E>
using Multiply = void (*)(const Strip<E>& strip, int64_t run, const Panel<E>& panel, bool add);

template <class E, class A, int M, int N>
void multiply(const Strip<E>& strip, int64_t run, const Panel<E>& panel, bool add) {
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v)
      sum[r][v] = add ? read(strip.out[r] + panel.column + v * LANES<E>) : register_t<E>{};
  register_t<E> excess[N] = {};
  for (int64_t t = 0; t < strip.taps; ++t) {
    const E* a[M];
    if (strip.next != 0) {
      UNROLL for (int r = 0; r < M; ++r) a[r] = strip.input[t] + r * strip.next + panel.input;
    } else {
      UNROLL for (int r = 0; r < M; ++r) a[r] = strip.input[t * M + r] + panel.input;
    }
    const E* b = panel.data + strip.weights[t] * panel.scale;
    for (int64_t c = 0; c < run; ++c, b += panel.stride) {
      register_t<E> row[N];
      UNROLL for (int v = 0; v < N; ++v) row[v] = A::weights(read(b + v * LANES<E>));
      UNROLL for (int r = 0; r < M; ++r) {
        const E x = a[r][c];
        UNROLL for (int v = 0; v < N; ++v) sum[r][v] = A::multiply_add(sum[r][v], x, row[v]);
      }
      if constexpr (A::has_excess)
        UNROLL for (int v = 0; v < N; ++v) excess[v] = A::excess(excess[v], row[v]);
    }
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v)
      write(strip.out[r] + panel.column + v * LANES<E>, A::has_excess ? sum[r][v] - excess[v] : sum[r][v]);
}

// The last vector may overlap the one before it, so that nothing is read beyond the features.
template <class E, class A, int M, int N>
void multiply_depthwise(const Strip<E>& strip, int64_t, const Panel<E>& panel, bool add) {
  int64_t at[N];
  UNROLL for (int v = 0; v < N; ++v) at[v] = panel.column + v * LANES<E>;
  at[N - 1] = panel.last;
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) sum[r][v] = add ? read(strip.out[r] + at[v]) : register_t<E>{};
  for (int64_t t = 0; t < strip.taps; ++t) {
    const E* b = panel.data + strip.weights[t] * panel.scale;
    register_t<E> row[N];
    UNROLL for (int v = 0; v < N; ++v) row[v] = A::weights(read(b + at[v]));
    UNROLL for (int r = 0; r < M; ++r) {
      const E* a = strip.input[t * M + r];
      UNROLL for (int v = 0; v < N; ++v) sum[r][v] = A::multiply_add(sum[r][v], read(a + at[v]), row[v]);
    }
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(strip.out[r] + at[v], sum[r][v]);
}

template <class E, template <int, int> class Table, int N>
Multiply<E> by_rows(int64_t m) {
  if (m == 1) return Table<1, N>::value;
  if (m == 4) return Table<4, N>::value;
  if constexpr (N == 3)
    if (m == 8) return Table<8, N>::value;
  if constexpr (N <= 2)
    if (m == 12) return Table<12, N>::value;
  return Table<6, N>::value;
}
template <class E, template <int, int> class Table, int panel = SHLO_TILE_VECTORS>
Multiply<E> choose(int64_t m, int64_t n) {
  if (n == 1) return by_rows<E, Table, 1>(m);
  if constexpr (panel == 4) {
    if (n == 3) return by_rows<E, Table, 3>(m);
    if (n == 4) return by_rows<E, Table, 4>(m);
  }
  return by_rows<E, Table, 2>(m);
}
template <class E, class A>
struct Kernels {
  template <int M, int N> struct Dense { static constexpr Multiply<E> value = multiply<E, A, M, N>; };
  template <int M, int N> struct Depthwise { static constexpr Multiply<E> value = multiply_depthwise<E, A, M, N>; };
};

// The positions of a register tile with panels of `vectors` vectors (at most `most`, if there are several panels), and
// the smallest kernel height for `rows` positions.
constexpr int64_t full_strip(int64_t vectors, bool one_panel, int64_t most) {
  if (!one_panel && most == SHLO_TILE_VECTORS) return 6;
  if (SHLO_TILE_VECTORS == 4 && vectors == 3) return 8;
  return vectors == 1 || (vectors == 2 && SHLO_TILE_VECTORS == 4) ? 12 : 6;
}
constexpr int64_t strip_of(int64_t rows, int64_t full) {
  if (rows >= full) return full;
  return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= 6 ? 6 : full;
}

// ---- transposition ---------------------------------------------------------------------------------------------------

// `count` alternate elements from `from` on, at most a vector, then zeros.
template <class E>
SHLO_INLINE register_t<E> read_alternate(const E* from, int64_t count) {
  constexpr int64_t N = LANES<E>;
  const int64_t all = 2 * count - 1;
  return take_even(read_n(from, smallest(all, N)), all > N ? read_n(from + N, all - N) : register_t<E>{},
                   typename AllLanes<(int)N>::type());
}

// Transposes a block of at most a vector squared: to[x * pitch + f] = from[x * step + f * stride] for x < nx, f < nf;
// step is 1 or 2. Whole vectors are written, x ascending.
template <class E>
SHLO_ONCE void transpose_block(const E* from, int64_t stride, int64_t nx, int64_t nf, E* to, int64_t pitch, int64_t step) {
  constexpr int64_t N = LANES<E>;
  alignas(64) E edge[N * N];
  if (nx < N || nf < N || step == 2) {
#pragma GCC unroll 1
    for (int64_t f = 0; f < N; ++f) {
      const E* const line = from + f * stride;
      write(edge + f * N, f >= nf ? register_t<E>{} : step == 2 ? read_alternate(line, nx) : read_n(line, nx));
    }
    from = edge;
    stride = N;
  }
  register_t<E> square[N];
  UNROLL for (int i = 0; i < N; ++i) square[i] = read(from + i * stride);
  transpose<E>(square);
  E* const rows = nx < N ? edge : to;
  const int64_t next = nx < N ? N : pitch;
  UNROLL for (int i = 0; i < N; ++i) write(rows + i * next, square[i]);
  if (nx < N)
#pragma GCC unroll 1
    for (int64_t x = 0; x < nx; ++x) write(to + x * pitch, read(edge + x * N));
}

// to[x * pitch + f] = from[x * step + f * stride], step is 1 or 2. Whole vectors are written, features last to first
// and x ascending, so that later writes overwrite surplus elements; up to a vector beyond the last element is written.
template <class E>
SHLO_INLINE void transpose_features(E* to, int64_t pitch, const E* from, int64_t stride, int64_t width, int64_t features,
                                    int64_t step = 1) {
  constexpr int64_t N = LANES<E>;
  for (int64_t f = (features - 1) / N * N; f >= 0; f -= N)
    for (int64_t x = 0; x < width; x += N)
      transpose_block(from + x * step + f * stride, stride, smallest(N, width - x), smallest(N, features - f),
                      to + x * pitch + f, pitch, step);
}

// A transposed tile for an epilogue: the elements of a feature are contiguous.
template <class E>
struct TransposedTile {
  static constexpr int64_t ROWS = 64;
  ShloEpilogue epilogue;
  void* context;
  alignas(64) E numbers[SHLO_CONV_COLUMNS * ROWS];
};

// Transposes a tile and passes it to the epilogue of the TransposedTile in `context`, 64 rows at a time.
template <class E>
void transpose_tile(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
  TransposedTile<E>& to = *(TransposedTile<E>*)context;
  constexpr int64_t ROWS = TransposedTile<E>::ROWS;
  for (int64_t i = 0; i < rows; i += ROWS) {
    const int64_t count = smallest(rows - i, ROWS);
    transpose_features(to.numbers, ROWS, (const E*)tile + i * ld, ld, columns, count);
    to.epilogue(to.context, to.numbers, ROWS, i0 + i, count, j0, columns);
  }
}

}  // namespace
