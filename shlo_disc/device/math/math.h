// Functions of floats. Part of the vocabulary described in values/vec.h; docs/reference/accuracy.md has their errors.
#pragma once
#include "math/elementary.h"
#include "math/gamma.h"
#include "values/gather.h"
#include "math/small.h"
#include "math/special.h"

template <class V>
SHLO_INLINE V lgamma_(V v) {
  return in_double(v, [](auto x) { return lgamma_d<!same<elem_t<V>, float>>(x); });
}
template <class V>
SHLO_INLINE V digamma_(V v) {
  return in_double(v, [](auto x) { return digamma_d<!same<elem_t<V>, float>>(x); });
}
template <class V>
SHLO_INLINE V zeta_(V x, V q) {
  return in_double(x, q, [](auto a, auto b) { return zeta_d<!same<elem_t<V>, float>>(a, b); });
}
template <class V>
SHLO_INLINE V polygamma_(V n, V x) {
  return in_double(n, x, [](auto a, auto b) { return polygamma_d<!same<elem_t<V>, float>>(a, b); });
}
