// Arithmetic that wraps, division, shifts, bit counts, sign. Part of the vocabulary described in values/vec.h.
#pragma once
#include "values/convert.h"

// Lane by lane through memory, for functions that have no vector form.
template <class V, class Fn>
SHLO_INLINE V per_lane(V a, V b, Fn fn) {
  if constexpr (is_scalar<V>) return fn(a, b);
  else {
    elem_t<V> x[Type<V>::lanes], y[Type<V>::lanes];
    __builtin_memcpy(x, &a, sizeof a);
    __builtin_memcpy(y, &b, sizeof b);
    for (int i = 0; i < Type<V>::lanes; i++) x[i] = fn(x[i], y[i]);
    __builtin_memcpy(&a, x, sizeof a);
    return a;
  }
}

#define SHLO_WRAPPING(name, op, logic)                                                                   \
  template <class V> SHLO_INLINE V name(V a, V b) {                                                      \
    if constexpr (is_mask<V>) return a logic b;                                                          \
    else if constexpr (is_real<V>) return a op b;                                                        \
    else if constexpr (is_scalar<V>) return (V)(1u * (uint_t<V>)a op(uint_t<V>) b); /* not in int */     \
    else return as<V>(as<uint_t<V>>(a) op as<uint_t<V>>(b));                                             \
  }
SHLO_WRAPPING(add_, +, |) SHLO_WRAPPING(sub_, -, ^) SHLO_WRAPPING(mul_, *, &)

template <class V>
SHLO_INLINE V neg_(V a) {
  if constexpr (is_mask<V>) return a;
  else if constexpr (is_real<V>) return -a;
  else return sub_(splat<V>(0), a);
}
template <class V>
SHLO_INLINE V max_(V a, V b) {
  if constexpr (is_mask<V>) return a | b;
  else if constexpr (is_pair<V>) return V{larger(a.lo, b.lo), larger(a.hi, b.hi)};
  else return larger(a, b);
}
template <class V>
SHLO_INLINE V min_(V a, V b) {
  if constexpr (is_mask<V>) return a & b;
  else if constexpr (is_pair<V>) return V{smaller(a.lo, b.lo), smaller(a.hi, b.hi)};
  else return smaller(a, b);
}
template <class V>
SHLO_INLINE V abs_(V a) {
  if constexpr (is_real<V>) {
    typedef uint_t<V> U;
    return as<V>(as<U>(a) & (elem_t<U>)((elem_t<U>)-1 >> 1));
  } else if constexpr (is_signed<V>) return select(lt(a, splat<V>(0)), neg_(a), a);
  else return a;
}
template <class V>
SHLO_INLINE V sign_(V a) {
  V zero = splat<V>(0), one = splat<V>(1);
  if constexpr (is_signed<V>) return select(gt(a, zero), one, select(lt(a, zero), splat<V>(-1), a));
  else return select(gt(a, zero), one, a);
}

template <class E>
SHLO_INLINE E divide(E a, E b) {
  if (b == 0) return (E)-1;
  if (E(-1) < E(0) && b == (E)-1) return neg_(a);
  return a / b;
}
template <class V>
SHLO_INLINE V div_(V a, V b) {
  typedef elem_t<V> E;
  if constexpr (is_real<V>) return a / b;
  else if constexpr (is_scalar<V> || sizeof(E) == 8) return per_lane(a, b, [](E x, E y) { return divide(x, y); });
  else {
    // Quotients of 32-bit integers are exact in double; MIN/-1 wraps when it is narrowed from 64 bits.
    f64v quotient = to_f64(a) / to_f64(b);
    V whole = convert<E>(to_i64(quotient));
    return select(eq(b, splat<V>(0)), splat<V>((E)-1), whole);
  }
}
template <class V>
SHLO_INLINE V rem_(V a, V b) {
  typedef elem_t<V> E;
  if constexpr (same<E, float>) return per_lane(a, b, [](E x, E y) { return __builtin_fmodf(x, y); });
  else if constexpr (same<E, double>) return per_lane(a, b, [](E x, E y) { return __builtin_fmod(x, y); });
  else return select(eq(b, splat<V>(0)), a, sub_(a, mul_(div_(a, b), b)));
}

// Shifts by `width` or more (as unsigned) give 0, or the sign.
#define SHLO_SHIFT(name, value_t, op, beyond)                                                             \
  template <class V> SHLO_INLINE V name(V a, V distance) {                                                \
    typedef uint_t<V> U;                                                                                  \
    typedef elem_t<U> W;                                                                                  \
    constexpr W width = sizeof(W) * 8;                                                                    \
    auto inside = lt(as<U>(distance), splat<U>(width));                                                   \
    auto by = as<value_t>(select(inside, as<U>(distance), splat<U>(W(width - 1))));                       \
    value_t moved = (value_t)(as<value_t>(a) op by);                                                      \
    return as<V>(beyond);                                                                                 \
  }
SHLO_SHIFT(shl, U, <<, select(inside, moved, splat<U>(0)))
SHLO_SHIFT(shr_l, U, >>, select(inside, moved, splat<U>(0)))
SHLO_SHIFT(shr_a, sint_t<V>, >>, moved)

template <class V>
SHLO_INLINE V popcnt(V a) {
  typedef uint_t<V> U;
  typedef elem_t<U> W;
  constexpr W ones = (W)-1;
  U x = as<U>(a);
  x = (U)(x - (U)(x >> W(1) & W(ones / 3)));
  x = (U)((U)(x & W(ones / 15 * 3)) + (U)(x >> W(2) & W(ones / 15 * 3)));
  x = (U)((U)(x + (U)(x >> W(4))) & W(ones / 255 * 15));
  if constexpr (sizeof(W) > 1) x = (U)(x + (U)(x >> W(8)));
  if constexpr (sizeof(W) > 2) x = (U)(x + (U)(x >> W(16)));
  if constexpr (sizeof(W) > 4) x = (U)(x + (U)(x >> W(32)));
  return as<V>((U)(x & W(0x7f)));
}
template <class V>
SHLO_INLINE V clz(V a) {
  typedef uint_t<V> U;
  typedef elem_t<U> W;
  U x = as<U>(a);
  x = (U)(x | x >> W(1));
  x = (U)(x | x >> W(2));
  x = (U)(x | x >> W(4));
  if constexpr (sizeof(W) > 1) x = (U)(x | x >> W(8));
  if constexpr (sizeof(W) > 2) x = (U)(x | x >> W(16));
  if constexpr (sizeof(W) > 4) x = (U)(x | x >> W(32));
  return as<V>(popcnt((U)~x));
}

template <class E>
SHLO_INLINE E power(E a, E b) {
  if (b < 0) return a == 1 ? E(1) : a == (E)-1 ? E(b & 1 ? -1 : 1) : E(0);
  E result = 1;
  for (uint_t<E> left = b; left; left >>= 1) {
    if (left & 1) result = mul_(result, a);
    a = mul_(a, a);
  }
  return result;
}

// IEEE total order: -NaN < -inf < .. < -0 < +0 < .. < NaN.
template <class V>
SHLO_INLINE auto total_key(V x) {
  if constexpr (is_real<V>) {
    typedef sint_t<V> I;
    typedef uint_t<V> U;
    typedef elem_t<I> W;
    I bits = as<I>(x), sign = bits >> (W)(sizeof(W) * 8 - 1);
    return as<I>(as<U>(bits) ^ (as<U>(sign) >> (elem_t<U>)1));
  } else return x;
}
#define SHLO_TOTAL(name) \
  template <class V> SHLO_INLINE mask_t<V> t_##name(V a, V b) { return name(total_key(a), total_key(b)); }
SHLO_TOTAL(eq) SHLO_TOTAL(ne) SHLO_TOTAL(lt) SHLO_TOTAL(le) SHLO_TOTAL(gt) SHLO_TOTAL(ge)
