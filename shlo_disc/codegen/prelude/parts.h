// Numbers of more than 53 bits, as a sum of two doubles: where a last rounding, or a difference, would cost accuracy.
// fma_, of the target's vocabulary, is a * b + c rounded once, and takes products apart.
#pragma once
#include "polynomial.h"

template <class D>
struct Parts {
  D head, rest;
};
// The sum of two, of which `a` is not the smaller.
template <class D>
SHLO_INLINE Parts<D> sum_of_parts(D a, D b) {
  D head = a + b;
  return {head, (D)(b - (head - a))};
}
template <class D>
SHLO_INLINE Parts<D> product_of_parts(D a, D b) {
  D head = a * b;
  return {head, fma_(a, b, (D)-head)};
}
template <class D>
SHLO_INLINE Parts<D> product_of_parts(Parts<D> a, D b) {
  Parts<D> found = product_of_parts(a.head, b);
  return {found.head, (D)(found.rest + a.rest * b)};
}
template <class D>
SHLO_INLINE Parts<D> product_of_parts(Parts<D> a, Parts<D> b) {
  Parts<D> found = product_of_parts(a.head, b.head);
  return {found.head, (D)(found.rest + (a.head * b.rest + a.rest * b.head))};
}
// The sum of any two (D. Knuth, TAOCP 2, 4.2.2).
template <class D>
SHLO_INLINE Parts<D> sum_of_any(D a, D b) {
  D head = a + b, of_b = head - a;
  return {head, (D)((a - (head - of_b)) + (b - of_b))};
}
// A quotient whose last rounding is almost the only one.
template <class D>
SHLO_INLINE D quotient(Parts<D> over, Parts<D> under) {
  D inverse = 1.0 / under.head, near = over.head * inverse;
  return near + (fma_((D)-near, under.head, over.head) + (over.rest - near * under.rest)) * inverse;
}
// A polynomial whose constant, in two parts, is most of it.
template <class D, class... More>
SHLO_INLINE Parts<D> horner_parts(D x, double rest, double constant, More... more) {
  D rise = horner(x, more...), head = fma_(rise, x, splat<D>(constant));
  return {head, (D)(fma_(rise, x, (D)(constant - head)) + rest)};
}
// log(x), 0 < x < inf, to some 60 bits; x = 2^k (1 + f), sqrt(1/2) < 1 + f < sqrt(2).
template <class D>
SHLO_INLINE Parts<D> log_parts(D x) {
  typedef sint_t<D> I;
  auto tiny = x < splat<D>(0x1p-1022);
  I i = as<I>(tiny ? (D)(x * 0x1p54) : x) - 0x3fe6a09e667f3bcd;
  D k = as<D>((I)((i >> 52) + 0x4338000000000000)) - (tiny ? splat<D>(0x1.8p52 + 54) : splat<D>(0x1.8p52));
  D f = as<D>((I)((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)) - 1.0;
  D s = f / (f + 2.0), z = s * s;
  Parts<D> half = product_of_parts(f, (D)(f * 0.5));
  D small = s * (half.head + z * horner(z, SHLO_LOG)) + (k * 1.90821492927058770002e-10 - half.rest);
  Parts<D> first = sum_of_parts((D)(k * 6.93147180369123816490e-01), f), second = sum_of_parts(first.head, (D)-half.head);
  return sum_of_parts(second.head, (D)(second.rest + first.rest + small));
}
