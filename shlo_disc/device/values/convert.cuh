// Conversions between element types, and their bits. Part of the vocabulary described in call/shlo.cuh.
#pragma once
#include "values/types.cuh"

// Float to integer: truncate, saturate at the limits of E, NaN is 0.
template <class E, class F>
SHLO_DEVICE E truncate(F x) {
  constexpr int digits = sizeof(E) * 8 - is_signed<E>;
  constexpr F above = F(2) * F(uint64_t(1) << (digits - 1)), below = is_signed<E> ? -above : F(0);
  constexpr E most = E(is_signed<E> ? ~(uint64_t(1) << digits) : ~uint64_t(0)), least = E(~most);
  const E whole = (E)((x >= below) & (x < above) ? x : F(0));
  return x >= above ? most : x < below ? least : whole;
}

// Real to complex: the imaginary part is 0. Complex to real: the imaginary part is dropped.
template <class E, class X>
SHLO_DEVICE E convert(X x) {
  if constexpr (is_complex<X> && is_complex<E>) return E{(decltype(E::re))x.re, (decltype(E::re))x.im};
  else if constexpr (is_complex<X>) return convert<E>(x.re);
  else if constexpr (is_complex<E>) return E{(decltype(E::re))x, 0};
  else if constexpr (is_real<X> && !is_real<E>) return truncate<E>(x);
  else return (E)x;
}
template <class X>
SHLO_DEVICE bool to_bool(X x) {
  if constexpr (is_complex<X>) return x.re != 0;
  else return x != 0;
}
#define SHLO_CONVERT(name, E)                                                  \
  template <class X> SHLO_DEVICE E to_##name(X x) { return convert<E>(x); }    \
  template <class X> SHLO_DEVICE E bits_##name(X x) { return as<E>(x); }
SHLO_CONVERT(f32, float) SHLO_CONVERT(f64, double) SHLO_CONVERT(c64, c64) SHLO_CONVERT(c128, c128)
SHLO_CONVERT(i8, int8_t) SHLO_CONVERT(i16, int16_t) SHLO_CONVERT(i32, int32_t) SHLO_CONVERT(i64, int64_t)
SHLO_CONVERT(u8, uint8_t) SHLO_CONVERT(u16, uint16_t) SHLO_CONVERT(u32, uint32_t) SHLO_CONVERT(u64, uint64_t)

// Round to nearest even as if stored with fewer bits: overflow gives infinity, subnormals flush to zero. A type without
// mantissa bits has no NaN: there it becomes infinity, as in StableHLO's interpreter.
template <class F>
SHLO_DEVICE F reduce_precision(F x, int exponent_bits, int mantissa_bits) {
  typedef uint_t<F> U;
  constexpr int width = sizeof(F) * 8, mantissa = width == 32 ? 23 : 52, exponent = width - 1 - mantissa;
  U bits = as<U>(x);
  const U sign = bits & U(1) << (width - 1);
  if (const int drop = mantissa - mantissa_bits; drop > 0)
    bits = (bits + ((U(1) << (drop - 1)) - 1) + (bits >> drop & 1)) & ~((U(1) << drop) - 1);
  if (exponent_bits < exponent) {
    const U bias = (U(1) << (exponent - 1)) - 1, small = (U(1) << (exponent_bits - 1)) - 1;
    const U field = bits >> mantissa & ((U(1) << exponent) - 1);
    bits = field > bias + small ? sign | ((U(1) << exponent) - 1) << mantissa : bits;
    bits = field <= bias - small ? sign : bits;
  }
  if (x != x) return mantissa_bits > 0 ? x : as<F>(sign | ((U(1) << exponent) - 1) << mantissa);
  return as<F>(bits);
}
