// Conversions between element types, their bits, narrow floats. Part of the vocabulary described in values/vec.h.
#pragma once
#include "values/vec.h"

// ---- between scalars and vectors of one register ---------------------------------------------------------------------

// Float to an integer of the same width: truncate, saturate at the limits of E (which may be narrower), NaN is 0.
template <class E, class F>
SHLO_INLINE auto truncate(F x) {
  typedef elem_t<F> R;
  constexpr bool is_wide = sizeof(E) == sizeof(R) && E(-1) > E(0);  // needs the full unsigned range
  constexpr int digits = sizeof(E) * 8 - (E(-1) < E(0));
  constexpr R above = R(2) * R(uint64_t(1) << (digits - 1)), below = E(-1) < E(0) ? -above : R(0);
  constexpr E most = E(E(-1) < E(0) ? ~(uint64_t(1) << digits) : ~uint64_t(0)), least = E(~most);
  typedef typename Pick<is_wide, uint_t<F>, sint_t<F>>::type I;
  F inside = ((x >= below) & (x < above)) ? x : splat<F>(0);
  if constexpr (is_scalar<F>) {
    E whole = (E)inside;
    whole = x >= above ? most : whole;
    return x < below ? least : whole;
  } else {
    I whole = __builtin_convertvector(inside, I);
    whole = x >= above ? splat<I>((elem_t<I>)most) : whole;
    return x < below ? splat<I>((elem_t<I>)least) : whole;
  }
}
// 16 lanes of at most 32 bits -> two registers of 64-bit lanes.
template <class E, class V>
SHLO_INLINE Pair<lanes_t<E, 8>> widen(V v) {
  typedef lanes_t<E, 8> H;
  typedef lanes_t<elem_t<V>, 8> S;
  S half[2];
  __builtin_memcpy(half, &v, sizeof v);
  return {__builtin_convertvector(half[0], H), __builtin_convertvector(half[1], H)};
}
template <class E, class H>
SHLO_INLINE lanes_t<E, 16> shorten(H lo, H hi) {
  lanes_t<E, 8> half[2] = {__builtin_convertvector(lo, lanes_t<E, 8>), __builtin_convertvector(hi, lanes_t<E, 8>)};
  lanes_t<E, 16> v;
  __builtin_memcpy(&v, half, sizeof v);
  return v;
}

template <class E, class V>
SHLO_INLINE vector_t<E> convert_vector(V v) {
  typedef vector_t<E> R;
  typedef elem_t<V> S;
  constexpr bool real = same<E, float> || same<E, double>;
  if constexpr (same<R, V>) return v;
  else if constexpr (is_pair<V>) {
    if constexpr (is_real<V> && !real) {
      auto lo = truncate<E>(v.lo), hi = truncate<E>(v.hi);
      if constexpr (sizeof(E) == 8) return {(decltype(R::lo))lo, (decltype(R::lo))hi};
      else return convert_vector<E>(shorten<int32_t>(lo, hi));
    } else if constexpr (sizeof(E) == 8) {
      typedef decltype(R::lo) H;
      return {__builtin_convertvector(v.lo, H), __builtin_convertvector(v.hi, H)};
    } else if constexpr (real) return shorten<float>(v.lo, v.hi);
    else return convert_vector<E>(shorten<int32_t>(v.lo, v.hi));
  } else if constexpr (sizeof(E) == 8) {
    if constexpr (same<S, float>) return convert_vector<E>(widen<double>(v));
    else if constexpr (sizeof(S) == 4) return widen<E>(v);
    else return convert_vector<E>(__builtin_convertvector(v, i32v));
  } else if constexpr (same<S, float>) {
    auto whole = truncate<E>(v);
    return __builtin_convertvector(whole, R);
  } else if constexpr (real && sizeof(S) < 4) return __builtin_convertvector(__builtin_convertvector(v, i32v), R);
  else return __builtin_convertvector(v, R);
}

template <class E, class X>
SHLO_INLINE like_t<X, E> convert(X x) {
  constexpr bool real = same<E, float> || same<E, double>;
  if constexpr (same<X, maskv>) return convert_vector<E>(m_01(x));
  else if constexpr (!is_scalar<X>) return convert_vector<E>(x);
  else if constexpr (is_real<X> && !real) return truncate<E>(x);
  else return (E)x;
}
#define SHLO_CONVERT(name, E)                                                                    \
  template <class X> SHLO_INLINE like_t<X, E> to_##name(X x) { return convert<E>(x); }           \
  template <class X> SHLO_INLINE like_t<X, E> bits_##name(X x) { return as<like_t<X, E>>(x); }
SHLO_CONVERT(f32, float) SHLO_CONVERT(f64, double)
SHLO_CONVERT(i8, int8_t) SHLO_CONVERT(i16, int16_t) SHLO_CONVERT(i32, int32_t) SHLO_CONVERT(i64, int64_t)
SHLO_CONVERT(u8, uint8_t) SHLO_CONVERT(u16, uint16_t) SHLO_CONVERT(u32, uint32_t) SHLO_CONVERT(u64, uint64_t)
template <class X>
SHLO_INLINE mask_t<X> to_bool(X x) {
  if constexpr (is_mask<X>) return x;
  else return ne(x, splat<X>(0));
}

// ---- narrow floats ---------------------------------------------------------------------------------------------------

template <class F>
SHLO_INLINE like_t<F, uint16_t> pack_bf16(F x) {
  typedef uint_t<F> U;
  U bits = as<U>(x);
  U rounded = bits + 0x7fffu + (bits >> 16 & 1u);  // to nearest, ties to even
  U nan = bits | 0x400000u;
  return convert<uint16_t>((U)((x != x ? nan : rounded) >> 16));
}
template <class X>
SHLO_INLINE like_t<X, float> bits_bf16(X bits) {
  return as<like_t<X, float>>(convert<uint32_t>(bits) << 16);
}

template <class F>
SHLO_INLINE like_t<F, uint16_t> pack_f16(F x) {
#ifdef SHLO_AVX512
  if constexpr (same<F, f32v>) return (u16v)__builtin_ia32_vcvtps2ph512_mask(x, 0, i16v{}, (uint16_t)-1);
#endif
  typedef uint_t<F> U;
  U bits = as<U>(x), sign = bits & 0x80000000u, size = bits ^ sign;
  F magnitude = as<F>(size);
  // Subnormal halves: adding 0.5 lets the adder round at the right place.
  U subnormal = as<U>((F)(magnitude + 0.5f)) - 0x3f000000u;
  U normal = (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13;
  U half = magnitude < 6.103515625e-05f ? subnormal : normal;
  half = magnitude >= 65520.f ? splat<U>(0x7c00) : half;
  half = x != x ? splat<U>(0x7e00) | (size >> 13 & 0x3ffu) : half;
  return convert<uint16_t>((U)(half | sign >> 16));
}
template <class X>
SHLO_INLINE like_t<X, float> bits_f16(X bits) {
#ifdef SHLO_AVX512
  if constexpr (same<X, u16v>) return __builtin_ia32_vcvtph2ps512_mask((i16v)bits, f32v{}, (uint16_t)-1, 4);
#endif
  typedef like_t<X, float> F;
  typedef uint_t<F> U;
  U wide = convert<uint32_t>(bits), size = wide & 0x7fffu, sign = (wide & 0x8000u) << 16;
  F normal = as<F>((U)(size << 13)) * 5.192296858534828e33f;  // 2^112 adjusts the exponent's bias; exact
  U magnitude = size >= splat<U>(0x7c00) ? (U)(size << 13 | 0x7f800000u) : as<U>(normal);
  return as<F>((U)(magnitude | sign));
}
template <class F> SHLO_INLINE F round_bf16(F x) { return bits_bf16(pack_bf16(x)); }
template <class F> SHLO_INLINE F round_f16(F x) { return bits_f16(pack_f16(x)); }

// Round to nearest even as if stored with fewer bits: overflow gives infinity, subnormals flush to zero. A type without
// mantissa bits has no NaN: there it becomes infinity, as in StableHLO's interpreter.
template <class F>
SHLO_INLINE F reduce_precision(F x, int exponent_bits, int mantissa_bits) {
  if constexpr (is_pair<F>)
    return F{reduce_precision(x.lo, exponent_bits, mantissa_bits), reduce_precision(x.hi, exponent_bits, mantissa_bits)};
  else {
    typedef uint_t<F> U;
    typedef elem_t<U> W;
    constexpr int width = sizeof(W) * 8, mantissa = width == 32 ? 23 : 52, exponent = width - 1 - mantissa;
    U bits = as<U>(x), sign = bits & W(1) << (width - 1);
    if (int drop = mantissa - mantissa_bits; drop > 0)
      bits = (bits + ((W(1) << (drop - 1)) - 1) + (bits >> (W)drop & W(1))) & ~((W(1) << drop) - 1);
    if (exponent_bits < exponent) {
      W bias = (W(1) << (exponent - 1)) - 1, small = (W(1) << (exponent_bits - 1)) - 1;
      U field = bits >> (W)mantissa & ((W(1) << exponent) - 1);
      U infinity = sign | ((W(1) << exponent) - 1) << mantissa;
      bits = field > splat<U>(bias + small) ? infinity : bits;
      bits = field <= splat<U>(bias - small) ? sign : bits;
    }
    const F nan = mantissa_bits > 0 ? x : as<F>((U)(sign | ((W(1) << exponent) - 1) << mantissa));
    return x != x ? nan : as<F>(bits);
  }
}
