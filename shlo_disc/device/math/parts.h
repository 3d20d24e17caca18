// Double-double arithmetic: numbers of more than 53 bits as a sum of two doubles, where a last rounding, or a
// difference, would cost accuracy. fma_, of the target's vocabulary, is a * b + c rounded once; it gives the error of a
// product. Functions of two arguments in parts are exact to some 100 bits (T. Dekker, Numerische Mathematik 18, 1971).
#pragma once
#include "math/polynomial.h"

template <class D>
struct Parts {
  D head, rest;
};
// The sum of two numbers with |a| >= |b|.
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
  return {found.head, (D)(found.rest + (a.head * b.rest + times(a.rest, b.head)))};
}
template <class D, class Mask>
SHLO_INLINE Parts<D> chosen(Mask mask, Parts<D> a, Parts<D> b) {
  return {mask ? a.head : b.head, mask ? a.rest : b.rest};
}
template <class D>
SHLO_INLINE Parts<D> operator-(Parts<D> a) {
  return {-a.head, -a.rest};
}
// The sum of any two (D. Knuth, TAOCP 2, 4.2.2).
template <class D>
SHLO_INLINE Parts<D> sum_of_any(D a, D b) {
  D head = a + b, of_b = head - a;
  return {head, (D)((a - (head - of_b)) + (b - of_b))};
}
template <class D>
SHLO_INLINE Parts<D> sum_of_any(Parts<D> a, Parts<D> b) {
  Parts<D> heads = sum_of_any(a.head, b.head);
  return {heads.head, (D)(heads.rest + (a.rest + b.rest))};
}
template <class D>
SHLO_INLINE Parts<D> quotient_of_parts(Parts<D> over, Parts<D> under) {
  D inverse = 1.0 / under.head, near = over.head * inverse;
  return {near, (D)((fma_((D)-near, under.head, over.head) + (over.rest - near * under.rest)) * inverse)};
}
// A quotient in which the last rounding dominates the error.
template <class D>
SHLO_INLINE D quotient(Parts<D> over, Parts<D> under) {
  Parts<D> found = quotient_of_parts(over, under);
  return found.head + found.rest;
}
// A polynomial dominated by its constant, which is in two parts.
template <class D, class... More>
SHLO_INLINE Parts<D> horner_parts(D x, double rest, double constant, More... more) {
  D rise = horner(x, more...), head = fma_(rise, x, splat<D>(constant));
  return {head, (D)(fma_(rise, x, (D)(constant - head)) + rest)};
}
// A polynomial to some 100 bits: coefficients in two parts, and `end`, the sum of the terms that need only one.
template <class D>
SHLO_INLINE Parts<D> long_horner(Parts<D>, D end) {
  return {end, splat<D>(0)};
}
template <class D, class... More>
SHLO_INLINE Parts<D> long_horner(Parts<D> x, D end, double head, double rest, More... more) {
  Parts<D> rise = product_of_parts(long_horner(x, end, more...), x), sum = sum_of_parts(splat<D>(head), rise.head);
  return {sum.head, (D)(sum.rest + (rise.rest + rest))};
}

// x = 2^k (1 + f), sqrt(1/2) < 1 + f < sqrt(2), for 0 < x < inf.
template <class D>
struct Binary {
  D k, f;
};
template <class D>
SHLO_INLINE Binary<D> split_binary(D x) {
  typedef sint_t<D> I;
  auto tiny = x < splat<D>(0x1p-1022);
  I i = as<I>(tiny ? (D)(x * 0x1p54) : x) - 0x3fe6a09e667f3bcd;
  D k = as<D>((I)((i >> 52) + 0x4338000000000000)) - (tiny ? splat<D>(0x1.8p52 + 54) : splat<D>(0x1.8p52));
  return {k, as<D>((I)((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)) - 1.0};
}
// log(x), 0 < x < inf, to some 60 bits.
template <class D>
SHLO_INLINE Parts<D> log_parts(D x) {
  Binary<D> b = split_binary(x);
  D s = b.f / (b.f + 2.0), z = s * s;
  Parts<D> half = product_of_parts(b.f, (D)(b.f * 0.5));
  D small = s * (half.head + z * horner(z, SHLO_LOG)) + (b.k * 1.90821492927058770002e-10 - half.rest);
  Parts<D> first = sum_of_parts((D)(b.k * 6.93147180369123816490e-01), b.f);
  Parts<D> second = sum_of_parts(first.head, (D)-half.head);
  return sum_of_parts(second.head, (D)(second.rest + first.rest + small));
}
// The same to some 100 bits: 2 s + s^3 p(s^2), s = f / (f + 2), and k log(2), in three parts.
template <class D>
SHLO_INLINE Parts<D> full_log(Parts<D> x) {
  Binary<D> b = split_binary(x.head);
  D rest = x.rest / x.head * (b.f + 1.0);
  Parts<D> under = sum_of_parts(splat<D>(2), b.f);
  Parts<D> s = quotient_of_parts(Parts<D>{b.f, rest}, Parts<D>{under.head, (D)(under.rest + rest)});
  Parts<D> z = product_of_parts(s, s);
  Parts<D> p = long_horner(z, horner(z.head, SHLO_LOG_FULL_END), SHLO_LOG_FULL);
  Parts<D> tail = product_of_parts(product_of_parts(s, z), p);
  Parts<D> low = product_of_parts(b.k, splat<D>(1.90821492927058770002e-10));
  low.rest = low.rest + b.k * 0x1.cc01f97b57a08p-87;
  Parts<D> high = sum_of_any((D)(b.k * 6.93147180369123816490e-01), (D)(s.head * 2.0));
  high.rest = high.rest + 2.0 * s.rest;
  return sum_of_any(sum_of_any(high, tail), low);
}
