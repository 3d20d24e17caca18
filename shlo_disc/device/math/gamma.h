// The gamma function's logarithm, its derivatives, and the Hurwitz zeta function.
#pragma once
#include "math/parts.h"

// Argument reduction for sin(pi |x|), x < 0: the signed distance from the nearest whole number, which is exact.
template <class D>
SHLO_INLINE D from_whole(D a) {
  return a - round_even(a);
}

// lgamma(-a), a > 0, is log |gamma(y) / (a (a - 1) .. g)|, g the distance from a pole: y = 1 + g or, beyond the
// pole, 2 - g, divided by 1 - g too. Near a root below -2 the logarithms cancel, and are computed to 100 bits.
template <class D>
SHLO_OUTLINE D lgamma_of_negative(D a) {
  D zero = splat<D>(0), one = splat<D>(1), whole = round_even(a), past = a - whole, g = abs_(past);
  auto beyond = past > zero, far = whole > splat<D>(17), with_roots = whole >= splat<D>(2);
  Parts<D> inner = product_of_parts(sum_of_any(one, (D)-g), g);  // (y - 1) (2 - y)
  Parts<D> under = chosen(beyond, inner, Parts<D>{g, zero});
  for (int k = 0; k < 17; k++) {
    auto more = (far ? zero : whole) > splat<D>(k);
    if (!some(more)) break;
    under = chosen(more, product_of_parts(under, (D)(a - (double)k)), under);  // the factor is exact
  }
  Parts<D> log = log_parts(far ? a : under.head);
  Parts<D> near = product_of_parts(inner, horner_parts(beyond ? (D)-g : (D)(g - 1.0), SHLO_LGAMMA));
  near.rest = near.rest + under.rest / under.head;
  Parts<D> found = -sum_of_any(near, log);
  if (some(far)) {  // log(pi / (a sin(pi g))) and Stirling's series
    D z = one / a, rest = horner((D)(z * z), SHLO_STIRLING) * z - 0.22579135264472744;
    Parts<D> grown = sum_of_any(product_of_parts(log, (D)(a + 0.5)), Parts<D>{(D)-a, rest});
    Parts<D> reflected = sum_of_any(grown, log_parts((D)sin_((D)(g * 3.141592653589793))));
    found = chosen(far, -reflected, found);
  }
  auto small = abs_(found.head) < splat<D>(0x1p-5);
  auto at_root = small & with_roots;
  if (some(at_root)) {
    D t = beyond ? (D)(0.5 - g) : (D)(g - 0.5);
    Parts<D> p = long_horner(Parts<D>{t, zero}, horner(t, SHLO_LGAMMA_LONG_END), SHLO_LGAMMA_LONG);
    found = chosen(at_root, -sum_of_any(product_of_parts(inner, p), full_log(under)), found);
  }
  return g == zero ? splat<D>(inf_f64()) : (D)(found.head + found.rest);
}
// lgamma(y) on [1, 3] is (y - 1) (y - 2) p(y); elsewhere below 8 by the recurrence, from there on Stirling's series.
// `Exact`: within two ulps also near the roots below 0.
template <bool Exact, class D>
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
  D square = (y + 1.0) * y, near = square * p.head + times(square, p.rest);
  auto large = a >= splat<D>(8);
  Parts<D> log = log_parts((large | below) ? a : product);
  D z = one / a;
  D far = (a - 0.5) * (log.head - 1.0) + (horner((D)(z * z), SHLO_STIRLING) * z + 0.41893853320467274 + (a - 0.5) * log.rest);
  near = (near + (below ? (D)-log.head : log.head)) + (below ? (D)-log.rest : log.rest);
  D found = large ? far : near;
  found = a == splat<D>(0) ? splat<D>(inf_f64()) : found;
  auto negative = x < splat<D>(-0x1p-60);  // nearer to 0, -log |x| is accurate for both signs
  if (some(negative)) {
    if constexpr (Exact) {
      D below_zero = lgamma_of_negative(negative ? a : one);
      found = negative ? below_zero : found;
    } else {
      D sine = abs_(sin_((D)(from_whole(a) * 3.141592653589793)));
      D reflected = log_((D)(3.141592653589793 / (a * sine))) - found;
      found = negative ? (sine == splat<D>(0) ? splat<D>(inf_f64()) : reflected) : found;
    }
  }
  return a - a == splat<D>(0) ? found : a;
}

// pi / tan(pi a), given a's distance past a whole number, by a polynomial p(past^2 - 1/8).
template <class D, class Polynomial>
SHLO_INLINE Parts<D> cotangent(D past, Polynomial p) {
  D zero = splat<D>(0);
  Parts<D> square = product_of_parts(past, past), t = sum_of_any(square, Parts<D>{splat<D>(-0.125), zero});
  Parts<D> bend = product_of_parts(square, p(t)), unit = {splat<D>(1), zero};
  return quotient_of_parts(sum_of_any(unit, -bend), Parts<D>{past, zero});
}
// digamma(1 + a) + pi / tan(pi a), a >= 0.4, to 100 bits: digamma(1 + a) is digamma(w), w >= 12, less
// 1 / (1 + a) + .. + 1 / (w - 1), which is one quotient.
template <class D>
SHLO_OUTLINE D full_digamma_of_negative(D a) {
  Parts<D> unit = {splat<D>(1), splat<D>(0)}, none = {splat<D>(0), splat<D>(0)};
  Parts<D> w = sum_of_any(a, splat<D>(1)), over = none, under = unit;
  for (int k = 2; k <= 12; k++) {
    auto more = w.head < splat<D>(12);
    if (!some(more)) break;
    over = chosen(more, sum_of_any(product_of_parts(over, w), under), over);
    under = chosen(more, product_of_parts(under, w), under);
    w = chosen(more, sum_of_any(a, splat<D>(k)), w);
  }
  Parts<D> v = quotient_of_parts(unit, w), z = product_of_parts(v, v);
  Parts<D> series = product_of_parts(z, long_horner(z, horner(z.head, SHLO_DIGAMMA_SERIES_END), SHLO_DIGAMMA_SERIES));
  Parts<D> grown = sum_of_any(full_log(w), Parts<D>{(D)(v.head * -0.5), (D)(v.rest * -0.5)});
  grown = sum_of_any(sum_of_any(grown, -quotient_of_parts(over, under)), series);
  Parts<D> found = sum_of_any(grown, cotangent(from_whole(a), [](Parts<D> t) {
    return long_horner(t, horner(t.head, SHLO_COTANGENT_LONG_END), SHLO_COTANGENT_LONG);
  }));
  return found.head + found.rest;
}
// digamma(-a), a >= 2^-60: digamma(3 + a) - 1 / (1 + a) - 1 / (2 + a) + pi / tan(pi a), to some 60 bits; this does not
// suffice near the roots, of which there is one between any two poles.
template <class D>
SHLO_OUTLINE D digamma_of_negative(D a) {
  Parts<D> w = sum_of_any(a, splat<D>(2.5)), turn = cotangent(from_whole(a), [](Parts<D> t) {
    return long_horner(t, horner(t.head, SHLO_COTANGENT_END), SHLO_COTANGENT);
  });
  D z = 1.0 / w.head;
  Parts<D> first = sum_of_any(a, splat<D>(1)), second = sum_of_any(a, splat<D>(2));
  Parts<D> two = quotient_of_parts(sum_of_any(first, second), product_of_parts(first, second)), log = log_parts(w.head);
  log.rest = log.rest + (times(w.rest, z) + z * z * horner((D)(z * z), SHLO_DIGAMMA_TAIL));
  Parts<D> found = sum_of_any(sum_of_any(log, -two), turn);
  D near = found.head + found.rest;
  auto small = abs_(near) < log.head * 0x1p-5;
  return some(small) ? (small ? full_digamma_of_negative(small ? a : splat<D>(1)) : near) : near;
}
// digamma(y) on [1, 5/2] is (y - root) p(y); below by the recurrence, above log(w) and a series of w = y - 1/2 (which has
// even powers only). `Exact`: within two ulps also near the roots below 0.
template <bool Exact, class D>
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
    if constexpr (Exact) {
      D below_zero = digamma_of_negative((negative & (a >= splat<D>(0x1p-60))) ? a : one);
      found = negative ? (a < splat<D>(0x1p-60) ? z : below_zero) : found;
    } else {
      D turn = from_whole(a) * 3.141592653589793, after = below ? found : (D)(found + 1.0 / a);
      found = negative ? (D)(after + 3.141592653589793 * (cos_(turn) / sin_(turn))) : found;
    }
  }
  D under_one = z > splat<D>(0x1p60) ? (D)-z : (D)((found - z) - fma_((D)-z, a, one) * z);
  found = (below & (x >= zero)) ? under_one : found;
  auto pole = (x <= zero) & (floor_(x) == x);
  return pole ? splat<D>(nan_f64()) : found;
}

// a^-x for a > 0; `Exact`: as accurate as the C library's, else with the rounding error of a product in the exponent.
template <bool Exact, class D>
SHLO_INLINE D inverse_power(D a, D x) {
  if constexpr (Exact) return pow_(a, (D)-x);
  else return a == splat<D>(1) ? a : exp_((D)(-x * log_(a)));
}
// (q + k)^-x, corrected for the rounding of q + k, which counts x times.
template <bool Exact, class D>
SHLO_INLINE Parts<D> inverse_power(D q, double k, D x) {
  D zero = splat<D>(0);
  if constexpr (!Exact) return {inverse_power<Exact>((D)(q + k), x), zero};
  else {
    Parts<D> a = sum_of_any(q, splat<D>(k));
    D power = inverse_power<Exact>(a.head, x), more = power * (x * (a.rest / a.head));
    return {power, abs_(more) < splat<D>(inf_f64()) ? (D)-more : zero};
  }
}
// The sum of terms of a zeta function; `Exact`: compensated for the rounding of additions, if finite.
template <bool Exact, class D>
SHLO_INLINE Parts<D> sum_of_terms(Parts<D> a, Parts<D> b) {
  if constexpr (!Exact) return {(D)(a.head + b.head), a.rest};
  else {
    Parts<D> sum = sum_of_any(a, b);
    return {sum.head, sum.rest - sum.rest == splat<D>(0) ? sum.rest : splat<D>(0)};
  }
}
// zeta(x, q) for x > 1, q > 0: ten terms, and the rest by the Euler-Maclaurin formula (Cephes, zeta.c).
template <bool Exact, class D>
SHLO_OUTLINE Parts<D> zeta_of_positive(D x, D q) {
  D zero = splat<D>(0);
  Parts<D> sum = {inverse_power<Exact>(q, x), zero};
  for (int k = 1; k < 10; k++) sum = sum_of_terms<Exact>(sum, inverse_power<Exact>(q, (double)k, x));
  Parts<D> a = sum_of_any(q, splat<D>(10)), power = inverse_power<Exact>(q, 10.0, x);
  D z = 1.0 / a.head, rising = x, falling = z, series = splat<D>(0.5);  // in units of `power`
  const double bernoulli[] = {  // B(2k) / (2k)!
      1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368e3, 1. / 74724249600.,
      -3617. / 1067062284288e4, 43867. / 5109094217170944e3, -174611. / 802857662698291200e3};
  for (int k = 0; k < 10; k++) {
    series = series + rising * falling * bernoulli[k];
    rising = rising * ((x + (2. * k + 1)) * (x + (2. * k + 2)));
    falling = falling * (z * z);
  }
  Parts<D> rest = quotient_of_parts(a, sum_of_any(x, splat<D>(-1)));
  rest = product_of_parts(power, sum_of_any(rest, Parts<D>{series, zero}));
  return chosen(abs_(power.head) <= abs_(sum.head) * 0x1p-54, sum, sum_of_terms<Exact>(sum, rest));
}
// q < 0, x whole: the terms of q + k < 0 are those of zeta(x, ceil(q) - q) - zeta(x, 1 - q). If x is odd they cancel with
// the first terms above 0, so the ten largest of both are combined one by one. Otherwise as in SciPy.
template <bool Exact, class D>
SHLO_OUTLINE Parts<D> zeta_parts(D x, D q) {
  D zero = splat<D>(0), one = splat<D>(1), ten = splat<D>(10), nan = splat<D>(nan_f64()), infinity = splat<D>(inf_f64());
  D whole = floor_(q), count = -whole, combined = count < ten ? count : ten;
  D half = x * 0.5, of_half = floor_(half), of_x = floor_(x);
  auto negative = (q < zero) & (whole < q), even = (of_half == half) & (x - x == zero);
  D above = q - whole, below = ceil_(q) - q;
  Parts<D> found = zeta_of_positive<Exact>(x, negative ? (D)(above + combined) : q);
  if (some(negative)) {
    Parts<D> sum = {zero, zero}, from = zeta_of_positive<Exact>(x, (D)(below + combined));
    Parts<D> to = zeta_of_positive<Exact>(x, (D)(one - q));
    for (int k = 0; k < 10; k++) {
      Parts<D> a = inverse_power<Exact>(above, (double)k, x), b = inverse_power<Exact>(below, (double)k, x);
      // of two infinite terms, the one whose base is nearer to 0 is larger
      D larger = above < below ? infinity : above > below ? (D)-infinity : zero;
      D alike = a.head == infinity ? larger : zero;
      Parts<D> apart = chosen(a.head == b.head, Parts<D>{alike, zero}, sum_of_terms<Exact>(a, -b));
      Parts<D> both = chosen(even, sum_of_terms<Exact>(a, b), apart);
      sum = chosen(combined > splat<D>(k), sum_of_terms<Exact>(sum, both), sum);
    }
    Parts<D> together = sum_of_terms<Exact>(found, sum_of_terms<Exact>(from, -to));
    Parts<D> apart = sum_of_terms<Exact>(sum_of_terms<Exact>(found, -from), to);
    found = chosen(negative, sum_of_terms<Exact>(chosen(even, together, apart), sum), found);
  }
  auto defined = (x > one) & (q == q) & ((q > zero) | ((of_x == x) & (x < infinity)));
  auto pole = ((q <= zero) & (whole == q)) | (x == one);
  D at_pole = (even | (x == one)) ? infinity : nan;
  return {pole ? at_pole : defined ? found.head : nan, (defined & !pole) ? found.rest : zero};
}
template <bool Exact, class D>
SHLO_INLINE D zeta_d(D x, D q) {
  Parts<D> found = zeta_parts<Exact>(x, q);
  return found.head + found.rest;
}

// n! zeta(n + 1, x), with the sign of (-1)^(n + 1).
template <bool Exact, class D>
SHLO_OUTLINE D polygamma_d(D n, D x) {
  D zero = splat<D>(0), half = n * 0.5;
  Parts<D> factorial = {splat<D>(1), zero};
  for (int k = 2; k <= 171; k++) {
    auto more = n >= splat<D>(k);
    if (!some(more)) break;
    factorial = chosen(more, product_of_parts(factorial, splat<D>(k)), factorial);
  }
  Parts<D> zeta = zeta_parts<Exact>((D)(n + 1.0), x), product = product_of_parts(factorial, zeta);
  D size = product.rest - product.rest == zero ? (D)(product.head + product.rest) : product.head;
  D found = floor_(half) == half ? (D)-size : size;
  found = n == zero ? digamma_d<Exact>(x) : found;
  D whole = floor_(n), infinity = splat<D>(inf_f64());
  return ((n >= zero) & (n < infinity) & (whole == n)) ? found : splat<D>(nan_f64());
}
