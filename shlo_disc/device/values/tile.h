// Native registers for inner loops: size, reads and writes, transposition of a square of registers.
#pragma once
#include "values/vec.h"

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

// Prevents inlining and cloning, to save compile time.
#ifdef __clang__
#define SHLO_ONCE __attribute__((noinline))
#else
#define SHLO_ONCE __attribute__((noinline, noclone))
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

// Lanes are pairs of i16: sum + x * y of the lower halves + x * y of the upper halves. The sum of two products of i16
// is correct modulo 2^32, also -2^15 * -2^15 twice. Inline assembly, because intrinsics differ between compilers.
SHLO_INLINE register_t<uint32_t> add_products_of_pairs(register_t<uint32_t> sum, register_t<uint32_t> x,
                                                       register_t<uint32_t> y) {
#if defined(SHLO_AVX512) && defined(__AVX512VNNI__)
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
  return sum;
#elif defined(SHLO_AVX512) || defined(__AVX2__)
  register_t<uint32_t> products;
  asm("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(x), "v"(y));
  return sum + products;
#else
  typedef register_t<int32_t> I;
  typedef register_t<uint32_t> U;
  return sum + (U)((I)(x << 16) >> 16) * (U)((I)(y << 16) >> 16) + (U)((I)x >> 16) * (U)((I)y >> 16);
#endif
}

// ---- transposition ---------------------------------------------------------------------------------------------------

// The lower and the upper half of a0 b0 a1 b1 ..
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
// to[q * stride] = the sum of the elements of x[q], for four q.
template <class T>
SHLO_INLINE void sum_of_four(const register_t<T>* x, T* to, int64_t stride) {
  constexpr int L = Register<T>::lanes;
  if constexpr (L < 4) {
#pragma GCC unroll 16
    for (int q = 0; q < 4; ++q) to[q * stride] = x[q][0] + x[q][1];
  } else {
    const register_t<T> even = interleave_low(x[0], x[2]) + interleave_high(x[0], x[2]);
    const register_t<T> odd = interleave_low(x[1], x[3]) + interleave_high(x[1], x[3]);
    const register_t<T> all = interleave_low(even, odd) + interleave_high(even, odd);
    T sum[4] = {all[0], all[1], all[2], all[3]};
#pragma GCC unroll 16
    for (int q = 4; q < L; ++q) sum[q % 4] += all[q];
#pragma GCC unroll 16
    for (int q = 0; q < 4; ++q) to[q * stride] = sum[q];
  }
}

// Transposes a square of N vectors by interleaving its halves log2(N) times.
template <int N, class V>
SHLO_INLINE void transpose_square(V* rows) {
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
template <class T>
SHLO_INLINE void transpose(register_t<T>* rows) {
  transpose_square<Register<T>::lanes>(rows);
}

template <int bytes> struct Moved;
template <> struct Moved<1> { typedef uint8_t type; };
template <> struct Moved<2> { typedef uint16_t type; };
template <> struct Moved<4> { typedef float type; };
template <> struct Moved<8> { typedef double type; };

// A block of 16 x 16 elements, transposed: tile[line * k + l] = p[l * stride + k] for k < rows, l < columns (at most 16).
// Transposes in registers, irrespective of the type (of 1 and 2 bytes: only whole blocks). The rest of `tile` is
// unspecified.
template <class T>
SHLO_INLINE void load_transposed(T* tile, const T* p, int64_t stride, int64_t rows, int64_t columns, int64_t line = 16) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    typedef typename Moved<sizeof(T)>::type Bits;
    constexpr int N = Register<Bits>::lanes;
    for (int64_t k = 0; k < rows; k += N)
      for (int64_t l = 0; l < columns; l += N) {
        register_t<Bits> square[N] = {};
        const Bits* from = (const Bits*)p + l * stride + k;
        if (k + N <= rows && l + N <= columns) {
#pragma GCC unroll 16
          for (int i = 0; i < N; ++i) square[i] = read(from + i * stride);
        } else {
          for (int i = 0; i < N && l + i < columns; ++i)
            square[i] = read_n(from + i * stride, rows - k < N ? rows - k : N);
        }
        transpose<Bits>(square);
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) write((Bits*)tile + line * (k + i) + l, square[i]);
      }
  } else {
    if constexpr (sizeof(T) <= 2) {
      if (rows == 16 && columns == 16) {
        lanes_t<typename Moved<sizeof(T)>::type, 16> square[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) __builtin_memcpy(&square[i], p + i * stride, sizeof square[i]);
        transpose_square<16>(square);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) __builtin_memcpy(tile + line * i, &square[i], sizeof square[i]);
        return;
      }
    }
    for (int64_t l = 0; l < columns; ++l)
      for (int64_t k = 0; k < rows; ++k) tile[line * k + l] = p[l * stride + k];
  }
}
