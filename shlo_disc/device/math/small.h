// Floats of 8 bits and fewer, integers of 4 and 2 bits: one byte each. Part of the vocabulary described in
// values/vec.h.
//
// Floats are computed in f32 and rounded after every operation: to nearest, ties to even. Overflow gives infinity
// (f8E3M4 f8E4M3 f8E5M2), a NaN (FN: 0x7f, with its sign; FNUZ: 0x80, they have no -0), or the largest number (f4E2M1FN
// f6E2M3FN f6E3M2FN, where a NaN becomes a zero of the other sign), as in ml_dtypes' conversions from f32.
// Integers are computed in 8 bits, sign or zero extended, and wrapped after every operation.
#pragma once
#include "math/integer.h"

enum class Beyond { infinity, nan, one_nan, largest };

template <class T> struct SmallFloat {};

// Rounds to odd: a second rounding, to a much narrower type, then gives the correctly rounded result (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
template <class D>
SHLO_INLINE like_t<D, float> to_f32_odd(D x) {
  typedef like_t<D, float> F;
  typedef uint_t<F> U;
  const F near = convert<float>(x);
  const D again = convert<double>(near);
  U bits = as<U>(near);
  bits = select(gt(abs_(again), abs_(x)), (U)(bits - 1), bits);
  return as<F>(select(ne(again, x), (U)(bits | 1), bits));
}

// Subnormals: adding a number whose last bit is the smallest of T makes the adder round.
template <class T, class F>
SHLO_INLINE like_t<F, uint8_t> pack_float(F x) {
  typedef SmallFloat<T> S;
  typedef uint_t<F> U;
  constexpr uint32_t width = S::exponent + S::mantissa, drop = 23 - S::mantissa;
  constexpr uint32_t most = (1u << width) - 1, infinity = most >> S::mantissa << S::mantissa;
  constexpr uint32_t least_normal = (128u - S::bias) << 23, rounder = (151u - S::bias - S::mantissa) << 23;
  const U bits = as<U>(x), size = bits & 0x7fffffffu, sign = bits >> 31u << width;
  const U subnormal = as<U>((F)(as<F>(size) + as<F>(splat<U>(rounder)))) - rounder;
  const U rounded = (size + ((1u << (drop - 1)) - 1) + (size >> drop & 1u)) >> drop;
  U code = select(lt(size, splat<U>(least_normal)), subnormal, (U)(rounded - ((127u - S::bias) << S::mantissa)));
  const auto is_nan = ne(x, x);
  if constexpr (S::beyond == Beyond::infinity) {
    code = select(gt(code, splat<U>(infinity)), splat<U>(infinity), code);
    code = select(is_nan, splat<U>(infinity | 1u << (S::mantissa - 1)), code) | sign;
  } else if constexpr (S::beyond == Beyond::one_nan) {
    const U number = select(eq(code, splat<U>(0)), code, (U)(code | sign));
    code = select(gt(code, splat<U>(most)), splat<U>(most + 1), number);
  } else {
    code = select(gt(code, splat<U>(most)), splat<U>(most), code) | sign;
    if constexpr (S::beyond == Beyond::largest) code = select(is_nan, (U)(sign ^ (most + 1)), code);
  }
  return convert<uint8_t>(code);
}
template <class T, class X>
SHLO_INLINE like_t<X, float> unpack_float(X bits) {
  typedef SmallFloat<T> S;
  typedef like_t<X, float> F;
  typedef uint_t<F> U;
  constexpr uint32_t width = S::exponent + S::mantissa, drop = 23 - S::mantissa;
  constexpr uint32_t most = (1u << width) - 1, infinity = most >> S::mantissa << S::mantissa;
  const U wide = convert<uint32_t>(bits), size = wide & most, sign = (wide >> width & 1u) << 31u;
  const F rebiased = as<F>((U)(size << drop)) * as<F>(splat<U>((254u - S::bias) << 23));  // exact
  U found = as<U>(rebiased);
  if constexpr (S::beyond == Beyond::infinity)
    found = select(ge(size, splat<U>(infinity)), (U)(size << drop | 0x7f800000u), found);
  if constexpr (S::beyond == Beyond::nan) found = select(eq(size, splat<U>(most)), splat<U>(0x7fc00000), found);
  found = found | sign;
  if constexpr (S::beyond == Beyond::one_nan)
    found = select(eq((U)(wide & (2 * most + 1)), splat<U>(most + 1)), splat<U>(0xffc00000), found);
  return as<F>(found);
}

// Powers of two from 2^-127 on, and a NaN, which also results from overflow and from numbers <= 0. Ties round up, as do
// all numbers between the two smallest.
struct f8E8M0FNU {
  uint8_t bits;
};
template <class F>
SHLO_INLINE like_t<F, uint8_t> pack_f8E8M0FNU(F x) {
  typedef uint_t<F> U;
  const U bits = as<U>(x);
  U code = (bits + 0x400000u) >> 23u;
  code = select(lt(bits, splat<U>(0x00800000)), select(gt(bits, splat<U>(0x00400000)), splat<U>(1), splat<U>(0)), code);
  code = select(and_(gt(x, splat<F>(0)), lt(code, splat<U>(255))), code, splat<U>(255));
  return convert<uint8_t>(code);
}
template <class X>
SHLO_INLINE like_t<X, float> bits_f8E8M0FNU(X bits) {
  typedef like_t<X, float> F;
  typedef uint_t<F> U;
  const U wide = convert<uint32_t>(bits);
  U found = select(eq(wide, splat<U>(0)), splat<U>(0x00400000), (U)(wide << 23u));
  return as<F>(select(eq(wide, splat<U>(255)), splat<U>(0x7fc00000), found));
}

template <int Width, class X>
SHLO_INLINE X wrap(X x) {
  typedef elem_t<X> E;
  typedef uint_t<X> U;
  if constexpr (E(-1) > E(0)) return x & E((1 << Width) - 1);
  else return (X)((X)((U)x << (elem_t<U>)(8 - Width)) >> (E)(8 - Width));
}
// Integers wrap around; floats are truncated and saturate, NaN is 0.
template <class E, int Width, class X>
SHLO_INLINE like_t<X, E> to_narrow(X x) {
  typedef like_t<X, E> V;
  constexpr bool is_positive = E(-1) > E(0);
  constexpr E most = E((1 << (is_positive ? Width : Width - 1)) - 1), least = is_positive ? E(0) : E(~most);
  if constexpr (is_real<X>) return min_(max_(convert<E>(x), splat<V>(least)), splat<V>(most));
  else return wrap<Width>(convert<E>(x));
}

// ---- memory: the code of a float, the low bits of an integer ---------------------------------------------------------

#define SHLO_SMALL(name, vector_type, scalar_type)                                                           \
  template <> struct Stored<name> {                                                                          \
    typedef u8v bytes;                                                                                       \
    typedef vector_type vector;                                                                              \
    typedef scalar_type scalar;                                                                              \
    static constexpr bool is_coded = true;                                                                   \
  };                                                                                                         \
  SHLO_INLINE uint8_t raw(name x) { return x.bits; }                                                         \
  template <class X> SHLO_INLINE auto decode(name, X bytes) { return bits_##name(bytes); }                   \
  template <class V> SHLO_INLINE like_t<V, uint8_t> encode(name, V v) { return pack_##name(v); }

#define SHLO_SMALL_FLOAT(name, exponent_bits, mantissa_bits, exponent_bias, rule)                            \
  struct name {                                                                                              \
    uint8_t bits;                                                                                            \
  };                                                                                                         \
  template <> struct SmallFloat<name> {                                                                      \
    static constexpr uint32_t exponent = exponent_bits, mantissa = mantissa_bits, bias = exponent_bias;      \
    static constexpr Beyond beyond = Beyond::rule;                                                           \
  };                                                                                                         \
  template <class F> SHLO_INLINE like_t<F, uint8_t> pack_##name(F x) { return pack_float<name>(x); }         \
  template <class X> SHLO_INLINE like_t<X, float> bits_##name(X bits) { return unpack_float<name>(bits); }   \
  template <class F> SHLO_INLINE F round_##name(F x) { return bits_##name(pack_##name(x)); }                 \
  SHLO_SMALL(name, f32v, float)

#define SHLO_SMALL_INTEGER(name, E, V, width)                                                                \
  struct name {                                                                                              \
    uint8_t bits;                                                                                            \
  };                                                                                                         \
  typedef V name##v;                                                                                         \
  SHLO_SPLAT(name, V)                                                                                        \
  template <class X> SHLO_INLINE X wrap_##name(X x) { return wrap<width>(x); }                               \
  template <class X> SHLO_INLINE like_t<X, E> bits_##name(X x) { return wrap<width>(as<like_t<X, E>>(x)); }  \
  template <class X> SHLO_INLINE like_t<X, E> to_##name(X x) { return to_narrow<E, width>(x); }              \
  template <class X> SHLO_INLINE like_t<X, uint8_t> pack_##name(X x) { return wrap<width>(as<like_t<X, uint8_t>>(x)); } \
  SHLO_SMALL(name, V, E)

SHLO_SMALL_FLOAT(f4E2M1FN, 2, 1, 1, largest)
SHLO_SMALL_FLOAT(f6E2M3FN, 2, 3, 1, largest)
SHLO_SMALL_FLOAT(f6E3M2FN, 3, 2, 3, largest)
SHLO_SMALL_FLOAT(f8E3M4, 3, 4, 3, infinity)
SHLO_SMALL_FLOAT(f8E4M3, 4, 3, 7, infinity)
SHLO_SMALL_FLOAT(f8E4M3FN, 4, 3, 7, nan)
SHLO_SMALL_FLOAT(f8E4M3FNUZ, 4, 3, 8, one_nan)
SHLO_SMALL_FLOAT(f8E4M3B11FNUZ, 4, 3, 11, one_nan)
SHLO_SMALL_FLOAT(f8E5M2, 5, 2, 15, infinity)
SHLO_SMALL_FLOAT(f8E5M2FNUZ, 5, 2, 16, one_nan)
template <class F> SHLO_INLINE F round_f8E8M0FNU(F x) { return bits_f8E8M0FNU(pack_f8E8M0FNU(x)); }
SHLO_SMALL(f8E8M0FNU, f32v, float)
SHLO_SMALL_INTEGER(i2, int8_t, i8v, 2)
SHLO_SMALL_INTEGER(i4, int8_t, i8v, 4)
SHLO_SMALL_INTEGER(ui2, uint8_t, u8v, 2)
SHLO_SMALL_INTEGER(ui4, uint8_t, u8v, 4)
