// Floats of 8 bits and fewer, integers of 4 and 2 bits: one byte each. Part of the vocabulary described in
// call/shlo.cuh.
//
// Floats are computed in f32 and rounded after every operation: to nearest, ties to even. Overflow gives infinity
// (f8E3M4 f8E4M3 f8E5M2), a NaN (FN: 0x7f, with its sign; FNUZ: 0x80, they have no -0), or the largest number (f4E2M1FN
// f6E2M3FN f6E3M2FN, where a NaN becomes a zero of the other sign), as in ml_dtypes' conversions from f32.
// Integers are computed in 8 bits, sign or zero extended, and wrapped after every operation.
#pragma once
#include "values/convert.cuh"

enum class Beyond { infinity, nan, one_nan, largest };

// Rounds to odd: a second rounding, to a much narrower type, then gives the correctly rounded result (Boldo and
// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
SHLO_DEVICE float to_f32_odd(double x) {
  const float near = (float)x;
  const double again = near;
  uint32_t bits = as<uint32_t>(near);
  if ((again < 0 ? -again : again) > (x < 0 ? -x : x)) --bits;
  return as<float>(again != x ? bits | 1 : bits);
}

// Subnormals: adding a number whose last bit is the smallest of the type makes the adder round.
template <uint32_t exponent, uint32_t mantissa, uint32_t bias, Beyond beyond>
struct SmallFloat {
  static constexpr uint32_t width = exponent + mantissa, drop = 23 - mantissa;
  static constexpr uint32_t most = (1u << width) - 1, infinity = most >> mantissa << mantissa;

  static SHLO_DEVICE uint8_t pack(float x) {
    constexpr uint32_t least_normal = (128u - bias) << 23, rounder = (151u - bias - mantissa) << 23;
    const uint32_t bits = as<uint32_t>(x), size = bits & 0x7fffffffu, sign = bits >> 31 << width;
    const uint32_t subnormal = as<uint32_t>(as<float>(size) + as<float>(rounder)) - rounder;
    const uint32_t rounded = (size + ((1u << (drop - 1)) - 1) + (size >> drop & 1u)) >> drop;
    const uint32_t code = size < least_normal ? subnormal : rounded - ((127u - bias) << mantissa);
    if constexpr (beyond == Beyond::infinity)
      return (uint8_t)(sign | (x != x ? infinity | 1u << (mantissa - 1) : code > infinity ? infinity : code));
    else if constexpr (beyond == Beyond::one_nan)
      return (uint8_t)(code > most ? most + 1 : code == 0 ? 0 : code | sign);
    else if (beyond == Beyond::largest && x != x)
      return (uint8_t)(sign ^ (most + 1));
    else
      return (uint8_t)(sign | (code > most ? most : code));
  }
  static SHLO_DEVICE float unpack(uint8_t bits) {
    const uint32_t size = bits & most, sign = (uint32_t)(bits >> width & 1) << 31;
    if (beyond == Beyond::infinity && size >= infinity) return as<float>(size << drop | 0x7f800000u | sign);
    if (beyond == Beyond::nan && size == most) return as<float>(0x7fc00000u | sign);
    if (beyond == Beyond::one_nan && (bits & (2 * most + 1)) == most + 1) return as<float>(0xffc00000u);
    const float rebiased = as<float>(size << drop) * as<float>((254u - bias) << 23);  // exact
    return as<float>(as<uint32_t>(rebiased) | sign);
  }
};

// Powers of two from 2^-127 on, and a NaN, which also results from overflow and from numbers <= 0. Ties round up, as do
// all numbers between the two smallest.
struct PowersOfTwo {
  static SHLO_DEVICE uint8_t pack(float x) {
    const uint32_t bits = as<uint32_t>(x);
    const uint32_t code = bits < 0x00800000u ? bits > 0x00400000u : (bits + 0x400000u) >> 23;
    return (uint8_t)(x > 0 && code < 255 ? code : 255);
  }
  static SHLO_DEVICE float unpack(uint8_t bits) {
    return bits == 255 ? nan_f32() : as<float>(bits == 0 ? 0x00400000u : (uint32_t)bits << 23);
  }
};

template <int Width, class E>
SHLO_DEVICE E wrap(E x) {
  if constexpr (is_signed<E>) return (E)((E)((uint8_t)x << (8 - Width)) >> (8 - Width));
  else return (E)(x & ((1 << Width) - 1));
}
// Integers wrap around; floats are truncated and saturate, NaN is 0.
template <class E, int Width, class X>
SHLO_DEVICE E to_narrow(X x) {
  constexpr E most = E((1 << (is_signed<E> ? Width - 1 : Width)) - 1), least = is_signed<E> ? E(~most) : E(0);
  if constexpr (is_real<X>) {
    const E whole = convert<E>(x);
    return whole < least ? least : whole > most ? most : whole;
  } else return wrap<Width>(convert<E>(x));
}

#define SHLO_SMALL(name, scalar)                                                \
  struct name {                                                                 \
    uint8_t bits;                                                               \
  };                                                                            \
  template <> struct Stored<name> { typedef scalar value; };                    \
  SHLO_DEVICE scalar value(name x) { return bits_##name(x.bits); }              \
  template <> SHLO_DEVICE name stored<name>(scalar x) { return {pack_##name(x)}; }

#define SHLO_SMALL_FLOAT(name, ...)                                             \
  SHLO_DEVICE uint8_t pack_##name(float x) { return __VA_ARGS__::pack(x); }     \
  SHLO_DEVICE float bits_##name(uint8_t bits) { return __VA_ARGS__::unpack(bits); } \
  SHLO_DEVICE float round_##name(float x) { return bits_##name(pack_##name(x)); } \
  SHLO_SMALL(name, float)

#define SHLO_SMALL_INTEGER(name, E, width)                                      \
  SHLO_DEVICE E wrap_##name(E x) { return wrap<width>(x); }                     \
  template <class X> SHLO_DEVICE E bits_##name(X x) { return wrap<width>(as<E>(x)); } \
  template <class X> SHLO_DEVICE E to_##name(X x) { return to_narrow<E, width>(x); } \
  SHLO_DEVICE uint8_t pack_##name(E x) { return wrap<width>((uint8_t)x); }      \
  SHLO_SMALL(name, E)

SHLO_SMALL_FLOAT(f4E2M1FN, SmallFloat<2, 1, 1, Beyond::largest>)
SHLO_SMALL_FLOAT(f6E2M3FN, SmallFloat<2, 3, 1, Beyond::largest>)
SHLO_SMALL_FLOAT(f6E3M2FN, SmallFloat<3, 2, 3, Beyond::largest>)
SHLO_SMALL_FLOAT(f8E3M4, SmallFloat<3, 4, 3, Beyond::infinity>)
SHLO_SMALL_FLOAT(f8E4M3, SmallFloat<4, 3, 7, Beyond::infinity>)
SHLO_SMALL_FLOAT(f8E4M3FN, SmallFloat<4, 3, 7, Beyond::nan>)
SHLO_SMALL_FLOAT(f8E4M3FNUZ, SmallFloat<4, 3, 8, Beyond::one_nan>)
SHLO_SMALL_FLOAT(f8E4M3B11FNUZ, SmallFloat<4, 3, 11, Beyond::one_nan>)
SHLO_SMALL_FLOAT(f8E5M2, SmallFloat<5, 2, 15, Beyond::infinity>)
SHLO_SMALL_FLOAT(f8E5M2FNUZ, SmallFloat<5, 2, 16, Beyond::one_nan>)
SHLO_SMALL_FLOAT(f8E8M0FNU, PowersOfTwo)
SHLO_SMALL_INTEGER(i2, int8_t, 2)
SHLO_SMALL_INTEGER(i4, int8_t, 4)
SHLO_SMALL_INTEGER(ui2, uint8_t, 2)
SHLO_SMALL_INTEGER(ui4, uint8_t, 4)
