// Inverse, hyperbolic and logistic functions of complex numbers, in double (c64 is computed in double and rounded).
#pragma once
#include "math/polynomial.h"

// Results for infinite parts and NaN are as in XLA on the CPU (docs/reference/accuracy.md): where C99 (Annex G) defines
// a limit, such as 0 for exp(-inf + i inf), an infinite angle or a NaN makes both parts NaN.

// W. Hull, Th. Fairgrieve, P. Tang, Implementing the complex arcsine and arccosine functions using exception handling,
// ACM Trans. Math. Softw. 23 (1997): with w = (d, l), asin(x + i y) = (atan2(x, d), l with the sign of y) and
// acos(x + i y) = (atan2(d, x), -l with the sign of y).
SHLO_INLINE c128 asin_acos_kernel_(c128 z) {
  const double x = abs_(z.re), y = abs_(z.im), huge = 0x1p+500;
  if (x == inf_f64() || y == inf_f64()) return {y == y && y != inf_f64() ? 0 : y, inf_f64()};
  if (x > huge || y > huge) {  // l = log(2 |z|)
    const double a = x * 0x1p-600, b = y * 0x1p-600;
    return {y, 0.5 * log_(times(a, a) + b * b) + 601 * 0.6931471805599453};
  }
  if (y <= abs_(x - 1) * 0x1p-54) {  // the square of y may vanish
    const double root = sqrt_(abs_(x - 1)) * sqrt_(x + 1);
    if (x < 1) return {root, y / root};
    if (x == 1) return {0, 0};
    return {y * x / root, log1p_((x - 1) + root)};
  }
  const double r = abs_(c128{x + 1, y}), s = abs_(c128{x - 1, y}), a = 0.5 * (r + s);
  const double above = y / (r + (x + 1)), apex = a + x;  // y above = r - (x + 1)
  double d, excess;                                      // excess: a - 1
  if (x <= 1) {
    const double below = s + (1 - x);
    d = sqrt_(0.5 * apex * (y * above + below));
    excess = 0.5 * y * (above + y / below);
  } else {
    const double below = s + (x - 1);
    d = y * sqrt_(0.5 * (apex / (r + (x + 1)) + apex / below));
    excess = 0.5 * (y * above + below);
  }
  // y^2 may vanish beside x = 1, where excess = y / 2
  const double l = a < 1.5 ? log1p_(excess + sqrt_(excess) * sqrt_(a + 1)) : log_(a + sqrt_((a - 1) * (a + 1)));
  return {d, l};
}
SHLO_INLINE c128 asin_(c128 z) {
  const c128 w = asin_acos_kernel_(z);
  return {atan2_(z.re, w.re), signed_like(w.im, z.im)};
}
SHLO_INLINE c128 acos_(c128 z) {
  const c128 w = asin_acos_kernel_(z);
  return {atan2_(w.re, z.re), -signed_like(w.im, z.im)};
}
SHLO_INLINE c128 acosh_(c128 z) {
  const c128 w = asin_acos_kernel_(z);
  return {w.im, signed_like(atan2_(w.re, z.re), z.im)};
}
SHLO_INLINE c128 asinh_(c128 z) {  // -i asin(i z)
  const c128 turned = asin_(c128{-z.im, z.re});
  return {turned.im, -turned.re};
}
// W. Kahan, Branch cuts for complex elementary functions (1987).
SHLO_INLINE c128 atanh_(c128 z) {
  const double x = abs_(z.re), y = abs_(z.im), right_angle = 1.5707963267948966;
  if (x > 0x1p+500 || y > 0x1p+500) {  // 1 / z
    const bool endless = x == inf_f64() || y == inf_f64();
    const double large = x > y ? x : y, a = x / large, b = y / large;
    const double real = endless ? 0 : a / large / (times(a, a) + b * b);
    return {signed_like(x != x && !endless ? x : real, z.re), y != y ? y : signed_like(right_angle, z.im)};
  }
  const double from_one = times(1 - x, 1 - x) + y * y;
  const double real = x == 1 && from_one == 0 ? 0.5 * (0.6931471805599453 - log_(y)) : 0.25 * log1p_(4 * x / from_one);
  const double angle = 0.5 * atan2_(2 * y, (1 - x) * (1 + x) - times(y, y));
  return {signed_like(real, z.re), signed_like(angle, z.im)};
}
SHLO_INLINE c128 atan_(c128 z) {  // -i atanh(i z)
  const c128 turned = atanh_(c128{-z.im, z.re});
  return {turned.im, -turned.re};
}
SHLO_INLINE c128 sinh_(c128 z) {
  if (endless(z.im)) return not_a_number();
  if (z.im == 0) return {sinh_(z.re), z.im};
  const bool large = abs_(z.re) > 700;  // the product may be finite where the exponential is not
  const double x = large ? z.re * 0.5 : z.re, again = large ? 2 * cosh_(x) : 1;
  const double real = z.re == 0 ? z.re : times(sinh_(x) * cos_(z.im), again);
  return {real, times(cosh_(x) * sin_(z.im), again)};
}
SHLO_INLINE c128 cosh_(c128 z) {
  if (z.im == 0) return {cosh_(z.re), z.re == 0 ? times(z.re, z.im) : z.re < 0 ? -z.im : z.im};
  const bool large = abs_(z.re) > 700;
  const double x = large ? z.re * 0.5 : z.re, again = large ? 2 * cosh_(x) : 1;
  const double imaginary = z.re == 0 ? times(z.re, sin_(z.im)) : times(sinh_(x) * sin_(z.im), again);
  return {times(cosh_(x) * cos_(z.im), again), imaginary};
}

// 1 / (1 + exp(-z)) by exp(-|x|), which does not overflow. At the poles 1 + exp(..) is a sum of positive terms: 1 + cos y
// and cos y (exp(-|x|) - 1).
SHLO_INLINE c128 logistic_(c128 z) {
  if (endless(z.im)) return not_a_number();
  const bool falls = z.re < 0;
  const double x = -abs_(z.re), size = exp_(x), c = cos_(z.im), s = falls ? sin_(z.im) : -sin_(z.im);
  const c128 e = size == 0 ? c128{0, 0} : c128{times(size, c), times(size, s)};
  const double under = c < 0 ? s * s / (1 - c) + c * expm1_(x) : 1 + e.re;
  return (falls ? e : c128{1, 0}) / c128{under, e.im};
}

#define SHLO_COMPLEX_BY_DOUBLE(name) \
  SHLO_INLINE c64 name(c64 z) {                                       \
    const c128 found = name(c128{(double)z.re, (double)z.im});        \
    return {(float)found.re, (float)found.im};                        \
  }
SHLO_COMPLEX_BY_DOUBLE(asin_acos_kernel_) SHLO_COMPLEX_BY_DOUBLE(asin_) SHLO_COMPLEX_BY_DOUBLE(acos_)
SHLO_COMPLEX_BY_DOUBLE(acosh_) SHLO_COMPLEX_BY_DOUBLE(asinh_) SHLO_COMPLEX_BY_DOUBLE(atanh_)
SHLO_COMPLEX_BY_DOUBLE(atan_) SHLO_COMPLEX_BY_DOUBLE(sinh_) SHLO_COMPLEX_BY_DOUBLE(cosh_)
SHLO_COMPLEX_BY_DOUBLE(logistic_)
