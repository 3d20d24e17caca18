// Functions of floats: polynomials of our own where speed matters, the C library lane by lane where it does not.
// Part of the vocabulary described in vec.h. Errors are measured in tests/prelude.
#pragma once
#include "complex.h"
#include "small.h"

// ---- the C library ---------------------------------------------------------------------------------------------------

template <class V, class Fn>
SHLO_INLINE V lane_by_lane(V v, Fn fn) {
  if constexpr (is_scalar<V>) return fn(v);
  else {
    elem_t<V> x[16];
    __builtin_memcpy(x, &v, sizeof v);
    for (int i = 0; i < Type<V>::lanes; i++) x[i] = fn(x[i]);
    __builtin_memcpy(&v, x, sizeof v);
    return v;
  }
}
#define SHLO_LIBRARY(name, function)                                                                                \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (same<elem_t<V>, float>) return lane_by_lane(v, [](float x) { return __builtin_##function##f(x); });  \
    else return lane_by_lane(v, [](double x) { return __builtin_##function(x); });                                  \
  }
// `large` keeps the code of a rarely taken path out of the loops that it is part of.
#define SHLO_LARGE(name, function)                                                                                  \
  static __attribute__((noinline, cold, unused)) void name(float* x, int64_t n) {                                   \
    for (int64_t i = 0; i < n; i++) x[i] = __builtin_##function##f(x[i]);                                           \
  }
SHLO_LIBRARY(library_exp, exp) SHLO_LIBRARY(library_expm1, expm1) SHLO_LIBRARY(library_log, log)
SHLO_LIBRARY(library_log1p, log1p) SHLO_LIBRARY(library_tanh, tanh) SHLO_LIBRARY(library_sin, sin)
SHLO_LIBRARY(library_cos, cos) SHLO_LIBRARY(library_erf, erf)
SHLO_LARGE(large_sin, sin) SHLO_LARGE(large_cos, cos)
SHLO_LIBRARY(tan_, tan) SHLO_LIBRARY(cbrt_, cbrt)

// ---- rounding, roots -------------------------------------------------------------------------------------------------

#if defined(SHLO_AVX512) && !defined(__clang__)
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (same<V, f32v>) return __builtin_ia32_rndscaleps_mask(v, how, v, (uint16_t)-1, 4);                  \
    else if constexpr (same<V, f64h>) return __builtin_ia32_rndscalepd_mask(v, how, v, (uint8_t)-1, 4);              \
    else if constexpr (is_pair<V>) return V{name(v.lo), name(v.hi)};                                                \
    else if constexpr (same<V, float>) return __builtin_##function##f(v);                                           \
    else return __builtin_##function(v);                                                                            \
  }
#elif defined(__clang__)
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (is_pair<V>) return V{name(v.lo), name(v.hi)};                                                     \
    else return __builtin_elementwise_##function(v);                                                                \
  }
#else
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (same<elem_t<V>, float>) return lane_by_lane(v, [](float x) { return __builtin_##function##f(x); });  \
    else return lane_by_lane(v, [](double x) { return __builtin_##function(x); });                                  \
  }
#endif
SHLO_ROUNDING(floor_, floor, 9) SHLO_ROUNDING(ceil_, ceil, 10) SHLO_ROUNDING(trunc_, trunc, 11)
SHLO_ROUNDING(round_even, rint, 8)

template <class V>
SHLO_INLINE V round_afz(V v) {
  typedef uint_t<V> U;
  typedef elem_t<U> W;
  // The largest number below a half, with the sign of v: adding a half itself would carry from 0.5 - ulp.
  constexpr elem_t<V> below_half = sizeof(W) == 4 ? elem_t<V>(0x1.fffffep-2) : elem_t<V>(0x1.fffffffffffffp-2);
  U sign = as<U>(v) & (W)(W(1) << (sizeof(W) * 8 - 1));
  return trunc_(v + as<V>(as<U>(splat<V>(below_half)) | sign));
}
template <class V>
SHLO_INLINE V sqrt_(V v) {
  if constexpr (is_pair<V>) return V{sqrt_(v.lo), sqrt_(v.hi)};
#if defined(__clang__)
  else return __builtin_elementwise_sqrt(v);
#else
#ifdef SHLO_AVX512
  else if constexpr (same<V, f32v>) return __builtin_ia32_sqrtps512_mask(v, v, (uint16_t)-1, 4);
  else if constexpr (same<V, f64h>) return __builtin_ia32_sqrtpd512_mask(v, v, (uint8_t)-1, 4);
#endif
  else if constexpr (same<elem_t<V>, float>) return lane_by_lane(v, [](float x) { return __builtin_sqrtf(x); });
  else return lane_by_lane(v, [](double x) { return __builtin_sqrt(x); });
#endif
}
template <class V> SHLO_INLINE V rsqrt_(V v) { return elem_t<V>(1) / sqrt_(v); }
template <class V> SHLO_INLINE mask_t<V> is_finite(V v) { return eq((V)(v - v), splat<V>(0)); }

// ---- f32 -------------------------------------------------------------------------------------------------------------

template <class F> SHLO_INLINE F at_least(F x, float bound) { F b = splat<F>(bound); return x < b ? b : x; }
template <class F> SHLO_INLINE F at_most(F x, float bound) { F b = splat<F>(bound); return x > b ? b : x; }

// x * 2^n for a whole n; rounds once, also to subnormals.
template <class F>
SHLO_INLINE F scale(F x, F n) {
#ifdef SHLO_AVX512
  if constexpr (same<F, f32v>) return __builtin_ia32_scalefps512_mask(x, n, x, (uint16_t)-1, 4);
#endif
  typedef sint_t<F> I;
  I i = as<I>((F)(n + 12582912.f)) - 0x4B400000, half = i >> 1;  // 1.5 * 2^23: its low bits hold n
  return x * as<F>((I)((half + 127) << 23)) * as<F>((I)((i - half + 127) << 23));
}

// exp(x) = 2^n exp(r), |r| <= ln(2)/2.
template <class F>
struct Reduced {
  F n, r;
};
template <class F>
SHLO_INLINE Reduced<F> reduce_exp(F x) {
  F n = (x * 1.44269504f + 12582912.f) - 12582912.f;
  F r = x - n * 0.693359375f;
  return {n, r + n * 2.12194440e-4f};
}
// (exp(r) - 1 - r) / r^2
template <class F>
SHLO_INLINE F exp_tail(F r) {
  F p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}
template <class F>
SHLO_INLINE F exp_f32(F x) {
  Reduced<F> e = reduce_exp(at_most(at_least(x, -104.f), 89.f));
  return scale<F>(exp_tail(e.r) * (e.r * e.r) + e.r + 1.f, e.n);
}
template <class F>
SHLO_INLINE F expm1_f32(F x) {
  Reduced<F> e = reduce_exp(at_most(at_least(x, -20.f), 89.f));
  F p = exp_tail(e.r) * (e.r * e.r) + e.r;
  F half = scale<F>(splat<F>(0.5f), e.n);  // half of 2^n, which may be beyond the largest float
  F y = (p * half + (half - 0.5f)) * 2.f;
  return e.n == splat<F>(0) ? (x == splat<F>(0) ? x : p) : y;
}
template <class F>
SHLO_INLINE F logistic_f32(F x) {
  return 1.f / (1.f + exp_f32((F)-x));
}
// The sign of `from` on a magnitude.
template <class F>
SHLO_INLINE F signed_as(F magnitude, F from) {
  typedef uint_t<F> U;
  return as<F>((U)(as<U>(magnitude) | (as<U>(from) & 0x80000000u)));
}
// e / (e + 2), e = exp(2 |x|) - 1: rationals in x^2 are as fast, but lose 6 ulp where they are near 1.
template <class F>
SHLO_INLINE F tanh_f32(F x) {
  F size = at_most(abs_(x), 10.f);
  Reduced<F> e = reduce_exp((F)(size + size));
  F p = exp_tail(e.r) * (e.r * e.r) + e.r, power = scale<F>(splat<F>(1.f), e.n);
  F grown = p * power + (power - 1.f);
  return signed_as<F>(grown / (grown + 2.f), x);
}
// log(m 2^e), m in [sqrt(1/2), sqrt(2)).
template <class F>
SHLO_INLINE F log_f32(F x) {
  typedef sint_t<F> I;
  F tiny = splat<F>(1.17549435e-38f);
  I i = as<I>(x < tiny ? (F)(x * 8388608.f) : x) - 0x3f3504f3;
  F e = convert<float>((I)(i >> 23)) - (x < tiny ? splat<F>(23.f) : splat<F>(0.f));
  F f = as<F>((I)((i & 0x7fffff) + 0x3f3504f3)) - 1.f, z = f * f;
  F p = f * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  F y = p * f * z + e * -2.12194440e-4f - 0.5f * z;
  y = f + y + e * 0.693359375f;
  F infinity = splat<F>(__builtin_inff());
  y = x == splat<F>(0) ? (F)-infinity : y;
  y = x >= splat<F>(0) ? y : splat<F>(__builtin_nanf(""));
  return x == infinity ? x : y;
}
// log(u) + (x - (u - 1)) / u corrects the rounding of u = 1 + x.
template <class F>
SHLO_INLINE F log1p_f32(F x) {
  F u = 1.f + x, one = splat<F>(1.f), zero = splat<F>(0.f);
  F correction = (x - (u - 1.f)) / u;
  F y = log_f32(u);
  y = ((u - u == zero) & (u != zero)) ? (F)(y + correction) : y;
  return u == one ? x : y;
}
// Near 0 a polynomial; else 1 - exp(polynomial), after N. Juffa.
template <class F>
SHLO_INLINE F erf_f32(F x) {
  F t = at_most(abs_(x), 4.f), s = t * t;
  F small = s * -5.96761703e-4f + 4.99119423e-3f;
  small = small * s - 2.67681349e-2f;
  small = small * s + 1.12819925e-1f;
  small = small * s - 3.76125336e-1f;
  small = small * s + 1.28379166e-1f;
  small = small * t + t;
  F r = (t * -1.72853470e-5f + 3.83197126e-4f) * s + (t * -3.88396438e-3f + 2.42546219e-2f);
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  Reduced<F> e = reduce_exp(r);
  F large = 1.f - scale<F>(exp_tail(e.r) * (e.r * e.r) + e.r + 1.f, e.n);
  return signed_as<F>(t > splat<F>(0.927734375f) ? large : small, x);
}

// sin and cos on |r| <= pi/4 of x = n pi/2 + r; `quarter` turns a sine into a cosine.
template <class F>
SHLO_INLINE F sine_f32(F x, int quarter) {
  typedef sint_t<F> I;
  F n = (x * 0.636619772f + 12582912.f) - 12582912.f;
  F r = x - n * 1.5703125f;
  r = r - n * 0.0004837512969970703f;  // all parts positive: -0 stays -0
  r = r - n * 7.549533620476723e-08f;
  r = r - n * 2.5633440682570896e-12f;
  I turn = (as<I>((F)(n + 12582912.f)) - 0x4B400000) + quarter;
  F s = r * r;
  F sine = s * -1.9515295891e-4f + 8.3321608736e-3f;
  sine = sine * s - 1.6666654611e-1f;
  sine = (sine * s + 1.f) * r;  // not r + ..: -0 stays -0
  F cosine = s * 2.443315711809948e-5f - 1.388731625493765e-3f;
  cosine = cosine * s + 4.166664568298827e-2f;
  cosine = cosine * s * s - 0.5f * s + 1.f;
  F y = (turn & 1) != I{} ? cosine : sine;
  return as<F>((I)(as<I>(y) ^ (turn & 2) << 30));
}
template <class F>
SHLO_INLINE F sine_any_f32(F x, int quarter) {
  F y = sine_f32(x, quarter);
#ifdef __FMA__
  constexpr float exact = 117435.f;
#else
  constexpr float exact = 8192.f;  // n times the leading part of pi/2 has to fit 24 bits
#endif
  mask_t<F> large = gt(abs_(x), splat<F>(exact));
  if constexpr (is_scalar<F>) {
    if (large) (quarter ? large_cos : large_sin)(&(y = x), 1);
  } else if (__builtin_expect(hor(large), 0)) {
    float lane[16];
    store(lane, x);
    (quarter ? large_cos : large_sin)(lane, 16);
    y = select(large, load(lane), y);
  }
  return y;
}
template <class F> SHLO_INLINE F sin_f32(F x) { return sine_any_f32(x, 0); }
template <class F> SHLO_INLINE F cos_f32(F x) { return sine_any_f32(x, 1); }

#define SHLO_FUNCTION(name)                                                                  \
  template <class V> SHLO_INLINE V name##_(V v) {                                            \
    if constexpr (same<elem_t<V>, float>) return name##_f32(v);                              \
    else if constexpr (is_pair<V>) return V{name##_f64(v.lo), name##_f64(v.hi)};             \
    else return name##_f64(v);                                                               \
  }
#define exp_f64 library_exp
#define expm1_f64 library_expm1
#define log_f64 library_log
#define log1p_f64 library_log1p
#define tanh_f64 library_tanh
#define sin_f64 library_sin
#define cos_f64 library_cos
#define erf_f64 library_erf
template <class F> SHLO_INLINE F logistic_f64(F x) { return 1.0 / (1.0 + exp_f64((F)-x)); }
SHLO_FUNCTION(exp) SHLO_FUNCTION(expm1) SHLO_FUNCTION(log) SHLO_FUNCTION(log1p) SHLO_FUNCTION(logistic)
SHLO_FUNCTION(tanh) SHLO_FUNCTION(sin) SHLO_FUNCTION(cos) SHLO_FUNCTION(erf)

// ---- two arguments ---------------------------------------------------------------------------------------------------

template <class V>
SHLO_INLINE V atan2_(V a, V b) {
  typedef elem_t<V> E;
  if constexpr (same<E, float>) return per_lane(a, b, [](E x, E y) { return __builtin_atan2f(x, y); });
  else return per_lane(a, b, [](E x, E y) { return __builtin_atan2(x, y); });
}
template <class V>
SHLO_INLINE V pow_(V a, V b) {
  typedef elem_t<V> E;
  if constexpr (same<E, float>) return per_lane(a, b, [](E x, E y) { return __builtin_powf(x, y); });
  else if constexpr (same<E, double>) return per_lane(a, b, [](E x, E y) { return __builtin_pow(x, y); });
  else return per_lane(a, b, [](E x, E y) { return power(x, y); });
}
