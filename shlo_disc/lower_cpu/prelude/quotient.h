// Many numbers over the same one, as softmax divides a row by its sum. Part of the vocabulary described in vec.h.
#pragma once
#include "integer.h"

// x / s. In a loop over x, 1 / s is computed before it. A product is made the nearest quotient by what is left of x
// (Markstein 1990), which is exact where it does not underflow: 4 instructions that multipliers pass in a cycle each,
// where a division takes 10 (Zen 4). Of an x or a quotient below 2^-100 the last bit may differ from that of a division.
template <class V>
SHLO_INLINE V over(V x, elem_t<V> s) {
#ifdef __FMA__
  if constexpr (same<V, f32v>) {
    const float r = 1.f / s;
    if (__builtin_expect((r - r != 0) & (s != 0), 0)) return x / splat<V>(s);  // |s| < 2^-128, or a NaN
    const V q = x * r, rest = x - q * s;
    return abs_(rest) < splat<V>(__builtin_inff()) ? (V)(q + rest * r) : q;  // else q is no finite number, or s is none
  }
#endif
  return x / splat<V>(s);
}
