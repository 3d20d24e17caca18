// Powers, as exp(y log x): of doubles with a logarithm of 66 bits, as y may be 1000; of floats in double, by polynomials
// of fewer terms. Part of the vocabulary described in values/vec.h; docs/reference/accuracy.md has the errors.
#pragma once
#include "math/double.h"

// log(1 + f) = 2 s + s^3 p(s^2), s = f / (f + 2); 2 s and 2/3 s^3 in two parts.
template <class D>
SHLO_INLINE Parts<D> long_log(D x) {
  Binary<D> b = split_binary(x);
  Parts<D> under = sum_of_parts(splat<D>(2), b.f), s, z;
  D inverse = 1.0 / under.head;
  s.head = b.f * inverse;
  s.rest = (fma_((D)-s.head, under.head, b.f) - s.head * under.rest) * inverse;
  s = sum_of_parts(s.head, s.rest);
  z = product_of_parts(s, s);
  Parts<D> tail = product_of_parts(product_of_parts(s, z), horner_parts(z.head, SHLO_LOG_LONG));
  Parts<D> first = sum_of_parts((D)(b.k * 6.93147180369123816490e-01), (D)(s.head * 2.0));
  Parts<D> second = sum_of_parts(first.head, tail.head);
  D rest = (first.rest + b.k * 1.90821492927058770002e-10) + (second.rest + (tail.rest + 2.0 * s.rest));
  return sum_of_parts(second.head, rest);
}
template <class D>
SHLO_INLINE D size_of_power(D a, D y) {
  Parts<D> exponent = product_of_parts(long_log(a), y);
  D rest = abs_(exponent.head) < splat<D>(1000) ? exponent.rest : splat<D>(0);
  Exponential<D> e = split_exp(exponent.head, -746, 710, rest);
  return scale_f64<D>(exp_parts(e).head, e.n);
}
template <class D>
SHLO_INLINE D size_of_power_of_singles(D a, D y) {
  Binary<D> b = split_binary(a);
  D s = b.f / (b.f + 2.0), z = s * s;
  D x = y * ((s * z * horner(z, SHLO_LOG_SINGLE) + (s + s)) + b.k * 0.6931471805599453);
  x = x < splat<D>(-746) ? splat<D>(-746) : x;
  x = x > splat<D>(710) ? splat<D>(710) : x;
  D n = nearest_whole((D)(x * 1.4426950408889634)), r = x - n * 0.6931471805599453;
  return scale_f64<D>((D)(r * r * horner(r, SHLO_EXP_SINGLE) + r + 1.0), n);
}
// IEEE 754's pow; `size` computes a^y for 0 < a < inf.
template <class D, class Size>
SHLO_INLINE D power_with(D x, D y, Size size) {
  D a = abs_(x), zero = splat<D>(0), one = splat<D>(1), infinity = splat<D>(inf_f64()), half = y * 0.5;
  D down = floor_(y), half_down = floor_(half);
  auto ends = (a == zero) | (a == infinity), odd = (down == y) & (half_down != half);
  D found = size((ends | (a != a)) ? one : a, y);
  found = ends ? ((a == zero) == (y < zero) ? infinity : zero) : a == one ? one : found;
  found = ((x < zero) & (a < infinity) & (down != y)) ? splat<D>(nan_f64()) : found;
  found = (odd & (as<sint_t<D>>(x) < sint_t<D>{})) ? (D)-found : found;
  found = ((x == x) & (y == y)) ? found : splat<D>(nan_f64());
  return ((y == zero) | (x == one)) ? one : found;
}
template <class D>
SHLO_INLINE D pow_f64(D x, D y) {
#ifdef __FMA__
  return power_with(x, y, [](D a, D b) { return size_of_power(a, b); });
#else  // what products lose is not known
  return per_lane(x, y, [](double a, double b) { return __builtin_pow(a, b); });
#endif
}
template <class D>
SHLO_INLINE D pow_of_singles(D x, D y) {
  return power_with(x, y, [](D a, D b) { return size_of_power_of_singles(a, b); });
}
