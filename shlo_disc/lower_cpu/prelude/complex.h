// Complex numbers, scalar mode only. Part of the vocabulary described in vec.h.
#pragma once
#include "integer.h"

template <class R>
struct Complex {
  R re, im;
};
typedef Complex<float> c64;
typedef Complex<double> c128;
SHLO_TYPE(c64, c64, bool, c64, c64, 1) SHLO_TYPE(c128, c128, bool, c128, c128, 1)

template <class R> SHLO_INLINE bool is_finite(Complex<R> a) { return a.re - a.re == 0 && a.im - a.im == 0; }
template <class R> SHLO_INLINE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> SHLO_INLINE Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <class R> SHLO_INLINE Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
template <class R>
SHLO_INLINE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.im * b.re + a.re * b.im};
}
template <class R>
SHLO_INLINE Complex<R> operator/(Complex<R> a, Complex<R> b) {
  // Smith: divide by the larger part first, so that the squares do not overflow.
  if (b.re == 0 && b.im == 0) return {a.re / b.re, a.im / b.re};
  if (is_finite(a) && b.re - b.re != 0 && b.re == b.re && b.im - b.im != 0 && b.im == b.im) {  // two infinities: only
    const R c = b.re > 0 ? 1 : -1, d = b.im > 0 ? 1 : -1;                                      // the signs count
    return {0 * (a.re * c + a.im * d), 0 * (a.im * c - a.re * d)};
  }
  if (abs_(b.re) >= abs_(b.im)) {
    R ratio = b.im / b.re, size = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
  }
  R ratio = b.re / b.im, size = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
}
template <class R> SHLO_INLINE bool eq(Complex<R> a, Complex<R> b) { return a.re == b.re && a.im == b.im; }
template <class R> SHLO_INLINE bool ne(Complex<R> a, Complex<R> b) { return !eq(a, b); }
// What max_ and min_ ask: by the real parts, then by the imaginary ones.
template <class R> SHLO_INLINE bool operator!=(Complex<R> a, Complex<R> b) { return ne(a, b); }
template <class R>
SHLO_INLINE bool operator<(Complex<R> a, Complex<R> b) {
  return a.re < b.re || (a.re == b.re && a.im < b.im);
}
template <class R> SHLO_INLINE bool operator>(Complex<R> a, Complex<R> b) { return b < a; }
SHLO_INLINE c64 complex_(float re, float im) { return {re, im}; }
SHLO_INLINE c128 complex_(double re, double im) { return {re, im}; }
template <class R> SHLO_INLINE R real_(Complex<R> a) { return a.re; }
template <class R> SHLO_INLINE R imag_(Complex<R> a) { return a.im; }
template <class R> SHLO_INLINE Complex<R> conj_(Complex<R> a) { return {a.re, -a.im}; }
template <class R> SHLO_INLINE Complex<R> neg_(Complex<R> a) { return -a; }
template <class R> SHLO_INLINE Complex<R> add_(Complex<R> a, Complex<R> b) { return a + b; }
template <class R> SHLO_INLINE Complex<R> sub_(Complex<R> a, Complex<R> b) { return a - b; }
template <class R> SHLO_INLINE Complex<R> mul_(Complex<R> a, Complex<R> b) { return a * b; }
template <class R> SHLO_INLINE Complex<R> div_(Complex<R> a, Complex<R> b) { return a / b; }

// real_ and imag_ of a real number.
SHLO_INLINE float real_(float a) { return a; }
SHLO_INLINE double real_(double a) { return a; }
SHLO_INLINE float imag_(float) { return 0; }
SHLO_INLINE double imag_(double) { return 0; }

// Conversions: a real part of its own type; to a real type the imaginary part is dropped.
#define SHLO_COMPLEX_FROM(name, C, R)                                                                    \
  template <class X> SHLO_INLINE C to_##name(X x) { return {convert<R>(x), 0}; }                          \
  template <class S> SHLO_INLINE C to_##name(Complex<S> x) { return {R(x.re), R(x.im)}; }
SHLO_COMPLEX_FROM(c64, c64, float) SHLO_COMPLEX_FROM(c128, c128, double)
#define SHLO_COMPLEX_TO(name, E) template <class S> SHLO_INLINE E to_##name(Complex<S> x) { return convert<E>(x.re); }
SHLO_COMPLEX_TO(f32, float) SHLO_COMPLEX_TO(f64, double)
SHLO_COMPLEX_TO(i8, int8_t) SHLO_COMPLEX_TO(i16, int16_t) SHLO_COMPLEX_TO(i32, int32_t) SHLO_COMPLEX_TO(i64, int64_t)
SHLO_COMPLEX_TO(u8, uint8_t) SHLO_COMPLEX_TO(u16, uint16_t) SHLO_COMPLEX_TO(u32, uint32_t) SHLO_COMPLEX_TO(u64, uint64_t)
template <class S> SHLO_INLINE bool to_bool(Complex<S> x) { return x.re != 0; }

// The C library's complex functions.
template <class R> struct CType;
template <> struct CType<float> { typedef _Complex float type; };
template <> struct CType<double> { typedef _Complex double type; };
template <class R> SHLO_INLINE typename CType<R>::type c_number(Complex<R> a) { return as<typename CType<R>::type>(a); }
#define SHLO_COMPLEX(name, function)                                                                     \
  SHLO_INLINE c64 name(c64 a) { return as<c64>(__builtin_##function##f(c_number(a))); }                  \
  SHLO_INLINE c128 name(c128 a) { return as<c128>(__builtin_##function(c_number(a))); }
SHLO_COMPLEX(exp_, cexp) SHLO_COMPLEX(log_, clog) SHLO_COMPLEX(sqrt_, csqrt) SHLO_COMPLEX(tanh_, ctanh)
SHLO_COMPLEX(sin_, csin) SHLO_COMPLEX(cos_, ccos) SHLO_COMPLEX(tan_, ctan)
// Squares of floats neither overflow nor vanish in double; an infinite part outweighs a NaN.
SHLO_INLINE float abs_(c64 a) {
  const float size = (float)__builtin_sqrt((double)a.re * a.re + (double)a.im * a.im);
  const bool infinite = __builtin_fabsf(a.re) == __builtin_inff() || __builtin_fabsf(a.im) == __builtin_inff();
  return infinite ? __builtin_inff() : size;
}
SHLO_INLINE double abs_(c128 a) { return __builtin_hypot(a.re, a.im); }
// The C library's cpow goes through a logarithm, which 0 has not.
SHLO_INLINE c64 c_power(c64 a, c64 b) { return as<c64>(__builtin_cpowf(c_number(a), c_number(b))); }
SHLO_INLINE c128 c_power(c128 a, c128 b) { return as<c128>(__builtin_cpow(c_number(a), c_number(b))); }
template <class R>
SHLO_INLINE Complex<R> pow_(Complex<R> a, Complex<R> b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
  return c_power(a, b);
}
template <class R>
SHLO_INLINE Complex<R> sign_(Complex<R> a) {
  R size = abs_(a);
  return size == 0 ? a : Complex<R>{a.re / size, a.im / size};
}
template <class R> SHLO_INLINE Complex<R> rsqrt_(Complex<R> a) { return Complex<R>{1, 0} / sqrt_(a); }
// exp of what is not above 0 does not overflow.
template <class R>
SHLO_INLINE Complex<R> logistic_(Complex<R> a) {
  const Complex<R> one = {1, 0}, e = exp_(a.re < 0 ? a : -a);
  return (a.re < 0 ? e : one) / (one + e);
}
template <class R> SHLO_INLINE Complex<R> cbrt_(Complex<R> a) { return pow_(a, Complex<R>{R(1) / R(3), 0}); }
// Both in double, without the cancellation of their definitions near 0.
template <class R>
SHLO_INLINE Complex<R> expm1_(Complex<R> a) {
  if (a.im == 0) return {R(__builtin_expm1(a.re)), a.im};
  double half = __builtin_sin(a.im * 0.5), grown = __builtin_expm1(a.re);
  return {R(grown * __builtin_cos(a.im) - 2 * half * half), R((grown + 1) * __builtin_sin(a.im))};
}
template <class R>
SHLO_INLINE Complex<R> log1p_(Complex<R> a) {
  double re = a.re, im = a.im;
  bool small = re * re + im * im < 0.25;
  bool large = __builtin_fabs(re) > 1e300 || __builtin_fabs(im) > 1e300;  // their modulus may overflow
  double size = small   ? 0.5 * __builtin_log1p(re * (2 + re) + im * im)
                : large ? __builtin_log(__builtin_hypot(re * 0.5, im * 0.5)) + 0.6931471805599453
                        : __builtin_log(__builtin_hypot(1 + re, im));
  return {R(size), R(__builtin_atan2(im, 1 + re))};
}
// -i log((x + i y) / sqrt(x^2 + y^2))
template <class R>
SHLO_INLINE Complex<R> atan2_(Complex<R> y, Complex<R> x) {
  Complex<R> turned = log_(Complex<R>{x.re - y.im, x.im + y.re} / sqrt_(x * x + y * y));
  return {turned.im, -turned.re};
}
