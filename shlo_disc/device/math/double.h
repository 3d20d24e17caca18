// Polynomial functions of doubles; D is one double or a register of eight. Arguments are reduced, and the
// terms ordered, as in fdlibm (Sun Microsystems, 1993); the polynomials are in math/coefficients.h.
// Part of the vocabulary described in values/vec.h.
#pragma once
#include "values/lookup.h"
#include "math/roots.h"
#define SHLO_OUTLINE static __attribute__((noinline, unused))
#include "math/parts.h"

SHLO_INLINE double inf_f64() { return __builtin_inf(); }
SHLO_INLINE double nan_f64() { return __builtin_nan(""); }

// Whether a comparison holds for some lane.
template <class M>
SHLO_INLINE bool some(M mask) {
  if constexpr (sizeof(M) <= sizeof(int)) return mask;
  else if constexpr (sizeof(mask[0]) == 8) return hor(maskv{join(narrow((i64h)mask), narrow((i64h)mask))});
  else return hor(maskv{(i32v)mask});
}

// Adding 1.5 * 2^52 rounds to a whole number, which is then in the low bits.
constexpr double SHLO_WHOLE = 0x1.8p52;
template <class D> SHLO_INLINE D nearest_whole(D x) { return (x + SHLO_WHOLE) - SHLO_WHOLE; }
template <class D> SHLO_INLINE sint_t<D> whole_bits(D n) { return bits_above((D)(n + SHLO_WHOLE), 0x4338000000000000); }
template <class D> SHLO_INLINE D from_bits(sint_t<D> n) { return as<D>((sint_t<D>)(n + 0x4338000000000000)) - SHLO_WHOLE; }

// x * 2^n for a whole n; rounds once, also to subnormals. Like all products that functions return, the last one is
// never contracted into a sum of the caller's: it overflows to an infinity, which minus an infinity is NaN.
template <class D>
SHLO_INLINE D scale_f64(D x, D n) {
#ifdef SHLO_AVX512
  if constexpr (same<D, f64h>) return __builtin_ia32_scalefpd512_mask(x, n, x, (uint8_t)-1, 4);
#endif
  typedef sint_t<D> I;
  typedef uint_t<D> U;  // for NaNs, i is arbitrary, and signed shifts could overflow
  I i = whole_bits(n), half = i >> 1;
  return times((D)(x * as<D>((U)((U)(half + 1023) << 52))), as<D>((U)((U)(i - half + 1023) << 52)));
}

// ---- exponentials ----------------------------------------------------------------------------------------------------

// exp(x + lost) = 2^n (1 + r + tail + rest), |r| <= ln(2)/2; `rest`: rounding error of r.
template <class D>
struct Exponential {
  D n, r, tail, rest;
};
template <class D>
SHLO_INLINE Exponential<D> split_exp(D x, double low, double high, D lost = D{}) {
  x = x < splat<D>(low) ? splat<D>(low) : x;
  x = x > splat<D>(high) ? splat<D>(high) : x;
  D n = nearest_whole((D)(x * 1.4426950408889634));
  D most = x - n * 6.93147180369123816490e-01, less = n * 1.90821492927058770002e-10 - lost, r = most - less;
  return {n, r, r * r * horner(r, SHLO_EXP), (most - r) - less};
}
template <class D>
SHLO_INLINE D exp_f64(D x) {
  Exponential<D> e = split_exp(x, -746, 710);
  return scale_f64<D>(e.tail + e.r + 1.0, e.n);
}
// exp(x) / 2, which does not overflow where cosh does not.
template <class D>
SHLO_INLINE D half_exp(D x) {
  Exponential<D> e = split_exp(x, -746, 711);
  return scale_f64<D>(e.tail + e.r + 1.0, e.n - 1.0);
}
template <class D>
SHLO_INLINE D expm1_f64(D x) {
  Exponential<D> e = split_exp(x, -40, 710);
  D p = e.tail + e.r, half = scale_f64<D>(splat<D>(0.5), e.n);  // half of 2^n, which may be beyond the largest double
  D y = (p * half + (half - 0.5)) * 2.0;
  return e.n == splat<D>(0) ? (x == splat<D>(0) ? x : p) : y;
}
// exp of the split argument, without 2^n, to some 57 bits.
template <class D>
SHLO_INLINE Parts<D> exp_parts(Exponential<D> e) {
  Parts<D> sum = sum_of_parts(splat<D>(1), e.r);
  return sum_of_parts(sum.head, (D)(sum.rest + (e.tail + e.rest)));
}
// exp(-|x|) does not overflow.
template <class D>
SHLO_INLINE D logistic_f64(D x) {
  Exponential<D> e = split_exp((D)-abs_(x), -746, 0);
  Parts<D> power = exp_parts(e), one = {splat<D>(1), splat<D>(0)};
  Parts<D> small = {scale_f64<D>(power.head, e.n), scale_f64<D>(power.rest, e.n)};
  Parts<D> sum = sum_of_parts(one.head, small.head);
  auto negative = x < splat<D>(0);
  Parts<D> over = {negative ? small.head : one.head, negative ? small.rest : one.rest};
  return quotient(over, Parts<D>{sum.head, (D)(sum.rest + small.rest)});
}
// Near 0, a + a z p(z) / q(z); else 1 - 2 / (exp(2a) + 1): one quotient. exp(2a) = 2^(k / 16) exp(2u), |u| <= ln(2) / 64.
constexpr int64_t SHLO_POWER_BITS[16] = {SHLO_POWERS};
template <class D>
SHLO_INLINE D tanh_f64(D x) {
  typedef sint_t<D> I;
  typedef uint_t<D> U;
  D a = abs_(x);
  a = a > splat<D>(20) ? splat<D>(20) : a;
  D z = a * a, whole = a * 46.166241308446829 + SHLO_WHOLE, k = whole - SHLO_WHOLE;  // k is in its low bits
  D u = a - k * 2.16608493924965731e-02 - k * 1.71810094334636603e-15;
  I bits = as<I>(whole);
  D power = as<D>((U)((U)looked_up<I>(SHLO_POWER_BITS, bits) + ((U)bits << 48)));
  D under = power * u * horner(u, SHLO_EXP_STEP) + (power + 1.0);
  auto small = a < splat<D>(0.625);
  D over = small ? (D)(a * z * horner(z, SHLO_TANH_OVER)) : splat<D>(-2);
  under = small ? horner(z, SHLO_TANH_UNDER) : under;
  return signed_like((D)((small ? a : splat<D>(1)) + over / under), x);
}
template <class D>
SHLO_INLINE D sinh_f64(D x) {
  D a = abs_(x), z = a * a, e = half_exp(a);
  D y = a < splat<D>(1) ? (D)(a + a * z * horner(z, SHLO_SINH)) : (D)(e - 0.25 / e);
  return x != x ? x : signed_like(y, x);
}
template <class D>
SHLO_INLINE D cosh_f64(D x) {
  D e = half_exp(abs_(x));
  return e + 0.25 / e;
}

// A third of the exponent, a polynomial to 23 bits, and a Newton step, exact but for its end (FreeBSD, s_cbrt.c).
template <class D>
SHLO_INLINE D cbrt_f64(D x) {
  typedef sint_t<D> I;
  D a = abs_(x), zero = splat<D>(0);
  auto tiny = a < splat<D>(0x1p-1022);
  D size = tiny ? (D)(a * 0x1p54) : a;
  D t = as<D>((I)((((as<I>(size) >> 32) * 0x55555556 >> 32) + 715094163) << 32));
  D r = (t * t) * (t / size);
  t = t * horner(r, 1.87595182427177009643, -1.88497979543377169875, 1.621429720105354466140, -0.758397934778766047437,
                 0.145996192886612446982);
  t = as<D>((I)((as<I>(t) + 0x80000000) & -0x40000000));
  r = size / (t * t);
  t = t + t * ((r - t) / (t + t + r));
  t = tiny ? (D)(t * 0x1p-18) : t;
  return ((a == zero) | (a - a != zero)) ? x : signed_like(t, x);
}

// ---- logarithms ------------------------------------------------------------------------------------------------------

// log(x), x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); `more` is added to the small terms.
template <class D>
SHLO_INLINE D log_with(D x, D more) {
  typedef sint_t<D> I;
  auto tiny = x < splat<D>(0x1p-1022);
  I i = bits_above(tiny ? (D)(x * 0x1p54) : x, 0x3fe6a09e667f3bcd);
  D k = from_bits<D>(i >> 52) - (tiny ? splat<D>(54) : splat<D>(0));
  D f = as<D>((I)((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)) - 1.0;
  D s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
  D small = s * (half + z * horner(z, SHLO_LOG)) + (k * 1.90821492927058770002e-10 + more);
  return k * 6.93147180369123816490e-01 - ((half - small) - f);
}
template <class D>
SHLO_INLINE D log_f64(D x) {
  D infinity = splat<D>(inf_f64()), zero = splat<D>(0);
  D y = log_with(x, zero);
  y = x == zero ? (D)-infinity : y;
  y = x >= zero ? y : splat<D>(nan_f64());
  return x == infinity ? x : y;
}
// log(u) + c / u, where c is the rounding error of u = 1 + x.
template <class D>
SHLO_INLINE D log1p_f64(D x) {
  D u = x + 1.0, infinity = splat<D>(inf_f64()), one = splat<D>(1);
  D lost = x > one ? (D)(1.0 - (u - x)) : (D)(x - (u - 1.0));
  D y = log_with(u, (D)(lost / u));
  y = x == splat<D>(-1) ? (D)-infinity : y;
  y = x >= splat<D>(-1) ? y : splat<D>(nan_f64());
  return ((x == infinity) | (x == splat<D>(0))) ? x : y;
}
template <class D>
SHLO_INLINE D asinh_f64(D x) {
  D a = abs_(x), z = a * a;
  auto huge = a > splat<D>(0x1p60);
  D y = log1p_f64(huge ? a : (D)(a + z / (sqrt_((D)(z + 1.0)) + 1.0)));
  return signed_like(huge ? (D)(y + 0.6931471805599453) : y, x);
}
template <class D>
SHLO_INLINE D acosh_f64(D x) {
  D t = x - 1.0;
  auto huge = x > splat<D>(0x1p60);
  D y = log1p_f64(huge ? x : (D)(t + sqrt_((D)(t * t + (t + t)))));
  y = huge ? (D)(y + 0.6931471805599453) : y;
  return x >= splat<D>(1) ? y : splat<D>(nan_f64());
}
template <class D>
SHLO_INLINE D atanh_f64(D x) {
  D a = abs_(x), t = a + a;
  D y = log1p_f64((D)(t + t * a / (1.0 - a))) * 0.5;
  return x != x ? x : signed_like(a <= splat<D>(1) ? y : splat<D>(nan_f64()), x);
}

// ---- circles ---------------------------------------------------------------------------------------------------------

// x = n pi/2 + r, |r| <= pi/4, and the rounding error of r; |x| <= SHLO_EXACT_TURNS: n times each part of pi/2 is
// exact.
constexpr double SHLO_EXACT_TURNS = 1e6;
template <class D>
struct Turned {
  sint_t<D> n;
  D sine, cosine, sine_lost, cosine_lost;  // of r, rounded, and their rounding errors
};
template <class D>
SHLO_INLINE Turned<D> turned(D x) {
  D n = nearest_whole((D)(x * 0.63661977236758134));
  D first = x - n * 1.57079632673412561417e+00;
  D second = n * 6.07710050630396597660e-11, r = first - second;
  D lost = (first - r) - second - n * 2.02226624871116645580e-21;
  D y = r + lost, z = y * y, half = z * 0.5, rest = 1.0 - half;
  lost = (r - y) + lost;
  D sine_tail = y * z * horner(z, SHLO_SIN) + lost, sine = y + sine_tail;
  D cosine_tail = ((1.0 - rest) - half) + (z * z * horner(z, SHLO_COS) - times(y, lost)), cosine = rest + cosine_tail;
  D sine_lost = sine_tail - (sine - y), cosine_lost = cosine_tail - (cosine - rest);
  return {whole_bits(n), x == splat<D>(0) ? x : sine, cosine, sine_lost, cosine_lost};
}
template <class D>
SHLO_INLINE D sine_f64(D x, int quarter) {
  typedef sint_t<D> I;
  Turned<D> t = turned(x);
  I n = t.n + quarter;
  D y = (n & 1) != I{} ? t.cosine : t.sine;
  return as<D>((I)(as<I>(y) ^ (n & 2) << 62));
}
template <class D> SHLO_INLINE D sin_f64(D x) { return sine_f64(x, 0); }
template <class D> SHLO_INLINE D cos_f64(D x) { return sine_f64(x, 1); }
template <class D>
SHLO_INLINE D tan_f64(D x) {
  typedef sint_t<D> I;
  Turned<D> t = turned(x);
  auto odd = (t.n & 1) != I{};
  D over = odd ? (D)-t.cosine : t.sine, under = odd ? t.sine : t.cosine, y = over / under;
  D more = (odd ? (D)-t.cosine_lost : t.sine_lost) - y * (odd ? t.sine_lost : t.cosine_lost);
  return x == splat<D>(0) ? x : (D)(y + more / under);
}

// atan(y / x) for y, x >= 0, not both 0 nor infinite: by the nearest of 0, 1/2, 1, 3/2 and infinity.
template <class D>
SHLO_INLINE D angle(D y, D x) {
  D zero = splat<D>(0), over = y, under = x, high = zero, low = zero;
  auto from = [&](double ratio, double times_x, double times_y, double angle, double rest) {
    auto beyond = y > (D)(x * ratio);
    over = beyond ? (D)(y * times_x - times(x, splat<D>(times_y))) : over;
    under = beyond ? (D)(x * times_x + times(y, splat<D>(times_y))) : under;
    high = beyond ? splat<D>(angle) : high;
    low = beyond ? splat<D>(rest) : low;
  };
  from(0.4375, 1, 0.5, 4.63647609000806093515e-01, 2.26987774529616870924e-17);
  from(0.6875, 1, 1, 7.85398163397448278999e-01, 3.06161699786838301793e-17);
  from(1.1875, 1, 1.5, 9.82793723247329054082e-01, 1.39033110312309984516e-17);
  from(2.4375, 0, 1, 1.57079632679489655800e+00, 6.12323399573676603587e-17);
  D t = over / under, z = t * t;
  return high - ((t * z * -horner(z, SHLO_ATAN) - low) - t);
}
template <class D>
SHLO_INLINE D atan_f64(D x) {
  D a = abs_(x);
  a = a > splat<D>(0x1p66) ? splat<D>(0x1p66) : a;
  return x != x ? x : signed_like(angle(a, splat<D>(1)), x);
}
template <class D>
SHLO_INLINE D atan2_f64(D y, D x) {
  D a = abs_(y), b = abs_(x), infinity = splat<D>(inf_f64()), zero = splat<D>(0), one = splat<D>(1);
  auto endless = (a == infinity) | (b == infinity);
  // Scaled, so that no product overflows or vanishes; of infinities, and of two zeros, only the signs count.
  D large = a > b ? a : b, up = large > splat<D>(0x1p+1000) ? splat<D>(0x1p-60) : one;
  up = large < splat<D>(0x1p-900) ? splat<D>(0x1p+120) : up;
  a = endless ? (a == infinity ? one : zero) : (D)(a * up);
  b = endless ? (b == infinity ? one : zero) : large == zero ? one : (D)(b * up);
  D found = angle(a, b);
  found = as<sint_t<D>>(x) < sint_t<D>{} ? (D)(3.14159265358979311600e+00 - (found - 1.22464679914735317722e-16)) : found;
  found = signed_like(found, y);
  return ((x == x) & (y == y)) ? found : (D)(x + y);
}
// asin(x) = x + x z p(z), z = x^2; above 1/2, by z = (1 - |x|) / 2, half the distance from 1.
template <class D>
SHLO_INLINE D asin_f64(D x) {
  D a = abs_(x);
  auto large = a > splat<D>(0.5);
  D z = large ? (D)((1.0 - a) * 0.5) : (D)(a * a), root = large ? sqrt_(z) : a;
  D head = as<D>((uint_t<D>)(as<uint_t<D>>(root) & 0xfffffffff8000000u));  // its square is exact
  D lost = z == splat<D>(0) ? z : (D)((z - head * head) / (root + head));
  D tail = root * z * horner(z, SHLO_ASIN);
  D small = 2.0 * tail - (6.12323399573676603587e-17 - 2.0 * lost);
  D far = 7.85398163397448278999e-01 - (small - (7.85398163397448278999e-01 - 2.0 * head));
  return x != x ? x : signed_like(large ? far : (D)(root + tail), x);
}
template <class D>
SHLO_INLINE D acos_f64(D x) {
  D a = abs_(x);
  auto large = a > splat<D>(0.5);
  D z = large ? (D)((1.0 - a) * 0.5) : (D)(a * a), root = large ? sqrt_(z) : x;
  D tail = root * z * horner(z, SHLO_ASIN), twice = 2.0 * (root + tail);
  D near = 1.57079632679489655800e+00 - (x - (6.12323399573676603587e-17 - tail));
  D far = x < splat<D>(0) ? (D)(3.14159265358979311600e+00 - (twice - 1.22464679914735317722e-16)) : twice;
  return large ? far : near;
}

// ---- the error function ----------------------------------------------------------------------------------------------

// erfc(a) for a >= 0.45: after M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981). In exp(-a^2), a^2
// is split into an exact product of 26-bit numbers, and the rest.
template <class D>
SHLO_INLINE D erfc_tail(D a) {
  a = a > splat<D>(28) ? splat<D>(28) : a;
  D head = as<D>((uint_t<D>)(as<uint_t<D>>(a) & 0xfffffffff8000000u)), square = head * head;
  Exponential<D> e = split_exp((D)-square, -746, 0, (D)((head - a) * (head + a)));
  Parts<D> power = exp_parts(e);
  Parts<D> p = horner_parts((D)((a - 4.0) / (a + 4.0)), SHLO_ERFC);
  return scale_f64<D>(quotient(product_of_parts(p, power), sum_of_any((D)(a * 2.0), splat<D>(1))), e.n);
}
template <class D>
SHLO_INLINE D erf_f64(D x) {
  D a = abs_(x);
  D y = a < splat<D>(1) ? (D)(a * horner((D)(a * a), SHLO_ERF)) : (D)(1.0 - erfc_tail(a));
  return x != x ? x : signed_like(y, x);
}
template <class D>
SHLO_INLINE D erfc_f64(D x) {
  D a = abs_(x), tail = erfc_tail(a);
  D y = a < splat<D>(0.46875) ? (D)(1.0 - x * horner((D)(x * x), SHLO_ERF)) : x < splat<D>(0) ? (D)(2.0 - tail) : tail;
  return x != x ? x : y;
}
