// Polynomial functions of f32, scalar or 16 lanes. Part of the vocabulary described in values/vec.h.
#pragma once
#include "math/double.h"

template <class F> SHLO_INLINE F at_least(F x, float bound) { F b = splat<F>(bound); return x < b ? b : x; }
template <class F> SHLO_INLINE F at_most(F x, float bound) { F b = splat<F>(bound); return x > b ? b : x; }

// x * 2^n for a whole n; rounds once, also to subnormals.
template <class F>
SHLO_INLINE F scale(F x, F n) {
#ifdef SHLO_AVX512
  if constexpr (same<F, f32v>) return __builtin_ia32_scalefps512_mask(x, n, x, (uint16_t)-1, 4);
#endif
  typedef sint_t<F> I;
  typedef uint_t<F> U;  // for NaNs, i is arbitrary, and signed shifts could overflow
  I i = bits_above((F)(n + 12582912.f), 0x4B400000), half = i >> 1;  // 1.5 * 2^23: its low bits hold n
  return times((F)(x * as<F>((U)((U)(half + 127) << 23))), as<F>((U)((U)(i - half + 127) << 23)));
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
#ifdef SHLO_AVX512
// exp(x) = 2^floor(n) 2^(n - floor(n)) exp(r), n a multiple of 1/16, |r| <= ln(2)/32: a register holds the powers, and
// the polynomial needs three terms less. 9 instructions on the multipliers instead of 13: r is clamped (once, which
// drops NaNs) instead of x (twice). n is not clamped: it scales any number between 1 and 6 to 0 or infinity, and
// propagates NaN.
constexpr float SHLO_EXP_16[16] = {1.f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f,
                                   1.29683959f, 1.35425556f, 1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,
                                   1.68179286f, 1.75625217f, 1.8340081f, 1.91520655f};  // 2^(k / 16)
SHLO_INLINE f32v no_larger_than_one(f32v x) {
  const int smaller_size_sign_of_first = 2;
  return __builtin_ia32_rangeps512_mask(x, splat_f32(1.f), smaller_size_sign_of_first, x, (uint16_t)-1, 4);
}
template <class F>
SHLO_INLINE F exp_f32(F x) {
  if constexpr (is_scalar<F>) x = at_most(at_least(x, -104.f), 89.f);
  F shifted = x * 1.44269504f + 786432.f, n = shifted - 786432.f;  // 1.5 * 2^19: its low bits hold sixteenths
  F r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  if constexpr (!is_scalar<F>) r = no_larger_than_one(r);
  F power = looked_up<F>(SHLO_EXP_16, as<sint_t<F>>(shifted)), p = (r * 1.6666667e-1f + 0.5f) * r + 1.f;
  if constexpr (is_scalar<F>) n = __builtin_floorf(n);  // for vectors, scale rounds n down
  return scale<F>(power + power * (r * p), n);
}
#else
template <class F>
SHLO_INLINE F exp_f32(F x) {
  Reduced<F> e = reduce_exp(at_most(at_least(x, -104.f), 89.f));
  return scale<F>(exp_tail(e.r) * (e.r * e.r) + e.r + 1.f, e.n);
}
#endif
template <class F>
SHLO_INLINE F expm1_f32(F x) {
  Reduced<F> e = reduce_exp(at_most(at_least(x, -20.f), 89.f));
  F p = exp_tail(e.r) * (e.r * e.r) + e.r;
  F half = scale<F>(splat<F>(0.5f), e.n);  // half of 2^n, which may be beyond the largest float
  F y = (p * half + (half - 0.5f)) * 2.f;
  return e.n == splat<F>(0) ? (x == splat<F>(0) ? x : p) : y;
}
// exp(-|x|) does not overflow.
template <class F>
SHLO_INLINE F logistic_f32(F x) {
  F e = exp_f32((F)-abs_(x));
  return (x < splat<F>(0) ? e : splat<F>(1)) / (1.f + e);
}
// The sign of `from` on a magnitude.
template <class F>
SHLO_INLINE F signed_as(F magnitude, F from) {
  typedef uint_t<F> U;
  return as<F>((U)(as<U>(magnitude) | (as<U>(from) & 0x80000000u)));
}
// e / (e + 2), e = exp(2 |x|) - 1: rational functions of x^2 are as fast, but have errors of 6 ulp near 1.
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
  I i = bits_above(x < tiny ? (F)(x * 8388608.f) : x, 0x3f3504f3);
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
  F y = p * f * z + times(e, splat<F>(-2.12194440e-4f)) - 0.5f * z;
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
// A polynomial around the nearest of 16 points; around 0 it is odd, and approximates erf(x) - x. In f32, erf(4) is 1.
constexpr float SHLO_ERF_0[16] = {SHLO_ERF_PIECES_0}, SHLO_ERF_1[16] = {SHLO_ERF_PIECES_1},
                SHLO_ERF_2[16] = {SHLO_ERF_PIECES_2}, SHLO_ERF_3[16] = {SHLO_ERF_PIECES_3},
                SHLO_ERF_4[16] = {SHLO_ERF_PIECES_4}, SHLO_ERF_5[16] = {SHLO_ERF_PIECES_5},
                SHLO_ERF_LINE[16] = {1};  // a table, since a select would keep gcc from contracting the last FMA
template <class F>
SHLO_INLINE F erf_f32(F x) {
  typedef sint_t<F> I;
  F a = at_most(abs_(x), 4.f), whole = a * (1.f / SHLO_ERF_STEP) + 12582912.f;
  I piece = as<I>(whole);
  F t = a - (whole - 12582912.f) * SHLO_ERF_STEP, y = looked_up<F>(SHLO_ERF_5, piece);
  y = y * t + looked_up<F>(SHLO_ERF_4, piece);
  y = y * t + looked_up<F>(SHLO_ERF_3, piece);
  y = y * t + looked_up<F>(SHLO_ERF_2, piece);
  y = y * t + looked_up<F>(SHLO_ERF_1, piece);
  y = y * t + (t * looked_up<F>(SHLO_ERF_LINE, piece) + looked_up<F>(SHLO_ERF_0, piece));
  return signed_as<F>(y, x);
}

// As in double; the square is split into an exact product of 12-bit numbers, and the rest.
template <class F>
SHLO_INLINE F erfc_f32(F x) {
  F a = at_most(abs_(x), 10.25f), s = a * a;
  F head = as<F>((uint_t<F>)(as<uint_t<F>>(a) & 0xfffff000u));
  Reduced<F> e = reduce_exp((F)-(head * head));
  F r = e.r + (head - a) * (head + a);
  F power = scale<F>(exp_tail(r) * (r * r) + r + 1.f, e.n);
  F tail = horner((F)((a - 4.f) / (a + 4.f)), SHLO_ERFC_SINGLE) * power / (a * 2.f + 1.f);
  F small = s * -5.96761703e-4f + 4.99119423e-3f;
  small = small * s - 2.67681349e-2f;
  small = small * s + 1.12819925e-1f;
  small = small * s - 3.76125336e-1f;
  small = small * s + 1.28379166e-1f;
  F far = x < splat<F>(0) ? (F)(2.f - tail) : tail;
  return x != x ? x : a < splat<F>(0.5f) ? (F)(1.f - (small * x + x)) : far;
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
  I turn = bits_above((F)(n + 12582912.f), 0x4B400000) + quarter;
  F s = r * r;
  F sine = s * -1.9515295891e-4f + 8.3321608736e-3f;
  sine = sine * s - 1.6666654611e-1f;
  sine = times((F)(sine * s + 1.f), r);  // not r + ..: -0 stays -0
  F cosine = s * 2.443315711809948e-5f - 1.388731625493765e-3f;
  cosine = cosine * s + 4.166664568298827e-2f;
  cosine = (cosine * s - 0.5f) * s + 1.f;
  F y = (turn & 1) != I{} ? cosine : sine;
  return as<F>((I)(as<I>(y) ^ (turn & 2) << 30));
}
#ifdef SHLO_CONTRACTS
constexpr float SHLO_EXACT_TURNS_F32 = 117435.f;
#else
constexpr float SHLO_EXACT_TURNS_F32 = 8192.f;  // n times the leading part of pi/2 has to fit 24 bits
#endif
template <class F> SHLO_INLINE F sin_f32(F x) { return sine_f32(x, 0); }
template <class F> SHLO_INLINE F cos_f32(F x) { return sine_f32(x, 1); }
