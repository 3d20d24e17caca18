// Rounding to whole numbers, square roots, FMA, finiteness: one instruction each. Part of the vocabulary described in
// values/vec.h.
#pragma once
#include "math/integer.h"

template <class V, class Fn>
SHLO_INLINE V lane_by_lane(V v, Fn fn) {
  if constexpr (is_scalar<V>) return fn(v);
  else {
    elem_t<V> x[16];
    __builtin_memcpy(x, &v, sizeof v);
    for (int i = 0; i < Type<V>::lanes; i++) x[i] = fn(x[i]);
    __builtin_memcpy(&v, x, sizeof v);
    return v;
  }
}

#if defined(SHLO_AVX512) && !defined(__clang__)
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (same<V, f32v>) return __builtin_ia32_rndscaleps_mask(v, how, v, (uint16_t)-1, 4);                  \
    else if constexpr (same<V, f64h>) return __builtin_ia32_rndscalepd_mask(v, how, v, (uint8_t)-1, 4);              \
    else if constexpr (is_pair<V>) return V{name(v.lo), name(v.hi)};                                                \
    else if constexpr (same<V, float>) return __builtin_##function##f(v);                                           \
    else return __builtin_##function(v);                                                                            \
  }
#elif defined(__clang__)
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (is_pair<V>) return V{name(v.lo), name(v.hi)};                                                     \
    else return __builtin_elementwise_##function(v);                                                                \
  }
#else
#define SHLO_ROUNDING(name, function, how)                                                                          \
  template <class V> SHLO_INLINE V name(V v) {                                                                      \
    if constexpr (same<elem_t<V>, float>) return lane_by_lane(v, [](float x) { return __builtin_##function##f(x); });  \
    else return lane_by_lane(v, [](double x) { return __builtin_##function(x); });                                  \
  }
#endif
SHLO_ROUNDING(floor_, floor, 9) SHLO_ROUNDING(ceil_, ceil, 10) SHLO_ROUNDING(trunc_, trunc, 11)
SHLO_ROUNDING(round_even, rint, 8)

template <class V>
SHLO_INLINE V round_afz(V v) {
  typedef uint_t<V> U;
  typedef elem_t<U> W;
  // The largest number below a half, with the sign of v: adding a half itself would carry from 0.5 - ulp.
  constexpr elem_t<V> below_half = sizeof(W) == 4 ? elem_t<V>(0x1.fffffep-2) : elem_t<V>(0x1.fffffffffffffp-2);
  U sign = as<U>(v) & (W)(W(1) << (sizeof(W) * 8 - 1));
  return trunc_(v + as<V>(as<U>(splat<V>(below_half)) | sign));
}
template <class V>
SHLO_INLINE V sqrt_(V v) {
  if constexpr (is_pair<V>) return V{sqrt_(v.lo), sqrt_(v.hi)};
#if defined(__clang__)
  else return __builtin_elementwise_sqrt(v);
#else
#ifdef SHLO_AVX512
  else if constexpr (same<V, f32v>) return __builtin_ia32_sqrtps512_mask(v, v, (uint16_t)-1, 4);
  else if constexpr (same<V, f64h>) return __builtin_ia32_sqrtpd512_mask(v, v, (uint8_t)-1, 4);
#endif
  else if constexpr (same<elem_t<V>, float>) return lane_by_lane(v, [](float x) { return __builtin_sqrtf(x); });
  else return lane_by_lane(v, [](double x) { return __builtin_sqrt(x); });
#endif
}
// a * b + c, rounded once.
template <class D>
SHLO_INLINE D fma_(D a, D b, D c) {
  if constexpr (is_scalar<D>) return __builtin_fma(a, b, c);
#if defined(__clang__)
  else return __builtin_elementwise_fma(a, b, c);
#else
#ifdef SHLO_AVX512
  else if constexpr (same<D, f64h>) return __builtin_ia32_vfmaddpd512_mask(a, b, c, (uint8_t)-1, 4);
#endif
  else {
    for (int i = 0; i < Type<D>::lanes; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
  }
#endif
}
template <class V> SHLO_INLINE V rsqrt_(V v) { return elem_t<V>(1) / sqrt_(v); }
template <class V> SHLO_INLINE mask_t<V> is_finite(V v) { return eq((V)(v - v), splat<V>(0)); }
