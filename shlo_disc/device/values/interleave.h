// Several vectors, interleaved in memory: store_interleaved(p, v0, v1, ..): p[i * count + k] is lane i of vector k.
// store_bool_interleaved: i1.
#pragma once
#include "values/vec.h"

// Register `part` of COUNT interleaved registers: lane i is lane (part * lanes + i) / COUNT of vector
// (part * lanes + i) % COUNT. Shuffle indices that merge vector K into the preceding ones; -1 for lanes of later
// vectors.
template <int COUNT, int PART, int LANES, int K>
constexpr int interleaved(int i) {
  const int at = PART * LANES + i, from = at % COUNT;
  return from == K ? LANES + at / COUNT : from < K ? (K == 1 ? at / COUNT : i) : -1;
}
template <int COUNT, int PART, int K, class B>
SHLO_INLINE B add_interleaved(B a, B b) {
  constexpr int lanes = Type<B>::lanes;
#define SHLO_AT(i) interleaved<COUNT, PART, lanes, K>(i)
  if constexpr (lanes == 8)
    return __builtin_shufflevector(a, b, SHLO_AT(0), SHLO_AT(1), SHLO_AT(2), SHLO_AT(3), SHLO_AT(4), SHLO_AT(5),
                                   SHLO_AT(6), SHLO_AT(7));
  else
    return __builtin_shufflevector(a, b, SHLO_AT(0), SHLO_AT(1), SHLO_AT(2), SHLO_AT(3), SHLO_AT(4), SHLO_AT(5),
                                   SHLO_AT(6), SHLO_AT(7), SHLO_AT(8), SHLO_AT(9), SHLO_AT(10), SHLO_AT(11),
                                   SHLO_AT(12), SHLO_AT(13), SHLO_AT(14), SHLO_AT(15));
#undef SHLO_AT
}
template <int COUNT, int PART, int K, class B>
SHLO_INLINE B interleave_part(const B* vectors) {
  if constexpr (K == 1) return add_interleaved<COUNT, PART, 1>(vectors[0], vectors[1]);
  else return add_interleaved<COUNT, PART, K>(interleave_part<COUNT, PART, K - 1>(vectors), vectors[K]);
}
template <int COUNT, int PART = 0, class B>
SHLO_INLINE void store_parts(char* p, const B* vectors) {
  const B part = interleave_part<COUNT, PART, COUNT - 1>(vectors);
  __builtin_memcpy(p + PART * sizeof part, &part, sizeof part);
  if constexpr (PART + 1 < COUNT) store_parts<COUNT, PART + 1>(p, vectors);
}

// For more than 8 vectors, elements are stored one by one: a register would take one shuffle per vector.
template <class T, int COUNT>
SHLO_INLINE void store_columns(T* p, const bytes_t<T> (&vectors)[COUNT]) {
  T columns[COUNT][16];
  __builtin_memcpy(columns, vectors, sizeof columns);
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < COUNT; ++k) p[i * COUNT + k] = columns[k][i];
}

template <class T, class... V>
SHLO_INLINE void store_interleaved(T* p, V... v) {
  constexpr int count = sizeof...(V);
  if constexpr (count > 8) {
    const bytes_t<T> vectors[] = {pack<T>(v)...};
    store_columns(p, vectors);
  } else if constexpr (is_pair<bytes_t<T>>) {
    const decltype(bytes_t<T>::lo) low[] = {v.lo...}, high[] = {v.hi...};
    store_parts<count>((char*)p, low);
    store_parts<count>((char*)(p + 8 * count), high);
  } else {
    const bytes_t<T> vectors[] = {pack<T>(v)...};
    store_parts<count>((char*)p, vectors);
  }
}
template <class... V>
SHLO_INLINE void store_bool_interleaved(uint8_t* p, V... v) {
  store_interleaved((boolean*)p, v...);
}
