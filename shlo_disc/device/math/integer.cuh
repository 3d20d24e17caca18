// Arithmetic that wraps, division, shifts, bit counts, order. Part of the vocabulary described in call/shlo.cuh.
#pragma once
#include "values/convert.cuh"

// Unsigned, because int could overflow; complex numbers have their own operators.
#define SHLO_WRAPPING(name, op, logic)                                            \
  template <class T>                                                              \
  SHLO_DEVICE T name(T a, T b) {                                                  \
    if constexpr (is_bool<T>) return a logic b;                                   \
    else if constexpr (is_real<T> || is_complex<T>) return a op b;                \
    else return (T)(1u * (uint_t<T>)a op(uint_t<T>) b);                           \
  }
SHLO_WRAPPING(add_, +, |) SHLO_WRAPPING(sub_, -, ^) SHLO_WRAPPING(mul_, *, &)

template <class T>
SHLO_DEVICE T neg_(T a) {
  if constexpr (is_bool<T>) return a;
  else if constexpr (is_real<T> || is_complex<T>) return -a;
  else return sub_(T(0), a);
}

// IEEE 754's maximum and minimum: NaN if either operand is NaN, and -0 < +0.
template <class A, class B>
SHLO_DEVICE common_t<A, B> max_(A x, B y) {
  typedef common_t<A, B> T;
  const T a = x, b = y;
  if constexpr (is_real<T>) {
    if (a == b) return as<T>((uint_t<T>)(as<uint_t<T>>(a) & as<uint_t<T>>(b)));
  }
  return b != b || (a == a && b > a) ? b : a;  // (of a complex number, one part may be NaN)
}
template <class A, class B>
SHLO_DEVICE common_t<A, B> min_(A x, B y) {
  typedef common_t<A, B> T;
  const T a = x, b = y;
  if constexpr (is_real<T>) {
    if (a == b) return as<T>((uint_t<T>)(as<uint_t<T>>(a) | as<uint_t<T>>(b)));
  }
  return b != b || (a == a && b < a) ? b : a;
}
#ifndef __CUDA_EMU__
SHLO_DEVICE float max_(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
SHLO_DEVICE float min_(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
#endif

template <class T>
SHLO_DEVICE T sign_(T a) {
  if constexpr (is_signed<T>) return a > T(0) ? T(1) : a < T(0) ? T(-1) : a;
  else return a > T(0) ? T(1) : a;
}

// x / 0 = -1 or all ones, MIN / -1 = MIN, x % 0 = x, MIN % -1 = 0.
template <class T>
SHLO_DEVICE T div_(T a, T b) {
  if constexpr (is_real<T> || is_complex<T>) return a / b;
  else {
    if (b == 0) return (T)-1;
    if (is_signed<T> && b == (T)-1) return neg_(a);
    return (T)(a / b);
  }
}
template <class T>
SHLO_DEVICE T rem_(T a, T b) {
  if constexpr (same<T, float>) return fmodf(a, b);
  else if constexpr (same<T, double>) return fmod(a, b);
  else return b == 0 ? a : sub_(a, mul_(div_(a, b), b));
}

// Division of sizes and indices rounds down; division by zero gives zero, because then there is no element to compute.
template <class A, class B>
SHLO_DEVICE common_t<A, B> floordiv(A x, B y) {
  const common_t<A, B> a = x, b = y;
  if (b == 0) return 0;
  const common_t<A, B> quotient = a / b, rest = a - quotient * b;
  return quotient - ((rest != 0) & ((rest ^ b) < 0));
}
template <class A, class B>
SHLO_DEVICE common_t<A, B> mod(A x, B y) {
  const common_t<A, B> a = x, b = y;
  if (b == 0) return 0;
  const common_t<A, B> rest = a % b;
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

// Shifts by `width` or more (as unsigned) give 0, or the sign.
template <class T>
SHLO_DEVICE T shl(T a, T distance) {
  constexpr uint_t<T> width = sizeof(T) * 8;
  const uint_t<T> by = (uint_t<T>)distance;
  return by < width ? (T)(1u * (uint_t<T>)a << by) : T(0);
}
template <class T>
SHLO_DEVICE T shr_l(T a, T distance) {
  constexpr uint_t<T> width = sizeof(T) * 8;
  const uint_t<T> by = (uint_t<T>)distance;
  return by < width ? (T)((uint_t<T>)a >> by) : T(0);
}
template <class T>
SHLO_DEVICE T shr_a(T a, T distance) {
  constexpr uint_t<T> width = sizeof(T) * 8;
  const uint_t<T> by = (uint_t<T>)distance;
  return (T)((sint_t<T>)a >> (by < width ? by : width - 1));
}

template <class T> SHLO_DEVICE T popcnt(T a) { return (T)count_ones((uint_t<T>)a); }
template <class T>
SHLO_DEVICE T clz(T a) {
  return (T)(count_zeros((uint_t<T>)a) - (64 - (int)sizeof(T) * 8));
}

template <class T>
SHLO_DEVICE T power(T a, T b) {
  if (b < 0) return a == 1 ? T(1) : a == (T)-1 ? T(b & 1 ? -1 : 1) : T(0);
  T result = 1;
  for (uint_t<T> left = b; left; left >>= 1) {
    if (left & 1) result = mul_(result, a);
    a = mul_(a, a);
  }
  return result;
}

// IEEE total order: -NaN < -inf < .. < -0 < +0 < .. < NaN.
template <class T>
SHLO_DEVICE auto total_key(T x) {
  if constexpr (is_real<T>) {
    const sint_t<T> bits = as<sint_t<T>>(x), sign = bits >> (sizeof(T) * 8 - 1);
    return (sint_t<T>)((uint_t<T>)bits ^ (uint_t<T>)sign >> 1);
  } else return x;
}
#define SHLO_TOTAL(name) \
  template <class T> SHLO_DEVICE bool t_##name(T a, T b) { return name(total_key(a), total_key(b)); }
SHLO_TOTAL(eq) SHLO_TOTAL(ne) SHLO_TOTAL(lt) SHLO_TOTAL(le) SHLO_TOTAL(gt) SHLO_TOTAL(ge)
