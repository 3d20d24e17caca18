// Elementary functions of f32 and f64: polynomials; the C library for huge or rare arguments.
// Part of the vocabulary described in values/vec.h. docs/reference/accuracy.md has the errors.
#pragma once
#include "math/power.h"
#include "math/single.h"

// Computed in double and rounded: correctly rounded except for one result in millions.
template <class V, class Fn>
SHLO_INLINE V in_double(V v, Fn fn) {
  if constexpr (same<V, double>) return fn(v);
  else if constexpr (is_scalar<V>) return (float)fn((double)v);
  else if constexpr (is_pair<V>) return V{fn(v.lo), fn(v.hi)};
  else return to_f32(in_double(to_f64(v), fn));
}
template <class V, class Fn>
SHLO_INLINE V in_double(V a, V b, Fn fn) {
  if constexpr (same<V, double> || same<V, f64h>) return fn(a, b);
  else if constexpr (is_scalar<V>) return (float)fn((double)a, (double)b);
  else if constexpr (is_pair<V>) return V{fn(a.lo, b.lo), fn(a.hi, b.hi)};
  else return to_f32(in_double(to_f64(a), to_f64(b), fn));
}

// The C library's function for angles so large that `y` is not accurate; not inlined into the enclosing loops.
template <class E>
static __attribute__((noinline, cold)) void each_of(E* x, int n, E (*function)(E)) {
  for (int i = 0; i < n; i++) x[i] = function(x[i]);
}
template <class V>
SHLO_INLINE V unless_large(V x, V y, double limit, elem_t<V> (*function)(elem_t<V>)) {
  auto large = abs_(x) > splat<V>((elem_t<V>)limit);
  if (__builtin_expect(some(large), 0)) {
    elem_t<V> lane[Type<V>::lanes];
    __builtin_memcpy(lane, &x, sizeof x);
    each_of(lane, Type<V>::lanes, function);
    __builtin_memcpy(&x, lane, sizeof x);
    y = large ? x : y;
  }
  return y;
}

template <class D>
SHLO_INLINE D tan_d(D x) {
  return unless_large(x, tan_f64(x), SHLO_EXACT_TURNS, [](double one) { return __builtin_tan(one); });
}
#define SHLO_FUNCTION(name)                                                                  \
  template <class V> SHLO_INLINE V name##_(V v) {                                            \
    if constexpr (same<elem_t<V>, float>) return name##_f32(v);                              \
    else if constexpr (is_pair<V>) return V{name##_f64(v.lo), name##_f64(v.hi)};             \
    else return name##_f64(v);                                                               \
  }
#define SHLO_BY_DOUBLE(name, function) \
  template <class V> SHLO_INLINE V name(V v) { return in_double(v, [](auto d) { return function(d); }); }
#define SHLO_ANGLE(name)                                                                                             \
  template <class V> SHLO_INLINE V name##_(V v) {                                                                     \
    if constexpr (same<elem_t<V>, float>)                                                                             \
      return unless_large(v, name##_f32(v), SHLO_EXACT_TURNS_F32, [](float x) { return __builtin_##name##f(x); });    \
    else if constexpr (is_pair<V>) return V{name##_(v.lo), name##_(v.hi)};                                            \
    else return unless_large(v, name##_f64(v), SHLO_EXACT_TURNS, [](double x) { return __builtin_##name(x); });       \
  }
SHLO_FUNCTION(exp) SHLO_FUNCTION(expm1) SHLO_FUNCTION(log) SHLO_FUNCTION(log1p) SHLO_FUNCTION(logistic)
SHLO_FUNCTION(tanh) SHLO_FUNCTION(erf) SHLO_FUNCTION(erfc)
SHLO_ANGLE(sin) SHLO_ANGLE(cos)
SHLO_BY_DOUBLE(tan_, tan_d) SHLO_BY_DOUBLE(acos_, acos_f64) SHLO_BY_DOUBLE(asin_, asin_f64)
SHLO_BY_DOUBLE(atan_, atan_f64) SHLO_BY_DOUBLE(acosh_, acosh_f64) SHLO_BY_DOUBLE(asinh_, asinh_f64)
SHLO_BY_DOUBLE(atanh_, atanh_f64) SHLO_BY_DOUBLE(cosh_, cosh_f64) SHLO_BY_DOUBLE(sinh_, sinh_f64)
SHLO_BY_DOUBLE(cbrt_, cbrt_f64)

// ---- two arguments ---------------------------------------------------------------------------------------------------
template <class V> SHLO_INLINE V atan2_(V a, V b) { return in_double(a, b, [](auto y, auto x) { return atan2_f64(y, x); }); }
template <class V>
SHLO_INLINE V pow_(V a, V b) {
  typedef elem_t<V> E;
  if constexpr (same<E, float>) return in_double(a, b, [](auto x, auto y) { return pow_of_singles(x, y); });
  else if constexpr (same<E, double>) return in_double(a, b, [](auto x, auto y) { return pow_f64(x, y); });
  else return per_lane(a, b, [](E x, E y) { return power(x, y); });
}
