// Elementary functions of complex numbers: formulas on doubles where these are safe, else scalar functions (the C
// library's, or those of math/complex_functions.h). For c64 they are computed in double and rounded.
// Part of the vocabulary described in values/vec.h.
#pragma once
#include "math/complex.h"
#include "math/complex_functions.h"

// `unknown`: where XLA's result is NaN, and C99's may not be (math/complex_functions.h).
#define SHLO_ONE_BY_C(name, unknown)                                   \
  SHLO_INLINE c128 name##_one(c128 z) {                                \
    typedef _Complex double C;                                         \
    return unknown ? not_a_number() : as<c128>(__builtin_c##name(as<C>(z))); \
  }
SHLO_ONE_BY_C(exp, endless(z.im)) SHLO_ONE_BY_C(sqrt, has_nan(z)) SHLO_ONE_BY_C(tanh, endless(z.im) && !endless(z.re))
SHLO_ONE_BY_C(sin, endless(z.re)) SHLO_ONE_BY_C(cos, endless(z.re)) SHLO_ONE_BY_C(tan, endless(z.re) && !endless(z.im))

// ---- exponentials and circles ----------------------------------------------------------------------------------------

template <class D>
struct Circle {
  D sine, cosine;
};
template <class D>
SHLO_INLINE Circle<D> circle(D angle) {
  typedef sint_t<D> I;
  const Turned<D> t = turned(angle);
  const auto odd = (t.n & 1) != I{};
  const D sine = odd ? t.cosine : t.sine, cosine = odd ? t.sine : t.cosine;
  return {as<D>((I)(as<I>(sine) ^ (t.n & 2) << 62)), as<D>((I)(as<I>(cosine) ^ ((t.n + 1) & 2) << 62))};
}
template <class D>
SHLO_INLINE Circle<D> hyperbola(D x) {
  const D a = abs_(x), z = a * a, e = half_exp(a), rest = 0.25 / e;
  const D sine = a < splat<D>(1) ? (D)(a + a * z * horner(z, SHLO_SINH)) : (D)(e - rest);
  return {signed_like(sine, x), e + rest};
}
// Whether circle(angle) is not accurate, or something of the order of exp(|x|) overflows or vanishes.
template <class D>
SHLO_INLINE auto beyond(D x, double limit, D angle) {
  return not_true(both(abs_(x) <= splat<D>(limit), abs_(angle) <= splat<D>(SHLO_EXACT_TURNS)));
}
template <class D>
SHLO_INLINE Complex<D> exp_f64(Complex<D> z) {
  const D size = exp_f64(z.re);
  const Circle<D> t = circle(z.im);
  const Complex<D> y = {times(size, t.cosine), times(size, t.sine)};
  return unless(beyond(z.re, 700, z.im), y, [](c128 one) { return exp_one(one); }, z);
}
SHLO_INLINE c128 expm1_one(c128 z) {
  if (z.im == 0) return {__builtin_expm1(z.re), z.im};
  if (z.re > 700 && !endless(z.re)) return exp_one(z);  // a part may be finite although exp(z.re) is not
  const double half = __builtin_sin(z.im * 0.5), grown = __builtin_expm1(z.re);
  return {grown * __builtin_cos(z.im) - times(2 * half, half), times(grown + 1, __builtin_sin(z.im))};
}
template <class D>
SHLO_INLINE Complex<D> expm1_f64(Complex<D> z) {
  const D grown = expm1_f64(z.re), half = circle((D)(z.im * 0.5)).sine;
  const Circle<D> t = circle(z.im);
  const Complex<D> y = {grown * t.cosine - times(2.0 * half, half), times((D)(grown + 1.0), t.sine)};
  return unless(beyond(z.re, 700, z.im), y, [](c128 one) { return expm1_one(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> sinh_by(Complex<D> z) {
  const Circle<D> h = hyperbola(z.re), t = circle(z.im);
  return {times(h.sine, t.cosine), times(h.cosine, t.sine)};
}
template <class D>
SHLO_INLINE Complex<D> cosh_by(Complex<D> z) {
  const Circle<D> h = hyperbola(z.re), t = circle(z.im);
  return {times(h.cosine, t.cosine), times(h.sine, t.sine)};
}
// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y): no cancellation.
template <class D>
SHLO_INLINE Complex<D> tanh_by(Complex<D> z) {
  const Circle<D> h = hyperbola(z.re), t = circle(z.im);
  const D under = multiply_add(t.cosine, t.cosine, times(h.sine, h.sine));
  return {h.sine * h.cosine / under, t.sine * t.cosine / under};
}
template <class D> SHLO_INLINE Complex<D> times_i(Complex<D> z) { return {-z.im, z.re}; }
template <class D> SHLO_INLINE Complex<D> over_i(Complex<D> z) { return {z.im, -z.re}; }
template <class D>
SHLO_INLINE Complex<D> sinh_f64(Complex<D> z) {
  Complex<D> y = sinh_by(z);
  y.re = z.re == splat<D>(0) ? z.re : y.re;
  return unless(beyond(z.re, 700, z.im), y, [](c128 one) { return sinh_(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> cosh_f64(Complex<D> z) {
  return unless(beyond(z.re, 700, z.im), cosh_by(z), [](c128 one) { return cosh_(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> sin_f64(Complex<D> z) {
  return unless(beyond(z.im, 700, z.re), over_i(sinh_by(times_i(z))), [](c128 one) { return sin_one(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> cos_f64(Complex<D> z) {
  return unless(beyond(z.im, 700, z.re), cosh_by(times_i(z)), [](c128 one) { return cos_one(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> tanh_f64(Complex<D> z) {
  return unless(beyond(z.re, 350, z.im), tanh_by(z), [](c128 one) { return tanh_one(one); }, z);
}
template <class D>
SHLO_INLINE Complex<D> tan_f64(Complex<D> z) {
  return unless(beyond(z.im, 350, z.re), over_i(tanh_by(times_i(z))), [](c128 one) { return tan_one(one); }, z);
}
// The scalar version is in math/complex_functions.h.
template <class D>
SHLO_INLINE Complex<D> logistic_f64(Complex<D> z) {
  const D zero = splat<D>(0), one = splat<D>(1), x = -abs_(z.re), size = exp_f64(x);
  const auto falls = z.re < zero;
  const Circle<D> t = circle((D)(falls ? z.im : (D)-z.im));
  const Complex<D> e = {times(size, t.cosine), times(size, t.sine)};
  const D at_pole = t.sine * t.sine / (1.0 - t.cosine) + t.cosine * expm1_f64(x);
  const Complex<D> over = {falls ? e.re : one, falls ? e.im : zero};
  const Complex<D> under = {t.cosine < zero ? at_pole : (D)(1.0 + e.re), e.im};
  return unless(beyond(x, 700, z.im), quotient_f64<false>(over, under), [](c128 one) { return logistic_(one); }, z);
}

// ---- logarithms and powers -------------------------------------------------------------------------------------------

// A compensated sum: keeps the rounding error of each addition (T. Ogita, S. Rump, S. Oishi, Accurate sum and dot
// product, 2005).
template <class D>
struct Sum {
  D sum, lost;
  __attribute__((always_inline)) void add(D x) {
    const D total = sum + x, part = total - sum;
    lost = lost + ((sum - (total - part)) + (x - part));
    sum = total;
  }
};
// The upper half of the digits: its products with other halves are exact.
template <class D>
SHLO_INLINE D upper_half(D x) {
  return as<D>((uint_t<D>)(as<uint_t<D>>(x) & 0xfffffffff8000000u));
}
// (1 + t)^2 + b^2 - 1, without the cancellation of its terms.
template <bool Narrow, class D>
SHLO_INLINE D above_one(D t, D b) {
  if constexpr (Narrow) return t * (t + 2.0) + times(b, b);  // b is a float: its square is exact
  else {
    const D t1 = upper_half(t), t2 = t - t1, b1 = upper_half(b), b2 = b - b1;
    Sum<D> sum = {t + t, splat<D>(0)};
    sum.add(t1 * t1);
    sum.add(b1 * b1);
    sum.add(2.0 * t1 * t2);
    sum.add(2.0 * b1 * b2);
    return sum.sum + (sum.lost + (t2 * t2 + times(b2, b2)));
  }
}
// log |a + i b|, where t is a - 1 without rounding, or with the sign of a.
template <bool Narrow, class D>
SHLO_INLINE D log_modulus(D t, D a, D b) {
  const D one = splat<D>(1), zero = splat<D>(0), infinity = splat<D>(inf_f64());
  const D x = abs_(a), y = abs_(b), large = x > y ? x : y;
  D up = one, shift = zero;
  if constexpr (!Narrow) {
    const auto huge = large > splat<D>(0x1p500), tiny = large < splat<D>(0x1p-500);
    up = huge ? splat<D>(0x1p-600) : tiny ? splat<D>(0x1p600) : one;
    shift = huge ? splat<D>(600 * 0.6931471805599453) : tiny ? splat<D>(-600 * 0.6931471805599453) : zero;
  }
  const D u = x * up, v = y * up, square = multiply_add(v, v, times(u, u));
  const auto near = both(between(splat<D>(0.5), square, splat<D>(2)), up == one);
  const D excess = above_one<Narrow>(t, b), sum = 1.0 + excess;
  const D of = near ? sum : square, lost = near ? (D)(excess - (sum - 1.0)) : zero;
  D found = 0.5 * log_with(of, (D)(lost / of)) + shift;
  found = large == zero ? (D)-infinity : found;
  found = either(x == infinity, y == infinity) ? infinity : found;
  return square == square ? found : splat<D>(nan_f64());
}
template <bool Narrow, class D>
SHLO_INLINE Complex<D> log_f64(Complex<D> z) {
  const D x = abs_(z.re), y = abs_(z.im), large = x > y ? x : y, small = x > y ? y : x;
  return {log_modulus<Narrow>((D)(large - 1.0), large, small), atan2_f64(z.im, z.re)};
}
template <bool Narrow, class D>
SHLO_INLINE Complex<D> log1p_f64(Complex<D> z) {
  const D re = 1.0 + z.re;
  return {log_modulus<Narrow>(z.re, re, z.im), atan2_f64(z.im, re)};
}
// With m the modulus, the larger part is sqrt((|x| + m) / 2), the other |y| / 2 divided by it.
template <class D>
SHLO_INLINE Complex<D> sqrt_f64(Complex<D> z) {
  const D zero = splat<D>(0), a = abs_(z.re), square = multiply_add(z.im, z.im, times(a, a));
  const D root = sqrt_((D)((a + sqrt_(square)) * 0.5));
  const D other = times(z.im, (D)(0.5 / root));
  const auto is_zero = both(a == zero, z.im == zero);
  const auto left = z.re < zero;
  const Complex<D> y = {left ? abs_(other) : root, is_zero ? z.im : left ? signed_like(root, z.im) : other};
  const auto right = either(between(splat<D>(0x1p-900), square, splat<D>(0x1p1000)), is_zero);
  return unless(not_true(right), y, [](c128 one) { return sqrt_one(one); }, z);
}
// The C library's cpow uses a logarithm, which is undefined at 0.
SHLO_INLINE c128 pow_one(c128 a, c128 b) {
  typedef _Complex double C;
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
  return as<c128>(__builtin_cpow(as<C>(a), as<C>(b)));
}
template <bool Narrow, class D>
SHLO_INLINE Complex<D> pow_f64(Complex<D> a, Complex<D> b) {
  const Complex<D> exponent = b * log_f64<Narrow>(a);
  const auto right = (exponent.re - exponent.re) + (exponent.im - exponent.im) == splat<D>(0);
  return unless(not_true(right), exp_f64(exponent), pow_one, a, b);
}

// The root of the modulus, at a third of the angle; for 0 and non-finite numbers as pow.
template <bool Narrow, class D>
SHLO_INLINE Complex<D> cbrt_f64(Complex<D> z) {
  const D size = Narrow ? sqrt_(multiply_add(z.im, z.im, times(z.re, z.re))) : abs_(z), root = cbrt_f64(size);
  const Circle<D> t = circle((D)(atan2_f64(z.im, z.re) * (1.0 / 3)));
  const auto right = both(size > splat<D>(0), size < splat<D>(inf_f64()));
  return unless(not_true(right), Complex<D>{times(root, t.cosine), times(root, t.sine)},
                [](c128 one) { return pow_one(one, c128{1.0 / 3, 0}); }, z);
}

// ---- the vocabulary --------------------------------------------------------------------------------------------------

#define SHLO_COMPLEX(name)                                                                 \
  template <class R> SHLO_INLINE Complex<R> name##_(Complex<R> z) {                        \
    return complex_in_double([](auto x) { return name##_f64(x); }, z);                     \
  }
#define SHLO_COMPLEX_NARROW(name)                                                          \
  template <class R> SHLO_INLINE Complex<R> name##_(Complex<R> z) {                        \
    return complex_in_double([](auto x) { return name##_f64<same<elem_t<R>, float>>(x); }, z); \
  }
SHLO_COMPLEX(exp) SHLO_COMPLEX(expm1) SHLO_COMPLEX(logistic) SHLO_COMPLEX(sqrt)
SHLO_COMPLEX(sin) SHLO_COMPLEX(cos) SHLO_COMPLEX(tan) SHLO_COMPLEX(tanh)
SHLO_COMPLEX_NARROW(log) SHLO_COMPLEX_NARROW(log1p) SHLO_COMPLEX_NARROW(cbrt)
template <class R>
SHLO_INLINE Complex<R> pow_(Complex<R> a, Complex<R> b) {
  return complex_in_double([](auto x, auto y) { return pow_f64<same<elem_t<R>, float>>(x, y); }, a, b);
}
template <class R>
SHLO_INLINE Complex<R> rsqrt_(Complex<R> a) {
  return complex_in_double([](auto z) {
    typedef decltype(z.re) D;
    return quotient_f64<false>(Complex<D>{splat<D>(1), splat<D>(0)}, sqrt_f64(z));
  }, a);
}
template <class R>
SHLO_INLINE Complex<R> sign_(Complex<R> a) {
  const R size = abs_(a);
  return select(eq(size, splat<R>(0)), a, Complex<R>{a.re / size, a.im / size});
}
// -i log((x + i y) / sqrt(x^2 + y^2))
template <class R>
SHLO_INLINE Complex<R> atan2_(Complex<R> y, Complex<R> x) {
  return over_i(log_(Complex<R>{x.re - y.im, x.im + y.re} / sqrt_(x * x + y * y)));
}

// Vector versions; the scalar ones are in math/complex_functions.h.
SHLO_INLINE c64v sinh_(c64v z) { return complex_in_double([](auto x) { return sinh_f64(x); }, z); }
SHLO_INLINE c128v sinh_(c128v z) { return complex_in_double([](auto x) { return sinh_f64(x); }, z); }
SHLO_INLINE c64v cosh_(c64v z) { return complex_in_double([](auto x) { return cosh_f64(x); }, z); }
SHLO_INLINE c128v cosh_(c128v z) { return complex_in_double([](auto x) { return cosh_f64(x); }, z); }
#define SHLO_EACH_LANE(name)                                                                                  \
  template <class R> SHLO_INLINE Complex<R> name(Complex<R> z) {                                              \
    Complex<elem_t<R>> all[16];                                                                               \
    store(all, z);                                                                                            \
    for (int i = 0; i < 16; i++) all[i] = name(all[i]);                                                       \
    return load(all);                                                                                         \
  }
SHLO_EACH_LANE(asin_acos_kernel_) SHLO_EACH_LANE(asin_) SHLO_EACH_LANE(acos_) SHLO_EACH_LANE(acosh_)
SHLO_EACH_LANE(asinh_) SHLO_EACH_LANE(atanh_) SHLO_EACH_LANE(atan_)
