// Register tiles: the inner loops shared by gemm.cc and conv.cc.
#pragma once
#include "vec.h"

#if defined(SHLO_AVX512)
#define SHLO_REGISTER 64     // bytes of a vector register
#define SHLO_TILE_VECTORS 4  // vectors of columns in a register tile
#elif defined(__AVX__)
#define SHLO_REGISTER 32
#define SHLO_TILE_VECTORS 2
#elif defined(__aarch64__)
#define SHLO_REGISTER 16
#define SHLO_TILE_VECTORS 4
#else
#define SHLO_REGISTER 16
#define SHLO_TILE_VECTORS 2
#endif
#define SHLO_TILE_ROWS 6

// Loads a value once: a compiler may else repeat the load at each use, and loads are what inner loops wait for.
#if defined(__x86_64__)
#define SHLO_IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define SHLO_IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define SHLO_IN_REGISTER(v)
#endif

template <class T>
struct Register {
  static constexpr int lanes = SHLO_REGISTER / sizeof(T);
  typedef lanes_t<T, lanes> type;
};
template <class T> using register_t = typename Register<T>::type;

template <class T>
SHLO_INLINE register_t<T> read(const T* p) {
  register_t<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
SHLO_INLINE void write(T* p, register_t<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// The first n elements, then zeros.
template <class T>
SHLO_INLINE register_t<T> read_n(const T* p, int64_t n) {
#ifdef SHLO_AVX512
  return load_bytes<register_t<T>>(p, n);
#else
  register_t<T> v = {};
  __builtin_memcpy(&v, p, n * sizeof(T));
  return v;
#endif
}

// What one register tile multiplies: A[i][p] = a[i * a_row + p * a_k]; k rows of B, `ldb` apart.
template <class T>
struct TileTask {
  const T *a, *b;
  int64_t a_row, a_k, ldb, k;
  T* c;        // rows of C, `ldc` apart
  int64_t ldc;
  bool add;    // to what is in c
  T* packed;   // where the rows of B are also written, one after the other (only if Pack)
};

// c (Rows x Vectors registers) = A B; everything that is added up stays in registers. `Ahead`: how many rows of B ahead
// to prefetch, for a B that lies in pages far apart, where the hardware does not.
template <class T, int Rows, int Vectors, bool Pack, int Ahead = Pack ? 8 : 0>
static void multiply_tile(const TileTask<T>& task) {
  typedef register_t<T> V;
  constexpr int N = Register<T>::lanes;
  const T *a = task.a, *b = task.b;
  T* packed = task.packed;
  T* const to = task.c;
  // Steps in bytes: one compiler makes a second copy of a loop for the case that a step in elements is 1.
  const int64_t a_row = task.a_row, a_step = task.a_k * (int64_t)sizeof(T), b_step = task.ldb * (int64_t)sizeof(T);
  const int64_t ldc = task.ldc;
  V c[Rows][Vectors];
  for (int i = 0; i < Rows; i++)
    for (int j = 0; j < Vectors; j++) c[i][j] = task.add ? read(to + i * ldc + j * N) : V{};
  for (int64_t p = task.k; p > 0; p--) {
    V row[Vectors];
    for (int j = 0; j < Vectors; j++) row[j] = read(b + j * N);
    if constexpr (Rows > 1)
      for (int j = 0; j < Vectors; j++) SHLO_IN_REGISTER(row[j]);
    if constexpr (Ahead > 0)
      for (int j = 0; j < Vectors; j++) __builtin_prefetch((const char*)(b + j * N) + Ahead * b_step);
    if constexpr (Pack) {
      for (int j = 0; j < Vectors; j++) write(packed + j * N, row[j]);
      packed += Vectors * N;
    }
    for (int i = 0; i < Rows; i++) {
      const T x = a[i * a_row];
      for (int j = 0; j < Vectors; j++) c[i][j] += x * row[j];
    }
    a = (const T*)((const char*)a + a_step);
    b = (const T*)((const char*)b + b_step);
  }
  for (int i = 0; i < Rows; i++)
    for (int j = 0; j < Vectors; j++) write(to + i * ldc + j * N, c[i][j]);
}

template <class T>
using Tile = void (*)(const TileTask<T>&);
#define SHLO_TILE_ROW(T, Vectors)                                                                        \
  {                                                                                                      \
    multiply_tile<T, 1, Vectors, false>, multiply_tile<T, 2, Vectors, false>,                            \
        multiply_tile<T, 3, Vectors, false>, multiply_tile<T, 4, Vectors, false>,                        \
        multiply_tile<T, 5, Vectors, false>, multiply_tile<T, 6, Vectors, false>                         \
  }
// tiles<T>[vectors - 1][rows - 1]
template <class T>
constexpr Tile<T> tiles[SHLO_TILE_VECTORS][SHLO_TILE_ROWS] = {
    SHLO_TILE_ROW(T, 1), SHLO_TILE_ROW(T, 2),
#if SHLO_TILE_VECTORS > 2
    SHLO_TILE_ROW(T, 3), SHLO_TILE_ROW(T, 4),
#endif
};
// The widest, packing: packing_tiles<T>[rows - PACKING_ROWS]
constexpr int PACKING_ROWS = SHLO_TILE_ROWS / 2 + 1;
template <class T>
constexpr Tile<T> packing_tiles[] = {
    multiply_tile<T, 4, SHLO_TILE_VECTORS, true>,
    multiply_tile<T, 5, SHLO_TILE_VECTORS, true>,
    multiply_tile<T, 6, SHLO_TILE_VECTORS, true>,
};

// How many of `left` rows the next tile takes: no tile gets much fewer than the others.
SHLO_INLINE int64_t next_rows(int64_t left) {
  if (left <= SHLO_TILE_ROWS) return left;
  return left < 2 * SHLO_TILE_ROWS ? (left + 1) / 2 : SHLO_TILE_ROWS;
}

// ---- transposition ---------------------------------------------------------------------------------------------------

// a0 b0 a1 b1 ..: the first and the second half.
template <class V>
SHLO_INLINE V interleave_low(V a, V b) {
  constexpr int lanes = sizeof(V) / sizeof(a[0]);
  if constexpr (lanes == 16) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (lanes == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  else if constexpr (lanes == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else return __builtin_shufflevector(a, b, 0, 2);
}
template <class V>
SHLO_INLINE V interleave_high(V a, V b) {
  constexpr int lanes = sizeof(V) / sizeof(a[0]);
  if constexpr (lanes == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (lanes == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else if constexpr (lanes == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else return __builtin_shufflevector(a, b, 1, 3);
}
// A square of registers: interleaving the halves log2(lanes) times transposes it.
template <class T>
SHLO_INLINE void transpose(register_t<T>* rows) {
  typedef register_t<T> V;
  constexpr int N = Register<T>::lanes;
  V other[N];
  V *from = rows, *to = other;
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; i++) {
      to[2 * i] = interleave_low(from[i], from[i + N / 2]);
      to[2 * i + 1] = interleave_high(from[i], from[i + N / 2]);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
  if (from != rows)
    for (int i = 0; i < N; i++) rows[i] = from[i];
}
