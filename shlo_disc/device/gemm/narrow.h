// Elements of one and two bytes, packed in their own width. (What a kind is: gemm/kinds.h.)
//
//   Bytes<S>         i8 and u8, four neighbouring depths in 32 bits
//   Halves           f16, converted as tiles read them
//   BrainPairs       bf16, two neighbouring depths in 32 bits, converted as tiles read them: exactly, and summed up as f32 is
//   BrainProducts    the same by dot products of pairs where the CPU has them: those take subnormal operands and results for
//                    zeros and round twice a pair, to nearest
#pragma once
#include "gemm/kinds.h"

#if defined(__AVXVNNIINT8__) && !defined(SHLO_AVX512)
#define SHLO_SAME_SIGNS 1  // products of bytes of equal signs
#elif (defined(SHLO_AVX512) && defined(__AVX512VNNI__)) || (defined(__AVXVNNI__) && !defined(SHLO_AVX512))
#define SHLO_OTHER_SIGNS 1  // products of unsigned bytes with signed ones
#endif

namespace {

// Where the CPU multiplies unsigned bytes with signed ones, B is packed with its highest bits flipped: i8 are 128 more then,
// as u8, and u8 are 128 less, as i8. What that adds to sums, 128 or -128 times the sum of a row of A, is their excess.
template <class S, bool flipped>
struct Quads : Real<uint32_t, uint32_t> {
  typedef S Storage;
  typedef Real<S, uint32_t> Single;
  typedef Quads<S, false> Left;
  static constexpr int step = 4, few_rows = 4;
  static constexpr bool in_place = false, is_raw = true, has_excess = flipped;
  static constexpr uint32_t HIGHEST = 0x80808080u;
  typedef lanes_t<uint8_t, lanes> Line;
  typedef lanes_t<int16_t, 2 * lanes> Shorts;

  SHLO_INLINE vector read(const S* p) { return __builtin_convertvector(read_as<Line>(p), vector); }
  SHLO_INLINE vector join(vector x, vector y, int depth) { return x | y << 8 * depth; }
  SHLO_INLINE vector along(const S* p) { return read_as<vector>(p); }
  SHLO_INLINE void pack(Packed* p, vector x) { write(p, flipped ? x ^ HIGHEST : x); }

  // Every second byte as i16.
  SHLO_INLINE vector even(vector x) {
    if constexpr (same<S, int8_t>) return (vector)((Shorts)x << 8 >> 8);
    else return x & 0xff00ffu;
  }
  SHLO_INLINE vector odd(vector x) {
    if constexpr (same<S, int8_t>) return (vector)((Shorts)x >> 8);
    else return x >> 8 & 0xff00ffu;
  }
  // In assembler: compilers name these instructions differently.
  SHLO_INLINE vector multiply_add(vector sum, vector x, vector y) {
#if defined(SHLO_SAME_SIGNS)
    if constexpr (same<S, int8_t>) asm("vpdpbssd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
    else asm("vpdpbuud %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
    return sum;
#elif defined(SHLO_OTHER_SIGNS)
    const vector u = same<S, int8_t> ? y : x, s = same<S, int8_t> ? x : y;
#ifdef SHLO_AVX512
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "v"(s));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(u), "x"(s));
#endif
    return sum;
#else
    return add_products_of_pairs(add_products_of_pairs(sum, even(x), even(y)), odd(x), odd(y));
#endif
  }
  SHLO_INLINE vector excess(vector sum, vector x) { return multiply_add(sum, x, vector{} + HIGHEST); }
};
#ifdef SHLO_OTHER_SIGNS
template <class S> using Bytes = Quads<S, true>;
#else
template <class S> using Bytes = Quads<S, false>;
#endif

struct Halves : Real<f16, float> {
  typedef f16 Packed;
  typedef Real<f16, float> Left;
  typedef Memory vector;
  static constexpr bool in_place = false;

  SHLO_INLINE vector read(const f16* p) { return read_as<Memory>(p); }
  SHLO_INLINE vector along(const f16* p) { return read(p); }
  SHLO_INLINE void pack(f16* p, vector x) { __builtin_memcpy(p, &x, sizeof x); }
  SHLO_INLINE Sum unpack(const f16* p) { return widen(read_as<Memory>(p)); }
  SHLO_INLINE void transpose(vector* square) { transpose_square<lanes>(square); }
};

struct BrainPairs : Real<float, float> {
  typedef bf16 Storage;
  typedef uint32_t Packed;
  typedef BrainPairs Left;
  typedef Real<bf16, float> Single;
  typedef register_t<uint32_t> vector;
  typedef lanes_t<uint16_t, lanes> Line;
  typedef uint16_t __attribute__((may_alias)) Half;
  typedef uint32_t __attribute__((may_alias)) Word;
  static constexpr int step = 2, parts = 2;
  static constexpr bool in_place = false, is_raw = true;

  SHLO_INLINE vector read(const bf16* p) { return __builtin_convertvector(read_as<Line>(p), vector); }
  SHLO_INLINE vector join(vector x, vector y, int) { return x | y << 16; }
  SHLO_INLINE vector along(const bf16* p) { return read_as<vector>(p); }
  SHLO_INLINE void pack(uint32_t* p, vector x) { write(p, x); }
  SHLO_INLINE void transpose(vector* square) { transpose_square<lanes>(square); }

#if defined(SHLO_AVX512) && defined(__AVX512BW__)
  // Loads that leave the lower 16 bits of each lane zero: what shifts and masks take, multiplications wait for.
  static constexpr uint32_t UPPER = 0xaaaaaaaau;
  template <int part>
  SHLO_INLINE Sum unpack(const uint32_t* p) {
    if constexpr (part == 0) return (Sum)(read_as<vector>(p) << 16);
    Sum y;
    asm("vmovdqu16 %1, %0%{%2%}%{z%}" : "=v"(y) : "m"(*(const Word(*)[lanes])p), "Yk"(UPPER));
    return y;
  }
  template <int part>
  SHLO_INLINE Sum broadcast(const uint32_t& x) {
    Sum y;
    asm("vpbroadcastw %1, %0%{%2%}%{z%}" : "=v"(y) : "m"(((const Half*)&x)[part]), "Yk"(UPPER));
    return y;
  }
#else
  template <int part>
  SHLO_INLINE Sum half(vector x) { return part == 0 ? (Sum)(x << 16) : (Sum)(x & 0xffff0000u); }
  template <int part>
  SHLO_INLINE Sum unpack(const uint32_t* p) { return half<part>(read_as<vector>(p)); }
  template <int part>
  SHLO_INLINE Sum broadcast(uint32_t x) { return half<part>(vector{} + x); }
#endif
};

#if defined(SHLO_AVX512) && defined(__AVX512BF16__)
struct BrainProducts : BrainPairs {
  typedef BrainProducts Left;
  static constexpr int parts = 1, few_rows = 8;
  static constexpr bool sums_alike = false;

  SHLO_INLINE Sum unpack(const uint32_t* p) { return (Sum)read_as<vector>(p); }
  SHLO_INLINE Sum broadcast(uint32_t x) { return (Sum)(vector{} + x); }
  SHLO_INLINE Sum multiply_add(Sum sum, Sum x, Sum y) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
  }
};
#else
typedef BrainPairs BrainProducts;
#endif

}  // namespace
