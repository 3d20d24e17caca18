// Non-contiguous elements: strided, and at arbitrary places.
#pragma once
#include "values/lookup.h"

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
// The same if only the first n lanes are needed: reads the first 4, 8 or 16; the others are 0.
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

// Arbitrary places; lanes from n on are 0.
template <class T>
SHLO_INLINE loaded_t<T> gather(const T* p, i64v index, int64_t n) {
  if (n == 0) return unpack<T>(bytes_t<T>{});
  if (n < 16) index = keep_n(index, n, splat_i64(index.lo[0]));
  auto bytes = collect_n<bytes_t<T>>(p, [=](int i) { return i < 8 ? index.lo[i] : index.hi[i - 8]; }, n);
  return unpack<T>(n < 16 ? keep_n(bytes, n, bytes_t<T>{}) : bytes);
}

// ---- nearby places: whole registers are loaded, and their lanes permuted
// ---------------------------------------------

// The places that lanes load, relative to a pointer: first + lane[i], 0 <= lane[i] < span, at most 128. The last of the
// registers that cover the span is loaded under `mask`.
template <class H>
struct Near {
  typedef elem_t<sint_t<H>> E;
  enum { COUNT = 64 / sizeof(E) };
  typedef lanes_t<E, COUNT> Register;
  Register lane;
  int64_t first, span;
  uint64_t mask;
};
// `lane` has as many elements as H.
template <class H>
SHLO_INLINE Near<H> near_of(sint_t<H> lane, int64_t first, int64_t span) {
  Near<H> found = {{}, first, span, span > 0 ? ~(uint64_t)0 >> (63 - (span - 1) % Near<H>::COUNT) : 0};
  __builtin_memcpy(&found.lane, &lane, sizeof lane);
  return found;
}
#ifdef SHLO_AVX512
#ifdef __AVX512VBMI__
template <class B> constexpr bool permutes = true;
#else
template <class B> constexpr bool permutes = sizeof(elem_t<B>) > 1;
#endif
template <class R>
SHLO_INLINE R load_register(const void* p, uint64_t mask) {
  if constexpr (sizeof(R{}[0]) == 8)
    return (R)__builtin_ia32_loaddqudi512_mask(Address{p}, lanes_t<long long, 8>{}, (uint8_t)mask);
  else if constexpr (sizeof(R{}[0]) == 4)
    return (R)__builtin_ia32_loaddqusi512_mask(Address{p}, i32v{}, (uint16_t)mask);
  else if constexpr (sizeof(R{}[0]) == 2)
    return (R)__builtin_ia32_loaddquhi512_mask(Address{p}, lanes_t<short, 32>{}, (uint32_t)mask);
  else
    return (R)__builtin_ia32_loaddquqi512_mask(Address{p}, lanes_t<char, 64>{}, mask);
}
// The elements of a register of lanes; lanes without a place are unspecified.
template <class H>
SHLO_INLINE H pick(const void* start, const Near<H>& near) {
  typedef typename Near<H>::Register R;
  typedef typename Near<H>::E E;
  constexpr int64_t one = Near<H>::COUNT;
  const char* p = (const char*)start + near.first * (int64_t)sizeof(E);
  R lane = near.lane, a, b, found = {};
  if (near.span <= one) {
    a = load_register<R>(p, near.mask);
    found = permute(a, a, lane);
  } else if (near.span <= 2 * one) {
    __builtin_memcpy(&a, p, sizeof a);
    b = load_register<R>(p + sizeof a, near.mask);
    found = permute(a, b, lane);
  } else {
    int64_t left = near.span;
    for (; left > 2 * one; left -= 2 * one) {
      __builtin_memcpy(&a, p, sizeof a);
      __builtin_memcpy(&b, p + sizeof a, sizeof b);
      found = lane >= 0 ? permute(a, b, lane) : found;
      lane -= E(2 * one);
      p += 2 * sizeof a;
    }
    a = load_register<R>(p, left > one ? ~(uint64_t)0 : near.mask);
    b = load_register<R>(p + sizeof a, left > one ? near.mask : 0);
    found = lane >= 0 ? permute(a, b, lane) : found;
  }
  H picked;
  __builtin_memcpy(&picked, &found, sizeof picked);
  return picked;
}
#else
template <class B> constexpr bool permutes = false;
#endif

// The places of 16 lanes relative to a pointer. `held` has a bit for each active lane; the others duplicate an active
// one.
struct Held {
  i64v at;
  uint32_t held;
};
template <class B>
struct Places : Held {
  Near<B> near;
};
template <class H>
struct Places<Pair<H>> : Held {
  Near<H> lo, hi;
};
template <class B>
SHLO_INLINE bool spans(const Places<B>& places, int64_t most) {
  if constexpr (!permutes<B>) return false;
  else if constexpr (is_pair<B>) return places.lo.span <= most && places.hi.span <= most;
  else return places.near.span <= most;
}
template <class B>
SHLO_INLINE bool is_near(const Places<B>& places) { return spans(places, 128); }
// Whether the elements of each register of lanes lie within one register of memory.
template <class B>
SHLO_INLINE bool is_in_register(const Places<B>& places) { return spans(places, 64 / sizeof(elem_t<B>)); }
template <class H>
SHLO_INLINE Near<H> near_places(const int64_t* at, uint32_t held) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (int i = 0; i < Type<H>::lanes; ++i)
    if (held >> i & 1) first = at[i] < first ? at[i] : first, last = at[i] > last ? at[i] : last;
  typename Near<H>::E lane[Type<H>::lanes] = {};
  for (int i = 0; i < Type<H>::lanes; ++i)
    if (held >> i & 1) lane[i] = (typename Near<H>::E)(at[i] - first);
  sint_t<H> lanes;
  __builtin_memcpy(&lanes, lane, sizeof lanes);
  return held & ((1u << Type<H>::lanes) - 1) ? near_of<H>(lanes, first, last - first + 1) : near_of<H>(lanes, 0, 0);
}
template <class H>
SHLO_INLINE Near<H> near_stride(int64_t stride, int64_t n) {
  typedef sint_t<H> V;
  typedef typename Near<H>::E E;
  V number;
  if constexpr (Type<H>::lanes == 8) number = lanes_i64().lo;
  else number = __builtin_convertvector(lanes_i32(), V);
  const int64_t reach = n > 0 ? (n - 1) * stride : 0, first = reach < 0 ? reach : 0;
  const V lane = number < (E)n ? number * (E)stride - (E)first : V{};
  return near_of<H>(lane, first, n > 0 ? (reach < 0 ? -reach : reach) + 1 : 0);
}
template <class T>
SHLO_INLINE auto places(const T*, i64v index, uint32_t held) {
  typedef bytes_t<T> B;
  int64_t at[16];
  __builtin_memcpy(at, &index, sizeof at);
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    return Places<B>{{index, held}, near_places<H>(at, held), near_places<H>(at + 8, held >> 8)};
  } else return Places<B>{{index, held}, near_places<B>(at, held)};
}
// The places i * stride of lanes i < n, where n > 0.
template <class T>
SHLO_INLINE auto strides(const T*, int64_t stride, int64_t n) {
  typedef bytes_t<T> B;
  const i64v index = keep_n(lanes_i64() * stride, n, splat_i64(0));
  const Held at = {index, (1u << n) - 1};
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    Places<B> found = {at, near_stride<H>(stride, n < 8 ? n : 8), near_stride<H>(stride, n - 8)};
    found.hi.first += 8 * stride;
    return found;
  } else return Places<B>{at, near_stride<B>(stride, n)};
}
template <class B>
SHLO_INLINE B near_bytes(const void* p, const Places<B>& places) {
  if constexpr (!permutes<B>) return B{};  // no places are near
  else if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    return {as<H>(pick(p, places.lo)), as<H>(pick(p, places.hi))};
  } else return pick(p, places.near);
}
// p[places]: an absent lane holds the value of any active lane, or 0.
template <class T, class B>
SHLO_INLINE loaded_t<T> load_at(const T* p, const Places<B>& places) {
  if (is_near(places)) return unpack<T>(near_bytes(p, places));
  return places.held ? gather(p, places.at, 16) : unpack<T>(B{});
}
template <class T>
SHLO_INLINE loaded_t<T> load_stride(const T* p, int64_t stride, int64_t n) {
  if (n == 0) return unpack<T>(bytes_t<T>{});
  if (permutes<bytes_t<T>> && stride >= -8 && stride <= 8) {
    auto bytes = near_bytes(p, strides(p, stride, n));
    return unpack<T>(n < 16 ? keep_n(bytes, n, bytes_t<T>{}) : bytes);
  }
  if (n == 16) return unpack<T>(collect<bytes_t<T>>(p, [=](int i) { return i * stride; }));
  auto bytes = collect_n<bytes_t<T>>(p, [=](int i) { return i < n ? i * stride : 0; }, n);
  return unpack<T>(keep_n(bytes, n, bytes_t<T>{}));
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

// The type of T in a table: without const.
template <class T> struct Kept { typedef T type; };
template <class T> struct Kept<const T> { typedef T type; };
template <class T> using kept_t = typename Kept<T>::type;

// The lanes in `held` at points for which `of(row, column)` holds; lanes are points e .. e + 15 of rows of `width`
// columns.
template <class F>
SHLO_INLINE uint32_t held_of(int64_t e, int64_t width, uint32_t held, F of) {
  uint32_t found = 0;
  int64_t row = e / width, column = e % width;
  for (int i = 0; i < 16; ++i) {
    if ((held >> i & 1) && of(row, column)) found |= 1u << i;
    if (++column == width) column = 0, ++row;
  }
  return found;
}
// `of(row, column)` for the lanes in `held`; other lanes duplicate one of these.
template <class F>
SHLO_INLINE i64v lanes_of(int64_t e, int64_t width, uint32_t held, F of) {
  int64_t found[16], one = 0, row = e / width, column = e % width;
  for (int i = 0; i < 16; ++i) {
    if (held >> i & 1) one = found[i] = of(row, column);
    if (++column == width) column = 0, ++row;
  }
  for (int i = 0; i < 16; ++i) found[i] = held >> i & 1 ? found[i] : one;
  return load(found);
}
SHLO_INLINE uint32_t held_between(int64_t first, int64_t last) {
  first = first < 0 ? 0 : first, last = last > 16 ? 16 : last;
  return first < last ? (1u << last) - (1u << first) : 0;
}
SHLO_INLINE maskv lanes_held(uint32_t held) { return {((i32v{} + (int32_t)held) >> lanes_i32() & 1) == 1}; }

// Contiguous elements, of which only the lanes in `held` are accessed.
template <class T>
SHLO_INLINE loaded_t<T> load_held(const T* p, uint32_t held) {
  if (held == 0xffff) return load(p);
#ifdef SHLO_AVX512
  if constexpr (sizeof(T) <= 8) return unpack<T>(load_masked<bytes_t<T>>(p, held));
#endif
  T lanes[16] = {};
  for (int i = 0; i < 16; ++i)
    if (held >> i & 1) lanes[i] = p[i];
  return load(lanes);
}
template <class T>
SHLO_INLINE void store_held(T* p, loaded_t<T> v, uint32_t held) {
  if (held == 0xffff) return store(p, v);
  T lanes[16];
  store(lanes, v);
  for (int i = 0; i < 16; ++i)
    if (held >> i & 1) p[i] = lanes[i];
}
SHLO_INLINE maskv load_bool_at(const uint8_t* p, const Places<u8v>& places) { return load_at((const boolean*)p, places); }
SHLO_INLINE maskv load_bool_held(const uint8_t* p, uint32_t held) { return load_held((const boolean*)p, held); }
SHLO_INLINE void store_bool_held(uint8_t* p, maskv v, uint32_t held) { store_held((boolean*)p, v, held); }
