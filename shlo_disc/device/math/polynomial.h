// Polynomials, and functions of doubles for both targets: D is a double, or a register of doubles.
// They use the vocabulary of the target that includes them (values/vec.h, call/shlo.cuh).
#pragma once
#include "math/coefficients.h"

template <class D> SHLO_INLINE D horner(D, double c) { return splat<D>((elem_t<D>)c); }
template <class D, class... More>
SHLO_INLINE D horner(D x, double c, More... more) {
  return horner(x, more...) * x + (elem_t<D>)c;
}
// The sign of `from` on a magnitude.
template <class D>
SHLO_INLINE D signed_like(D magnitude, D from) {
  typedef uint_t<D> U;
  return as<D>((U)(as<U>(magnitude) | (as<U>(from) & 0x8000000000000000u)));
}
