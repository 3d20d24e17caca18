// The inverse of erf, and the scaled Bessel function I1, of doubles or vectors of them. `SHLO_BY_DOUBLE` extends such a
// function to all floats, on each target.
#pragma once
#include "math/parts.h"

// x p(w), w = -log(1 - x^2); after M. Giles, Approximating the erfinv function, GPU Computing Gems 2 (2011).
template <class D>
SHLO_OUTLINE D erf_inv_d(D x) {
  D one = splat<D>(1), w = -log_((D)((one - x) * (one + x)));
  Parts<D> factor = horner_parts((D)(w - 3.0), SHLO_ERF_INV_CENTER);
  auto side = w > splat<D>(6);
  if (some(side)) {
    D root = sqrt_(side ? w : one);
    factor = chosen(side, Parts<D>{horner((D)(root - 3.25), SHLO_ERF_INV_SIDE), splat<D>(0)}, factor);
    auto end = w > splat<D>(16);
    if (some(end)) factor = chosen(end, Parts<D>{horner((D)(root - 5.0), SHLO_ERF_INV_END), splat<D>(0)}, factor);
  }
  D a = abs_(x);
  Parts<D> product = product_of_parts(factor, a);
  D found = a == one ? splat<D>(inf_f64()) : (D)(product.head + product.rest);
  return a <= one ? signed_like(found, x) : splat<D>(nan_f64());
}
SHLO_BY_DOUBLE(erf_inv_, erf_inv_d)

// exp(-|x|) I1(x), in two ranges as in Cephes, i1.c; in the first a quotient whose p varies little.
template <class D>
SHLO_OUTLINE D bessel_i1e_d(D x) {
  D a = abs_(x), eight = splat<D>(8);
  auto large = a > eight;
  D b = large ? eight : a;
  Parts<D> p = horner_parts((D)(b * 0.25 - 1.0), SHLO_BESSEL_I1E_SMALL);
  D slope = b * 0.3125 + 1.0, lost = fma_(b, splat<D>(0.3125), (D)(1.0 - slope));
  Parts<D> rise = product_of_parts(b, slope), under = sum_of_any(rise.head, splat<D>(1));
  D size = quotient(product_of_parts(p, b), Parts<D>{under.head, (D)(under.rest + (rise.rest + b * lost))});
  if (some(large)) size = large ? (D)(horner((D)(16.0 / a - 1.0), SHLO_BESSEL_I1E_LARGE) / sqrt_(a)) : size;
  return signed_like(size, x);
}
SHLO_BY_DOUBLE(bessel_i1e_, bessel_i1e_d)
