// Complex numbers; functions of c64 are computed in double, so that intermediate results do not overflow. Part of the
// vocabulary of call/shlo.cuh.
#pragma once
#include "values/convert.cuh"

// a * b, never contracted into a sum of two products, where a compiler could take either.
SHLO_DEVICE float times(float a, float b) { return fmaf(a, b, -0.0f); }
SHLO_DEVICE double times(double a, double b) { return fma(a, b, -0.0); }

SHLO_DEVICE bool endless(double x) { return !(x - x == 0); }  // infinite or NaN
SHLO_DEVICE bool has_nan(c128 z) { return z.re != z.re || z.im != z.im; }
SHLO_DEVICE c128 not_a_number() { return {nan_f64(), nan_f64()}; }
template <class R> SHLO_DEVICE R sign_if_infinite(R x) { return x != x || x - x == 0 ? 0 : x > 0 ? 1 : -1; }
template <class R> SHLO_DEVICE bool is_finite(Complex<R> a) { return a.re - a.re == 0 && a.im - a.im == 0; }
template <class R> SHLO_DEVICE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> SHLO_DEVICE Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <class R> SHLO_DEVICE Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
template <class R>
SHLO_DEVICE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - times(a.im, b.im), a.im * b.re + times(a.re, b.im)};
}
template <class R>
SHLO_DEVICE Complex<R> operator/(Complex<R> a, Complex<R> b) {
  // Smith: divide by the larger part first, so that the squares do not overflow.
  if (b.re == 0 && b.im == 0) return {a.re / b.re, a.im / b.re};
  if (is_finite(a) && b.re - b.re != 0 && b.re == b.re && b.im - b.im != 0 && b.im == b.im) {  // two infinities: only
    const R c = b.re > 0 ? 1 : -1, d = b.im > 0 ? 1 : -1;                                      // the signs count
    return {0 * (times(a.re, c) + a.im * d), 0 * (times(a.im, c) - a.re * d)};
  }
  const R c = sign_if_infinite(a.re), d = sign_if_infinite(a.im);
  if ((c != 0 || d != 0) && is_finite(b)) {
    const R infinity = (R)inf_f64();
    return {infinity * (times(c, b.re) + d * b.im), infinity * (times(d, b.re) - c * b.im)};
  }
  const bool wide = (b.re < 0 ? -b.re : b.re) >= (b.im < 0 ? -b.im : b.im);
  if (wide) {
    const R ratio = b.im / b.re, size = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
  }
  const R ratio = b.re / b.im, size = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
}
template <class R> SHLO_DEVICE bool operator==(Complex<R> a, Complex<R> b) { return a.re == b.re && a.im == b.im; }
template <class R> SHLO_DEVICE bool operator!=(Complex<R> a, Complex<R> b) { return !(a == b); }
// The order for max_ and min_: by the real parts, then by the imaginary ones.
template <class R>
SHLO_DEVICE bool operator<(Complex<R> a, Complex<R> b) {
  return a.re < b.re || (a.re == b.re && a.im < b.im);
}
template <class R> SHLO_DEVICE bool operator>(Complex<R> a, Complex<R> b) { return b < a; }

SHLO_DEVICE c64 complex_(float re, float im) { return {re, im}; }
SHLO_DEVICE c128 complex_(double re, double im) { return {re, im}; }
template <class R> SHLO_DEVICE R real_(Complex<R> a) { return a.re; }
template <class R> SHLO_DEVICE R imag_(Complex<R> a) { return a.im; }
SHLO_DEVICE float real_(float a) { return a; }
SHLO_DEVICE double real_(double a) { return a; }
SHLO_DEVICE float imag_(float) { return 0; }
SHLO_DEVICE double imag_(double) { return 0; }
template <class R> SHLO_DEVICE Complex<R> conj_(Complex<R> a) { return {a.re, -a.im}; }
// A NaN takes precedence over an infinite part, as in XLA, unlike in C99.
SHLO_DEVICE float abs_(c64 a) { return a.re != a.re || a.im != a.im ? nan_f32() : hypotf(a.re, a.im); }
SHLO_DEVICE double abs_(c128 a) { return a.re != a.re || a.im != a.im ? nan_f64() : hypot(a.re, a.im); }
template <class R>
SHLO_DEVICE Complex<R> sign_(Complex<R> a) {
  const R size = abs_(a);
  return size == 0 ? a : Complex<R>{a.re / size, a.im / size};
}

SHLO_DEVICE c128 exp_(c128 a) {
  if (a.im == 0) return {exp(a.re), a.im};
  if (endless(a.im)) return not_a_number();
  const bool large = a.re > 700;  // the exponential may overflow where its product with the sine does not
  const double size = exp(large ? a.re * 0.5 : a.re), again = large ? size : 1;
  return {size * cos(a.im) * again, size * sin(a.im) * again};
}
SHLO_DEVICE c128 log_(c128 a) {
  if (has_nan(a)) return not_a_number();
  const double x = fabs(a.re), y = fabs(a.im), large = fmax(x, y), small = fmin(x, y);
  const double scale = large > 1e300 ? 0.5 : large < 1e-300 ? 0x1p+64 : 1;  // the modulus may overflow, or lose digits
  const double back = large > 1e300 ? 0.6931471805599453 : large < 1e-300 ? -44.3614195558365 : 0;
  const double size = large > 0.5 && large < 2 ? 0.5 * log1p((large - 1) * (large + 1) + times(small, small))
                                               : log(hypot(x * scale, y * scale)) + back;
  return {size, atan2(a.im, a.re)};
}
SHLO_DEVICE c128 sqrt_(c128 a) {
  if (a.re == 0 && a.im == 0) return {0, a.im};
  if (has_nan(a)) return not_a_number();
  if (a.im - a.im != 0) return {inf_f64(), a.im};
  const double x = fabs(a.re), y = fabs(a.im), large = fmax(x, y);
  if (large - large != 0)
    return a.re > 0 ? c128{a.re, copysign(0.0, a.im)} : c128{0, copysign(x, a.im)};
  const double scale = large > 1e300 ? 0x1p-4 : large < 1e-290 ? 0x1p+110 : 1;  // an even power of two
  const double back = large > 1e300 ? 4 : large < 1e-290 ? 0x1p-55 : 1;
  const double root = sqrt((x * scale + hypot(x * scale, y * scale)) * 0.5), other = y * scale / (root * 2);
  return {(a.re >= 0 ? root : other) * back, copysign((a.re >= 0 ? other : root) * back, a.im)};
}
// W. Kahan, Branch cuts for complex elementary functions, 1987.
SHLO_DEVICE c128 tanh_(c128 a) {
  const bool bounded = !endless(a.im);
  if (!bounded && !endless(a.re)) return not_a_number();
  if (a.im == 0 && a.re != a.re) return a;
  if (fabs(a.re) > 22 && (bounded || a.re + a.re == a.re))
    return {copysign(1.0, a.re), bounded ? 4 * sin(a.im) * cos(a.im) * exp(-2 * fabs(a.re)) : copysign(0.0, a.im)};
  const double t = tan(a.im), s = sinh(a.re), beta = 1 + t * t, rho = sqrt(1 + s * s), below = 1 + beta * s * s;
  return {a.re == 0 ? a.re : beta * rho * s / below, t / below};
}
SHLO_DEVICE c128 sin_(c128 a) {
  if (endless(a.re)) return not_a_number();
  return {a.re == 0 ? a.re : sin(a.re) * cosh(a.im), cos(a.re) * sinh(a.im)};
}
SHLO_DEVICE c128 cos_(c128 a) {
  if (endless(a.re)) return not_a_number();
  return {cos(a.re) * cosh(a.im), -(a.re == 0 ? copysign(a.re, a.re * a.im) : sin(a.re) * sinh(a.im))};
}
SHLO_DEVICE c128 tan_(c128 a) {
  const c128 turned = tanh_(c128{-a.im, a.re});
  return {turned.im, -turned.re};
}
// These avoid the cancellation of their definitions near 0.
SHLO_DEVICE c128 expm1_(c128 a) {
  if (a.im == 0) return {expm1(a.re), a.im};
  if (a.re > 700 && !endless(a.re)) return exp_(a);  // a part may be finite although exp(a.re) is not
  const double half = sin(a.im * 0.5), grown = expm1(a.re);
  return {grown * cos(a.im) - times(2 * half, half), (grown + 1) * sin(a.im)};
}
SHLO_DEVICE c128 log1p_(c128 a) {
  if (has_nan(a)) return not_a_number();
  const bool small = times(a.re, a.re) + a.im * a.im < 0.25;
  const bool large = fabs(a.re) > 1e300 || fabs(a.im) > 1e300;  // their modulus may overflow
  const double size = small   ? 0.5 * log1p(a.re * (2 + a.re) + times(a.im, a.im))
                      : large ? log(hypot(a.re * 0.5, a.im * 0.5)) + 0.6931471805599453
                              : log(hypot(1 + a.re, a.im));
  return {size, atan2(a.im, 1 + a.re)};
}
// -i log((x + i y) / sqrt(x^2 + y^2))
SHLO_DEVICE c128 atan2_(c128 y, c128 x) {
  const c128 turned = log_(c128{x.re - y.im, x.im + y.re} / sqrt_(x * x + y * y));
  return {turned.im, -turned.re};
}
SHLO_DEVICE c128 rsqrt_(c128 a) { return c128{1, 0} / sqrt_(a); }
SHLO_DEVICE c128 pow_(c128 a, c128 b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
  return exp_(b * log_(a));
}
// The root of the modulus, at a third of the angle; for 0 and non-finite numbers as pow.
SHLO_DEVICE c128 cbrt_(c128 a) {
  const double size = hypot(a.re, a.im), root = cbrt(size), angle = atan2(a.im, a.re) / 3;
  return size > 0 && size < inf_f64() ? c128{root * cos(angle), root * sin(angle)} : pow_(a, c128{1.0 / 3, 0});
}

#define SHLO_COMPLEX(name) \
  SHLO_DEVICE c64 name(c64 a) { return convert<c64>(name(convert<c128>(a))); }
SHLO_COMPLEX(exp_) SHLO_COMPLEX(log_) SHLO_COMPLEX(sqrt_) SHLO_COMPLEX(tanh_) SHLO_COMPLEX(sin_) SHLO_COMPLEX(cos_)
SHLO_COMPLEX(tan_) SHLO_COMPLEX(expm1_) SHLO_COMPLEX(log1p_) SHLO_COMPLEX(rsqrt_) SHLO_COMPLEX(cbrt_)
SHLO_DEVICE c64 pow_(c64 a, c64 b) { return convert<c64>(pow_(convert<c128>(a), convert<c128>(b))); }
SHLO_DEVICE c64 atan2_(c64 y, c64 x) { return convert<c64>(atan2_(convert<c128>(y), convert<c128>(x))); }
