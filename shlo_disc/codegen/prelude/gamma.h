// The gamma function's logarithm, its derivatives, and the Hurwitz zeta function.
#pragma once
#include "parts.h"

// Where x < 0 the sines of pi |x|: of the distance from the nearest whole number, which is exact.
template <class D>
SHLO_INLINE D from_whole(D a) {
  return a - round_even(a);
}

// lgamma(y) on [1, 3] is (y - 1) (y - 2) p(y); elsewhere below 8 by the recurrence, from there on Stirling's series.
template <class D>
SHLO_OUTLINE D lgamma_d(D x) {
  D a = abs_(x), one = splat<D>(1), product = one, down = splat<D>(2);
  auto below = a < one;
  for (int k = 1; k <= 5; k++) {
    D factor = a - (double)k;
    auto above = factor >= splat<D>(2);
    product = above ? (D)(product * factor) : product;
    down = above ? splat<D>(k + 2) : down;
  }
  D y = below ? (D)(a - 1.0) : (D)(a - down);  // exact, and -1 .. 1
  Parts<D> p = horner_parts(y, SHLO_LGAMMA);
  D square = (y + 1.0) * y, near = square * p.head + square * p.rest;
  auto large = a >= splat<D>(8);
  Parts<D> log = log_parts((large | below) ? a : product);
  D z = one / a;
  D far = (a - 0.5) * (log.head - 1.0) + (horner((D)(z * z), SHLO_STIRLING) * z + 0.41893853320467274 + (a - 0.5) * log.rest);
  near = (near + (below ? (D)-log.head : log.head)) + (below ? (D)-log.rest : log.rest);
  D found = large ? far : near;
  found = a == splat<D>(0) ? splat<D>(inf_f64()) : found;
  auto negative = x < splat<D>(-0x1p-60);  // nearer to 0, -log |x| is right on either side
  if (some(negative)) {
    D sine = abs_(sin_((D)(from_whole(a) * 3.141592653589793)));
    D reflected = log_((D)(3.141592653589793 / (a * sine))) - found;
    found = negative ? (sine == splat<D>(0) ? splat<D>(inf_f64()) : reflected) : found;
  }
  return a - a == splat<D>(0) ? found : a;
}

// digamma(y) on [1, 5/2] is (y - root) p(y); below by the recurrence, above log(w) and a series of w = y - 1/2 (which has
// even powers only).
template <class D>
SHLO_OUTLINE D digamma_d(D x) {
  D a = abs_(x), one = splat<D>(1), zero = splat<D>(0);
  auto below = a < one, large = a > splat<D>(2.5);
  D y = below ? (D)(a - 0.75) : (D)(a - 1.75);
  D from_root = (y + 0x1.2749e73p-2) - 0x1.6be3f6e1a9c88p-32;  // the root, less 7/4, in two parts
  D near = from_root * horner(y, SHLO_DIGAMMA), w = a - 0.5, z = one / (large ? w : a);
  D far = log_(large ? w : one) + z * z * horner((D)(z * z), SHLO_DIGAMMA_TAIL);
  D found = large ? far : near;
  auto negative = x < zero;
  if (some(negative)) {  // digamma(1 + a) + pi / tan(pi a)
    D turn = from_whole(a) * 3.141592653589793, after = below ? found : (D)(found + 1.0 / a);
    found = negative ? (D)(after + 3.141592653589793 * (cos_(turn) / sin_(turn))) : found;
  }
  D under_one = z > splat<D>(0x1p60) ? (D)-z : (D)((found - z) - fma_((D)-z, a, one) * z);
  found = (below & (x >= zero)) ? under_one : found;
  auto pole = (x <= zero) & (floor_(x) == x);
  return pole ? splat<D>(nan_f64()) : found;
}

// a^-x for a > 0; `Exact`: as exact as the C library's, else with the error of a product in the exponent.
template <bool Exact, class D>
SHLO_INLINE D inverse_power(D a, D x) {
  if constexpr (Exact) return pow_(a, (D)-x);
  else return a == splat<D>(1) ? a : exp_((D)(-x * log_(a)));
}
// (q + k)^-x; what the sum loses counts x times.
template <bool Exact, class D>
SHLO_INLINE D inverse_power(D q, double k, D x) {
  if constexpr (!Exact) return inverse_power<Exact>((D)(q + k), x);
  else {
    Parts<D> a = sum_of_any(q, splat<D>(k));
    D power = inverse_power<Exact>(a.head, x), more = power * (x * (a.rest / a.head));
    return abs_(more) < splat<D>(inf_f64()) ? (D)(power - more) : power;
  }
}
// zeta(x, q) for x > 1, q > 0: ten terms, and the rest by Euler and Maclaurin's formula (Cephes, zeta.c).
template <bool Exact, class D>
SHLO_OUTLINE D zeta_of_positive(D x, D q) {
  D sum = inverse_power<Exact>(q, x);
  for (int k = 1; k < 10; k++) sum = sum + inverse_power<Exact>(q, (double)k, x);
  D a = q + 10.0, power = inverse_power<Exact>(q, 10.0, x), z = 1.0 / a;
  D rest = a / (x - 1.0) + 0.5, rising = x, falling = z;  // in units of `power`
  const double bernoulli[] = {  // B(2k) / (2k)!
      1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368e3, 1. / 74724249600.,
      -3617. / 1067062284288e4, 43867. / 5109094217170944e3, -174611. / 802857662698291200e3};
  for (int k = 0; k < 10; k++) {
    rest = rest + rising * falling * bernoulli[k];
    rising = rising * ((x + (2. * k + 1)) * (x + (2. * k + 2)));
    falling = falling * (z * z);
  }
  return abs_(power) <= abs_(sum) * 0x1p-54 ? sum : (D)(sum + power * rest);
}
// q < 0, x whole: the terms of q + k < 0 are those of zeta(x, ceil(q) - q) - zeta(x, 1 - q). If x is odd they cancel with
// the first terms above 0, so the ten largest of both are combined one by one. Elsewhere as SciPy has it.
template <bool Exact, class D>
SHLO_OUTLINE D zeta_d(D x, D q) {
  D zero = splat<D>(0), one = splat<D>(1), ten = splat<D>(10), nan = splat<D>(nan_f64()), infinity = splat<D>(inf_f64());
  D whole = floor_(q), count = -whole, combined = count < ten ? count : ten;
  D half = x * 0.5, of_half = floor_(half), of_x = floor_(x);
  auto negative = (q < zero) & (whole < q), even = (of_half == half) & (x - x == zero);
  D above = q - whole, below = ceil_(q) - q;
  D found = zeta_of_positive<Exact>(x, negative ? (D)(above + combined) : q);
  if (some(negative)) {
    D sum = zero, from = zeta_of_positive<Exact>(x, (D)(below + combined)), to = zeta_of_positive<Exact>(x, (D)(one - q));
    for (int k = 0; k < 10; k++) {
      D a = inverse_power<Exact>(above, (double)k, x), b = inverse_power<Exact>(below, (double)k, x);
      D both = even ? (D)(a + b) : a == b ? zero : (D)(a - b);  // infinite ones too
      sum = combined > splat<D>(k) ? (D)(sum + both) : sum;
    }
    D rest = even ? (D)(found + (from - to)) : (D)((found - from) + to);
    found = negative ? (D)(rest + sum) : found;
  }
  found = ((x > one) & (q == q) & ((q > zero) | ((of_x == x) & (x < infinity)))) ? found : nan;
  found = ((q <= zero) & (whole == q)) ? (even ? infinity : nan) : found;
  return x == one ? infinity : found;
}

template <bool Exact, class D>
SHLO_OUTLINE D polygamma_d(D n, D x) {
  D zero = splat<D>(0), factorial = splat<D>(1), half = n * 0.5;
  for (int k = 2; k <= 171; k++) {
    auto more = n >= splat<D>(k);
    if (!some(more)) break;
    factorial = more ? (D)(factorial * (double)k) : factorial;
  }
  D size = factorial * zeta_d<Exact>((D)(n + 1.0), x);
  D found = floor_(half) == half ? (D)-size : size;
  found = n == zero ? digamma_d(x) : found;
  D whole = floor_(n), infinity = splat<D>(inf_f64());
  return ((n >= zero) & (n < infinity) & (whole == n)) ? found : splat<D>(nan_f64());
}
