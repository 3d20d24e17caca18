// Elements that do not follow each other: strided, and anywhere.
#pragma once
#include "vec.h"

// p[at(i)] for each lane i.
template <class B, class T, class At>
SHLO_INLINE B collect(const T* p, At at) {
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    return B{collect<H>(p, at), collect<H>(p, [&](int i) { return at(i + 8); })};
  } else if constexpr (Type<B>::lanes == 8) {
    return B{raw(p[at(0)]), raw(p[at(1)]), raw(p[at(2)]), raw(p[at(3)]),
             raw(p[at(4)]), raw(p[at(5)]), raw(p[at(6)]), raw(p[at(7)])};
  } else {
    return B{raw(p[at(0)]),  raw(p[at(1)]),  raw(p[at(2)]),  raw(p[at(3)]), raw(p[at(4)]),  raw(p[at(5)]),
             raw(p[at(6)]),  raw(p[at(7)]),  raw(p[at(8)]),  raw(p[at(9)]), raw(p[at(10)]), raw(p[at(11)]),
             raw(p[at(12)]), raw(p[at(13)]), raw(p[at(14)]), raw(p[at(15)])};
  }
}
// The same where only the first n lanes matter: of the first 4 or 8, if these are all; lanes that are left out are 0.
template <class B, class T, class At>
SHLO_INLINE B collect_n(const T* p, At at, int64_t n) {
  if (n > 8) return collect<B>(p, at);
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    if (n > 4) return B{collect<H>(p, at), H{}};
    return B{H{raw(p[at(0)]), raw(p[at(1)]), raw(p[at(2)]), raw(p[at(3)])}, H{}};
  } else {
    if (n > 4)
      return B{raw(p[at(0)]), raw(p[at(1)]), raw(p[at(2)]), raw(p[at(3)]),
               raw(p[at(4)]), raw(p[at(5)]), raw(p[at(6)]), raw(p[at(7)])};
    return B{raw(p[at(0)]), raw(p[at(1)]), raw(p[at(2)]), raw(p[at(3)])};
  }
}

// Elements that lie near each other: whole registers are loaded, and their lanes permuted.

#ifdef SHLO_AVX512
#ifdef __AVX512VBMI__
template <class V> constexpr bool permutes = true;
#else
template <class V> constexpr bool permutes = sizeof(elem_t<V>) > 1;
#endif
// Lanes of a and b, which are numbered on: at[i] modulo twice their number.
template <class V>
SHLO_INLINE V permute(V a, V b, V at) {
#ifdef __clang__
  typedef lanes_t<char, 16> bytes;
  typedef lanes_t<long long, 8> longs;
  if constexpr (sizeof(V) == 16) return (V)__builtin_ia32_vpermi2varqi128((bytes)a, (bytes)at, (bytes)b);
  else if constexpr (sizeof(V) == 32) return (V)__builtin_ia32_vpermi2varhi256((i16v)a, (i16v)at, (i16v)b);
  else if constexpr (sizeof(a[0]) == 4) return (V)__builtin_ia32_vpermi2vard512((i32v)a, (i32v)at, (i32v)b);
  else return (V)__builtin_ia32_vpermi2varq512((longs)a, (longs)at, (longs)b);
#else
  return __builtin_shuffle(a, b, at);
#endif
}
// p[at[i]] where 0 <= at[i] < span, at most 128: p[0] .. p[span - 1] are touched. What other lanes hold is anything.
template <class V>
SHLO_INLINE V pick(const void* p, V at, int64_t span) {
  constexpr int two = 2 * sizeof(V) / sizeof(at[0]);
  V found = {}, a, b;
  for (; span > two; span -= two) {
    __builtin_memcpy(&a, p, sizeof a);
    __builtin_memcpy(&b, (const char*)p + sizeof a, sizeof b);
    found = at >= 0 ? permute(a, b, at) : found;
    at -= elem_t<V>(two);
    p = (const char*)p + 2 * sizeof(V);
  }
  const uint32_t mask = (two == 32 ? ~0u : 0xffffu) >> (two - span);
  a = load_masked<V>(p, mask & (two == 32 ? 0xffff : 0xff));
  b = load_masked<V>((const char*)p + sizeof a, mask >> two / 2);
  return at >= 0 ? permute(a, b, at) : found;
}
// p[i * stride] for i < n, where n > 0 and |stride| <= 8.
template <class B>
SHLO_INLINE B pick_stride(const elem_t<B>* p, int64_t stride, int64_t n) {
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    return B{pick_stride<H>(p, stride, n < 8 ? n : 8), n > 8 ? pick_stride<H>(p + 8 * stride, stride, n - 8) : H{}};
  } else {
    typedef sint_t<B> V;
    V lanes;
    if constexpr (sizeof(elem_t<B>) == 8) lanes = lanes_i64().lo;
    else lanes = __builtin_convertvector(lanes_i32(), V);
    const int64_t reach = (n - 1) * stride, first = reach < 0 ? reach : 0;
    return (B)pick<V>(p + first, lanes * elem_t<V>(stride) - elem_t<V>(first), (reach < 0 ? -reach : reach) + 1);
  }
}
#endif

template <class T>
SHLO_INLINE loaded_t<T> load_stride(const T* p, int64_t stride, int64_t n) {
  if (n == 0) return unpack<T>(bytes_t<T>{});
#ifdef SHLO_AVX512
  if constexpr (permutes<bytes_t<T>>)
    if (stride >= -8 && stride <= 8) {
      typedef elem_t<bytes_t<T>> E;
      auto bytes = pick_stride<bytes_t<T>>((const E*)p, stride, n);
      return unpack<T>(n < 16 ? keep_n(bytes, n, bytes_t<T>{}) : bytes);
    }
#endif
  if (n == 16) return unpack<T>(collect<bytes_t<T>>(p, [=](int i) { return i * stride; }));
  auto bytes = collect_n<bytes_t<T>>(p, [=](int i) { return i < n ? i * stride : 0; }, n);
  return unpack<T>(keep_n(bytes, n, bytes_t<T>{}));
}
template <class T>
SHLO_INLINE loaded_t<T> gather(const T* p, i64v index, int64_t n) {
  if (n == 0) return unpack<T>(bytes_t<T>{});
  if (n < 16) index = keep_n(index, n, splat_i64(index.lo[0]));
  auto bytes = collect_n<bytes_t<T>>(p, [=](int i) { return i < 8 ? index.lo[i] : index.hi[i - 8]; }, n);
  return unpack<T>(n < 16 ? keep_n(bytes, n, bytes_t<T>{}) : bytes);
}
SHLO_INLINE maskv load_stride_bool(const uint8_t* p, int64_t stride, int64_t n) {
  return load_stride((const boolean*)p, stride, n);
}
SHLO_INLINE maskv gather_bool(const uint8_t* p, i64v index, int64_t n) { return gather((const boolean*)p, index, n); }

// p[i * stride] = v[i] for i < n.
template <class T>
SHLO_INLINE void store_stride(T* p, int64_t stride, loaded_t<T> v, int64_t n) {
  const bytes_t<T> bytes = pack<T>(v);
  T lanes[16];
  __builtin_memcpy(lanes, &bytes, sizeof bytes);
  for (int64_t i = 0; i < n; ++i) p[i * stride] = lanes[i];
}
SHLO_INLINE void store_stride_bool(uint8_t* p, int64_t stride, maskv v, int64_t n) {
  store_stride((boolean*)p, stride, v, n);
}

// ---- lanes over a table ----------------------------------------------------------------------------------------------

// What `of(row, column)` is for the points e .. e + n - 1 of rows of `width` columns; then again what it is for the first.
template <class F>
SHLO_INLINE i64v lanes_of(int64_t e, int64_t width, int64_t n, F of) {
  int64_t found[16], row = e / width, column = e % width;
  for (int i = 0; i < 16; ++i) {
    found[i] = i < n ? of(row, column) : found[0];
    if (++column == width) column = 0, ++row;
  }
  return load(found);
}

// Places of the first n lanes (1 .. 16), from the first place to the last.
struct Places {
  i64v at;
  int64_t first, span, n;
};
SHLO_INLINE Places places(i64v at, int64_t n) {
  int64_t first = at.lo[0], last = first;
  for (int i = 1; i < n; ++i) {
    const int64_t place = i < 8 ? at.lo[i] : at.hi[i - 8];
    first = place < first ? place : first;
    last = place > last ? place : last;
  }
  return {at, first, last - first + 1, n};
}
// p[places]: what absent lanes hold is anything that the others do.
template <class T>
SHLO_INLINE loaded_t<T> load_at(const T* p, const Places& places) {
#ifdef SHLO_AVX512
  typedef bytes_t<T> B;
  if constexpr (permutes<B>)
    if (places.span <= 128) {
      const i64v at = places.at - places.first;
      if constexpr (is_pair<B>) {
        typedef decltype(B::lo) H;
        return unpack<T>(B{(H)pick<i64h>(p + places.first, at.lo, places.span),
                           (H)pick<i64h>(p + places.first, at.hi, places.span)});
      } else {
        typedef sint_t<B> V;
        const i32v lanes = join(narrow(at.lo), narrow(at.hi));
        return unpack<T>((B)pick<V>(p + places.first, __builtin_convertvector(lanes, V), places.span));
      }
    }
#endif
  return gather(p, places.at, places.n);
}

// Where a vector goes, 16 elements of memory at a time: which lane each takes, and whether it takes any.
struct Spread {
  Places places;
  i32v lane[4];
  uint32_t mask[4];
};
SHLO_INLINE Spread spread(i64v at, int64_t n) {
  Spread found = {places(at, n), {}, {}};
  if (found.places.span <= 64)
    for (int i = 0; i < n; ++i) {
      const int64_t place = (i < 8 ? at.lo[i] : at.hi[i - 8]) - found.places.first;
      found.lane[place / 16][place % 16] = i;
      found.mask[place / 16] |= 1u << place % 16;
    }
  return found;
}
// p[places] = v.
template <class T>
SHLO_INLINE void store_at(T* p, loaded_t<T> v, const Spread& to) {
  const bytes_t<T> bytes = pack<T>(v);
#ifdef SHLO_AVX512
  typedef bytes_t<T> B;
  if constexpr (permutes<B> && !is_pair<B>)
    if (to.places.span <= 64) {
      typedef sint_t<B> V;
      for (int k = 0; k * 16 < to.places.span; ++k) {
        const V lane = __builtin_convertvector(to.lane[k], V);
        store_masked(p + to.places.first + 16 * k, permute((V)bytes, (V)bytes, lane), to.mask[k]);
      }
      return;
    }
#endif
  T lanes[16];
  __builtin_memcpy(lanes, &bytes, sizeof bytes);
  for (int i = 0; i < to.places.n; ++i) p[i < 8 ? to.places.at.lo[i] : to.places.at.hi[i - 8]] = lanes[i];
}
SHLO_INLINE maskv load_bool_at(const uint8_t* p, const Places& places) { return load_at((const boolean*)p, places); }
SHLO_INLINE void store_bool_at(uint8_t* p, maskv v, const Spread& to) { store_at((boolean*)p, v, to); }
