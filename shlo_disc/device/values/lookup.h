// Tables of 16 constants in one or two registers: lookups access no memory.
// Part of the vocabulary described in values/vec.h.
#pragma once
#include "values/vec.h"

#ifdef SHLO_AVX512
// Lanes of the concatenation of a and b: at[i] modulo twice the lanes of one.
template <class R>
SHLO_INLINE R permute(R a, R b, R at) {
#ifdef __clang__
  typedef lanes_t<char, 64> bytes;
  typedef lanes_t<short, 32> shorts;
  typedef lanes_t<long long, 8> longs;
  if constexpr (sizeof(a[0]) == 1) return (R)__builtin_ia32_vpermi2varqi512((bytes)a, (bytes)at, (bytes)b);
  else if constexpr (sizeof(a[0]) == 2) return (R)__builtin_ia32_vpermi2varhi512((shorts)a, (shorts)at, (shorts)b);
  else if constexpr (sizeof(a[0]) == 4) return (R)__builtin_ia32_vpermi2vard512((i32v)a, (i32v)at, (i32v)b);
  else return (R)__builtin_ia32_vpermi2varq512((longs)a, (longs)at, (longs)b);
#else
  return __builtin_shuffle(a, b, at);
#endif
}
#endif

// table[at modulo 16], for a scalar or for each lane.
template <class V>
SHLO_INLINE V looked_up(const elem_t<V> (&table)[16], sint_t<V> at) {
  if constexpr (is_scalar<V>) return table[at & 15];
  else {
#ifdef SHLO_AVX512
    typedef sint_t<V> I;
    constexpr int lanes = Type<V>::lanes;
    I first, last;
    __builtin_memcpy(&first, table, sizeof first);
    __builtin_memcpy(&last, table + (16 - lanes), sizeof last);
    return as<V>(permute(first, last, at));
#else
    elem_t<V> found[Type<V>::lanes];
    for (int i = 0; i < Type<V>::lanes; i++) found[i] = table[at[i] & 15];
    V v;
    __builtin_memcpy(&v, found, sizeof v);
    return v;
#endif
  }
}
