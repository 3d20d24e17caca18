// Functions that generated CUDA kernels call, on one element at a time. NVRTC has no system headers: everything is
// defined here or a compiler builtin. `__CUDA_EMU__`: the same text compiled for a CPU, by the tests.
//
//   element  i8 .. i64, u8 .. u64  f32    f64     i1       f16, bf16                     c64, c128
//   memory   int8_t .. uint64_t    float  double  uint8_t  f16, bf16                     c64, c128
//   value    int8_t .. uint64_t    float  double  bool     float, rounded when stored    c64, c128 (re, im)
//
// Floats of 8 bits and fewer (f8E5M2 ..) are treated as bf16 is, integers of fewer than 8 (i2 i4 ui2 ui4) are computed
// in 8 and wrapped: see math/small.cuh.
// Both operands of a call have the same type, unless they are indices of 32 and 64 bits (compare, select, max_, min_,
// floordiv, mod). A constant is T(x); inf_f32() inf_f64() nan_f32() nan_f64().
//
//   types        idx (sizes and offsets), value_t<T> (of a memory type), sint_t<T> uint_t<T>, common_t<A, B>, same<A, B>
//   memory       p[i] for plain types; value(p[i]), assign(p + i, x), stored<T>(x) for all
//   packs        Pack<T, N> {at[N]}: pack_load<N>(p), pack_store(p, pack): one access of at most 16 bytes
//   shared       SHLO_SHARED(T, name, count); SHLO_DYNAMIC(name); (char*), both aligned to 16 bytes
//   lanes        shuffle_xor(v, mask) shuffle_down(v, delta) shuffle_up(v, delta) shuffle_idx(v, lane): whole warps only
//   compare      eq ne lt le gt ge; t_eq t_ne t_lt t_le t_gt t_ge: IEEE total order of floats; select(condition, a, b)
//   logic        and_ or_ xor_ not_ on i1 and integers; m_and m_or m_xor m_not on bool
//   arithmetic   infix + - * / on floats and complex; add_ sub_ mul_ neg_ wrap integers (i1: or, xor, and) and take all
//                types; div_ rem_ (x/0 = -1 or all ones, MIN/-1 = MIN, x%0 = x, MIN%-1 = 0; floats: /, fmod)
//   indices      floordiv mod round down; by 0 they are 0
//   integers     shl shr_a shr_l (distance >= width: 0 or the sign) popcnt clz
//   all reals    max_ min_ (NaN wins) abs_ sign_ (NaN, -0 kept) pow_
//   floats       floor_ ceil_ round_even round_afz is_finite exp_ expm1_ log_ log1p_ logistic_ tanh_ sin_ cos_ tan_
//                sqrt_ rsqrt_ cbrt_ atan2_ erf_ acos_ asin_ atan_ acosh_ asinh_ atanh_ cosh_ sinh_ erfc_ erf_inv_ lgamma_
//                digamma_ zeta_ polygamma_ bessel_i1e_ reduce_precision(x, exponent_bits, mantissa_bits)
//   conversions  to_f32 to_f64 to_i8 .. to_u64 to_bool to_c64 to_c128, from everything; float to integer truncates and
//                saturates, NaN is 0. round_bf16 round_f16: to the narrow type's values, still f32
//   bits         bits_f32 bits_f64 bits_i8 .. bits_u64: reinterpret, same width; pack_bf16 pack_f16: f32 -> u16,
//                bits_bf16 bits_f16: u16 -> f32
//   complex      complex_(re, im) real_ imag_ conj_ eq ne abs_ (real) sign_ exp_ expm1_ log_ log1p_ logistic_ tanh_ sin_
//                cos_ tan_ sqrt_ rsqrt_ cbrt_ pow_ is_finite acos_ asin_ atan_ acosh_ asinh_ atanh_ cosh_ sinh_
#pragma once
#include "math/math.cuh"
#include "values/pack.cuh"
#include "values/shuffle.cuh"

#include "attention/attention.cuh"
#include "conv/conv.cuh"
#include "gemm/gemm.cuh"
#include "gemm/mma.cuh"
#include "sort/scan.cuh"
#include "sort/scatter.cuh"
#include "sort/sort.cuh"
#include "values/team.cuh"
