// What products multiply: how elements in memory become registers, and registers sums.
//
//   Real<S, T, N>     elements S, multiplied and summed as T. Integers are unsigned here, so that they wrap
//   Pairs<S>          integers of at most 16 bits, two neighbouring depths at a time: see gemm/pairs.h
//   Complexes<T, N>   real and imaginary parts in registers of their own
//   Bytes, Halves ..  elements that are packed as narrow as they are: see gemm/narrow.h
//
// A kind has
//   Storage, Packed, Element   types in memory, of packed operands, of sums
//   vector, lanes, registers   `lanes` elements in so many registers; `zero()`, `keep(x)`: see KEEP
//   Sum                        a vector of sums, and of what is multiplied
//   step                       how many depths one packed element holds
//   parts                      how many multiplications that takes; if 2, `unpack` and `broadcast` are told which one
//   in_place                   whether A is read where it is: its elements are packed elements
//   is_raw                     whether packed elements of A are neighbouring depths as they are in memory
//   Left                       the kind that packs A
//   has_excess                 whether products are too much by the excess of a row of A: excess(sum, x) adds that of x
//   sums_alike                 whether sums are those of Single, to the last bit
//   few_rows                   up to so many, B is read where it is if its elements are converted. Measured
//   Single                     the kind that reads B where it is
//   Sums<N>                    the kind that reads sums, N at a time
//   read, read_n               neighbouring elements of one depth as numbers; only the first n, then zeros
//   along, along_n             `lanes` packed elements from neighbouring depths
//   join                       packed elements and the numbers of the next depth, of this number (step > 1)
//   pack, unpack               to and from packed memory, a vector at a time
//   load, store, store_n       sums; only the first n
//   transpose                  transposes a square of packed elements
//   broadcast, multiply_add    sum + x * y
//   keep_last                  the last n lanes, then zeros before them
//   sum                        to[j] = the sum of x[j], for four j
#pragma once
#include "values/tile.h"

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

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

template <class V>
SHLO_INLINE V read_as(const void* p) {
  V x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

template <class S> struct Bits { typedef S type; };
template <> struct Bits<f16> { typedef uint16_t type; };
template <> struct Bits<bf16> { typedef uint16_t type; };

template <class V> using elem_of = decltype(first_lane(V{}, 0));

// The first n elements of a vector, then zeros.
template <class V>
SHLO_INLINE V read_first(const void* p, int64_t n) {
  constexpr int64_t size = sizeof(V{}[0]);
  V x = {};
#ifdef SHLO_AVX512
  if constexpr (size >= 4) {
    const auto all = load_bytes<lanes_t<elem_of<V>, 64 / size>>(p, n);
    __builtin_memcpy(&x, &all, sizeof x);
    return x;
  } else if constexpr (sizeof(V) == 16 * size) {
    return load_bytes<V>(p, n);
  }
#endif
  __builtin_memcpy(&x, p, n * size);
  return x;
}

// Writes the first n elements of a vector.
template <class V>
SHLO_INLINE void write_first(void* p, V x, int64_t n) {
#ifdef SHLO_AVX512
  lanes_t<elem_of<V>, 64 / sizeof(elem_of<V>)> all = {};
  __builtin_memcpy(&all, &x, sizeof x);
  store_bytes(p, all, n);
#else
  __builtin_memcpy(p, &x, n * sizeof(elem_of<V>));
#endif
}

// All ones in the last n lanes, otherwise zero.
template <class T>
SHLO_INLINE auto last_lanes(int64_t n) {
  constexpr int L = Register<T>::lanes;
  typedef typename Pick<sizeof(T) == 4, int32_t, int64_t>::type integer;
  register_t<integer> lane;
  for (int i = 0; i < L; ++i) lane[i] = i;
  return lane >= (integer)(L - n);
}

template <class S, class T, int N = Register<T>::lanes>
struct Real {
  typedef S Storage;
  typedef T Packed;
  typedef T Element;
  typedef lanes_t<T, N> vector, Sum;
  typedef Real Single, Left;
  template <int M> using Sums = Real<T, T, M>;
  static constexpr int lanes = N, registers = 1, step = 1, parts = 1;
  static constexpr bool in_place = same<S, T>, is_raw = in_place, has_excess = false, sums_alike = true;
  static constexpr int few_rows = 12;
  typedef lanes_t<typename Bits<S>::type, lanes> Memory;

  SHLO_INLINE vector zero() { return vector{}; }
  SHLO_INLINE void keep(vector& x) { KEEP(x); }

  SHLO_INLINE vector widen(Memory x) {
    if constexpr (in_place) return x;
    else if constexpr (same<S, bf16>) return (vector)(__builtin_convertvector(x, register_t<uint32_t>) << 16);
    else if constexpr (same<S, f16>) {
#if defined(SHLO_AVX512)
      return __builtin_ia32_vcvtph2ps512_mask((i16v)x, f32v{}, (uint16_t)-1, 4);
#elif defined(__F16C__)
      vector wide;  // compilers name this instruction differently
      asm("vcvtph2ps %1, %0" : "=x"(wide) : "x"(x));
      return wide;
#else
      typedef register_t<uint32_t> U;
      const U wide = __builtin_convertvector(x, U), size = wide & 0x7fffu, sign = (wide & 0x8000u) << 16;
      const U number = (U)((vector)(U)(size << 13) * 5.192296858534828e33f);  // 2^112 moves the exponent's bias; exact
      return (vector)((size >= 0x7c00u ? (U)(size << 13 | 0x7f800000u) : number) | sign);
#endif
    } else return __builtin_convertvector(x, vector);
  }
  SHLO_INLINE vector read(const S* p) { return widen(read_as<Memory>(p)); }
  SHLO_INLINE vector read_n(const S* p, int64_t n) { return widen(read_first<Memory>(p, n)); }
  SHLO_INLINE vector along(const S* p) { return read(p); }
  SHLO_INLINE vector along_n(const S* p, int64_t n) { return read_n(p, n); }

  SHLO_INLINE void pack(T* p, vector x) { write(p, x); }
  SHLO_INLINE vector unpack(const T* p) { return read_as<vector>(p); }
  SHLO_INLINE vector load(const T* p) { return read_as<vector>(p); }
  SHLO_INLINE void store(T* p, vector x) { __builtin_memcpy(p, &x, sizeof x); }
  SHLO_INLINE void store_n(T* p, vector x, int64_t n) { write_first(p, x, n); }
  SHLO_INLINE void transpose(vector* square) { transpose_square<lanes>(square); }

  SHLO_INLINE vector broadcast(T x) { return x - vector{}; }  // x - 0 is x, also when x is -0
  SHLO_INLINE vector multiply_add(vector sum, vector x, vector y) { return sum + x * y; }
  SHLO_INLINE vector keep_last(vector x, int64_t n) {
    const auto mask = last_lanes<T>(n);
    return (vector)((decltype(mask))x & mask);
  }
  SHLO_INLINE void sum(const vector* x, T* to) { sum_of_four<T>(x, to, 1); }
};

template <class T>
struct ComplexNumber {
  T re, im;
};

template <class T, int N = Register<T>::lanes>
struct Complexes {
  typedef ComplexNumber<T> Storage, Packed, Element;
  typedef lanes_t<T, N> part;
  struct vector {
    part re, im;
  };
  typedef Complexes Single, Left;
  typedef vector Sum;
  template <int M> using Sums = Complexes<T, M>;
  static constexpr int lanes = N, registers = 2, step = 1, parts = 1;
  static constexpr bool in_place = true, is_raw = true, has_excess = false, sums_alike = true;
  static constexpr int few_rows = 12;

  SHLO_INLINE vector zero() { return {part{}, part{}}; }
  SHLO_INLINE void keep(vector& x) {
    KEEP(x.re);
    KEEP(x.im);
  }
  SHLO_INLINE vector split(part x, part y) {
    if constexpr (lanes == 16)
      return {__builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
              __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
    else if constexpr (lanes == 8)
      return {__builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14),
              __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)};
    else if constexpr (lanes == 4)
      return {__builtin_shufflevector(x, y, 0, 2, 4, 6), __builtin_shufflevector(x, y, 1, 3, 5, 7)};
    else
      return {__builtin_shufflevector(x, y, 0, 2), __builtin_shufflevector(x, y, 1, 3)};
  }
  SHLO_INLINE vector read(const Storage* p) { return split(read_as<part>(p), read_as<part>((const T*)p + lanes)); }
  SHLO_INLINE vector read_n(const Storage* p, int64_t n) {
    const T* const from = (const T*)p;
    const int64_t first = min(2 * n, lanes);
    return split(read_first<part>(from, first), read_first<part>(from + first, 2 * n - first));
  }
  SHLO_INLINE vector along(const Storage* p) { return read(p); }
  SHLO_INLINE vector along_n(const Storage* p, int64_t n) { return read_n(p, n); }

  SHLO_INLINE void pack(Packed* p, vector x) {
    write((T*)p, x.re);
    write((T*)p + lanes, x.im);
  }
  SHLO_INLINE vector unpack(const Packed* p) { return {::read((const T*)p), ::read((const T*)p + lanes)}; }
  SHLO_INLINE vector load(const Element* p) { return read(p); }
  SHLO_INLINE void store(Element* p, vector x) {
    const part both[2] = {interleave_low(x.re, x.im), interleave_high(x.re, x.im)};
    __builtin_memcpy(p, both, sizeof both);
  }
  SHLO_INLINE void store_n(Element* p, vector x, int64_t n) {
    const int64_t first = min(2 * n, lanes);
    write_first(p, interleave_low(x.re, x.im), first);
    write_first((T*)p + first, interleave_high(x.re, x.im), 2 * n - first);
  }
  SHLO_INLINE void transpose(vector* square) {
    part re[lanes], im[lanes];
    for (int i = 0; i < lanes; ++i) re[i] = square[i].re, im[i] = square[i].im;
    transpose_square<lanes>(re);
    transpose_square<lanes>(im);
    for (int i = 0; i < lanes; ++i) square[i] = {re[i], im[i]};
  }

  SHLO_INLINE vector broadcast(const Packed& x) { return {x.re - part{}, x.im - part{}}; }
  // The product is rounded before it is added, as XLA does. Where additions have units of their own (Zen 4), that costs
  // nothing.
  SHLO_INLINE vector multiply_add(vector sum, vector x, vector y) {
    return {sum.re + (x.re * y.re - x.im * y.im), sum.im + (x.im * y.re + x.re * y.im)};
  }
  SHLO_INLINE vector keep_last(vector x, int64_t n) {
    typedef Real<T, T> Part;
    return {Part::keep_last(x.re, n), Part::keep_last(x.im, n)};
  }
  SHLO_INLINE void sum(const vector* x, Element* to) {
    const part re[4] = {x[0].re, x[1].re, x[2].re, x[3].re}, im[4] = {x[0].im, x[1].im, x[2].im, x[3].im};
    sum_of_four<T>(re, &to->re, 2);
    sum_of_four<T>(im, &to->im, 2);
  }
};

}  // namespace
