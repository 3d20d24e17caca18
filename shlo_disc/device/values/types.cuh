// Types of values and of memory, bits, shared memory. Part of the vocabulary described in call/shlo.cuh.
#pragma once

#define SHLO_DEVICE __device__ __forceinline__
#define SHLO_INLINE SHLO_DEVICE  // what both targets' headers say (device)
#define SHLO_OUTLINE static __device__ __noinline__
#ifdef __CUDA_EMU__
#include <stdint.h>
#define SHLO_UNROLL
SHLO_DEVICE int count_ones(uint64_t x) { return __builtin_popcountll(x); }
SHLO_DEVICE int count_zeros(uint64_t x) { return x == 0 ? 64 : __builtin_clzll(x); }
#else
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#define SHLO_UNROLL _Pragma("unroll")
// Static and dynamic shared memory; both begin at a multiple of 16 bytes.
#define SHLO_SHARED(T, name, count) __shared__ __align__(16) T name[count]
#define SHLO_DYNAMIC(name)                                 \
  extern __shared__ __align__(16) char shlo_dynamic_[];    \
  char* const name = shlo_dynamic_
SHLO_DEVICE int count_ones(uint64_t x) { return __popcll(x); }
SHLO_DEVICE int count_zeros(uint64_t x) { return __clzll(x); }
#endif

#ifndef SHLO_INDEX
#define SHLO_INDEX int64_t
#endif
typedef SHLO_INDEX idx;  // sizes and offsets

// ---- traits ----------------------------------------------------------------------------------------------------------

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <bool, class A, class B> struct Pick { typedef A type; };
template <class A, class B> struct Pick<false, A, B> { typedef B type; };

template <class T> constexpr bool is_bool = same<T, bool>;
template <class T> constexpr bool is_real = same<T, float> || same<T, double>;
template <class T> constexpr bool is_signed = T(-1) < T(0);

// Integers of a width.
template <int Bytes> struct Bits {};
template <> struct Bits<1> { typedef int8_t sint; typedef uint8_t uint; };
template <> struct Bits<2> { typedef int16_t sint; typedef uint16_t uint; };
template <> struct Bits<4> { typedef int32_t sint; typedef uint32_t uint; };
template <> struct Bits<8> { typedef int64_t sint; typedef uint64_t uint; };
template <class T> using sint_t = typename Bits<sizeof(T)>::sint;
template <class T> using uint_t = typename Bits<sizeof(T)>::uint;

// The common type of two operands: indices of 32 and of 64 bits may be mixed.
template <class A, class B> struct Common { typedef decltype(A() + B()) type; };
template <class A> struct Common<A, A> { typedef A type; };
template <class A, class B> using common_t = typename Common<A, B>::type;

template <class To, class From>
constexpr SHLO_DEVICE To as(From x) {
  static_assert(sizeof(To) == sizeof(From), "reinterprets between types of the same width");
  return __builtin_bit_cast(To, x);
}
constexpr SHLO_DEVICE float inf_f32() { return as<float>(0x7f800000); }
constexpr SHLO_DEVICE double inf_f64() { return as<double>((int64_t)0x7ff0000000000000); }
constexpr SHLO_DEVICE float nan_f32() { return as<float>(0x7fc00000); }
constexpr SHLO_DEVICE double nan_f64() { return as<double>((int64_t)0x7ff8000000000000); }

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};
typedef Complex<float> c64;
typedef Complex<double> c128;
template <class T> constexpr bool is_complex = same<T, c64> || same<T, c128>;

// ---- narrow floats ---------------------------------------------------------------------------------------------------

struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

// To nearest, ties to even; pack_ keeps the payload of a NaN.
SHLO_DEVICE uint16_t pack_bf16(float x) {
  const uint32_t bits = as<uint32_t>(x);
  return (uint16_t)((x != x ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
SHLO_DEVICE float bits_bf16(uint16_t bits) { return as<float>((uint32_t)bits << 16); }

SHLO_DEVICE uint16_t pack_f16(float x) {
  const uint32_t bits = as<uint32_t>(x), sign = bits & 0x80000000u, size = bits ^ sign;
  const float magnitude = as<float>(size);
  // Subnormal halves: adding 0.5 lets the adder round at the right place.
  const uint32_t subnormal = as<uint32_t>(magnitude + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13;
  uint32_t half = magnitude < 6.103515625e-05f ? subnormal : normal;
  half = magnitude >= 65520.f ? 0x7c00u : half;
  half = x != x ? 0x7e00u | (size >> 13 & 0x3ffu) : half;
  return (uint16_t)(half | sign >> 16);
}
SHLO_DEVICE float bits_f16(uint16_t bits) {
  const uint32_t size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const float normal = as<float>(size << 13) * 5.192296858534828e33f;  // 2^112 adjusts the exponent's bias; exact
  return as<float>((size >= 0x7c00u ? size << 13 | 0x7f800000u : as<uint32_t>(normal)) | sign);
}

// The same by hardware instructions, except for the payload of a NaN.
#ifdef __CUDA_EMU__
SHLO_DEVICE uint16_t narrow_bf16(float x) { return pack_bf16(x); }
SHLO_DEVICE uint16_t narrow_f16(float x) { return pack_f16(x); }
SHLO_DEVICE float widen_f16(uint16_t bits) { return bits_f16(bits); }
SHLO_DEVICE float round_bf16(float x) { return bits_bf16(narrow_bf16(x)); }
#else
SHLO_DEVICE uint16_t narrow_bf16(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
// The conversion of two numbers is four times as fast as that of one; the upper half of its result, in place, is the
// f32.
SHLO_DEVICE float round_bf16(float x) {
  uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.f));
  return as<float>(bits);
}
SHLO_DEVICE uint16_t narrow_f16(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
SHLO_DEVICE float widen_f16(uint16_t bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
#endif
SHLO_DEVICE float round_f16(float x) { return widen_f16(narrow_f16(x)); }

// ---- memory ----------------------------------------------------------------------------------------------------------

template <class T> struct Stored { typedef T value; };
template <> struct Stored<bf16> { typedef float value; };
template <> struct Stored<f16> { typedef float value; };
template <class T> using value_t = typename Stored<T>::value;  // the type in which an element is computed

template <class T> SHLO_DEVICE T value(T x) { return x; }
SHLO_DEVICE float value(bf16 x) { return bits_bf16(x.bits); }
SHLO_DEVICE float value(f16 x) { return widen_f16(x.bits); }

template <class T> SHLO_DEVICE T stored(value_t<T> x) {
  if constexpr (same<T, bf16>) return {narrow_bf16(x)};
  else if constexpr (same<T, f16>) return {narrow_f16(x)};
  else return x;
}
template <class T, class X> SHLO_DEVICE void assign(T* p, X x) { *p = stored<T>((value_t<T>)x); }

// ---- choice and logic ------------------------------------------------------------------------------------------------

#define SHLO_COMPARE(name, op) \
  template <class A, class B> SHLO_DEVICE bool name(A a, B b) { return (common_t<A, B>)a op(common_t<A, B>) b; }
SHLO_COMPARE(eq, ==) SHLO_COMPARE(ne, !=) SHLO_COMPARE(lt, <) SHLO_COMPARE(le, <=) SHLO_COMPARE(gt, >) SHLO_COMPARE(ge, >=)

template <class A, class B> SHLO_DEVICE common_t<A, B> select(bool c, A a, B b) { return c ? a : b; }

template <class T> SHLO_DEVICE T and_(T a, T b) { return (T)(a & b); }
template <class T> SHLO_DEVICE T or_(T a, T b) { return (T)(a | b); }
template <class T> SHLO_DEVICE T xor_(T a, T b) { return (T)(a ^ b); }
template <class T>
SHLO_DEVICE T not_(T a) {
  if constexpr (is_bool<T>) return !a;
  else return (T)~a;
}
SHLO_DEVICE bool m_and(bool a, bool b) { return a & b; }
SHLO_DEVICE bool m_or(bool a, bool b) { return a | b; }
SHLO_DEVICE bool m_xor(bool a, bool b) { return a ^ b; }
SHLO_DEVICE bool m_not(bool a) { return !a; }
