// Functions of floats. Part of the vocabulary described in call/shlo.cuh.
#pragma once
#include "math/complex.cuh"
#include "math/integer.cuh"
#include "math/small.cuh"

#define SHLO_MATH(name, function)                                      \
  SHLO_DEVICE float name(float x) { return function##f(x); }           \
  SHLO_DEVICE double name(double x) { return function(x); }
SHLO_MATH(exp_, exp) SHLO_MATH(expm1_, expm1) SHLO_MATH(log_, log) SHLO_MATH(log1p_, log1p) SHLO_MATH(tanh_, tanh)
SHLO_MATH(sin_, sin) SHLO_MATH(cos_, cos) SHLO_MATH(tan_, tan) SHLO_MATH(sqrt_, sqrt) SHLO_MATH(cbrt_, cbrt)
SHLO_MATH(erf_, erf) SHLO_MATH(floor_, floor) SHLO_MATH(ceil_, ceil) SHLO_MATH(round_even, rint)
SHLO_MATH(round_afz, round) SHLO_MATH(acos_, acos) SHLO_MATH(asin_, asin) SHLO_MATH(atan_, atan)
SHLO_MATH(acosh_, acosh) SHLO_MATH(asinh_, asinh) SHLO_MATH(atanh_, atanh) SHLO_MATH(cosh_, cosh) SHLO_MATH(sinh_, sinh)
SHLO_MATH(erfc_, erfc)
#ifdef __CUDA_EMU__
SHLO_DEVICE float rsqrt_(float x) { return 1.f / sqrtf(x); }
SHLO_DEVICE double rsqrt_(double x) { return 1.0 / sqrt(x); }
#else
SHLO_MATH(rsqrt_, rsqrt)
#endif

template <class T>
SHLO_DEVICE T abs_(T a) {
  if constexpr (is_real<T>) return as<T>((uint_t<T>)(as<uint_t<T>>(a) & (uint_t<T>)-1 >> 1));
  else if constexpr (is_bool<T> || !is_signed<T>) return a;
  else return a < 0 ? neg_(a) : a;
}
// exp(-|x|) does not overflow.
SHLO_DEVICE float logistic_(float x) {
  const float e = exp_(-abs_(x));
  return (x < 0 ? e : 1) / (1 + e);
}
SHLO_DEVICE bool is_finite(float x) { return x - x == 0; }
SHLO_DEVICE bool is_finite(double x) { return x - x == 0; }

SHLO_DEVICE float atan2_(float a, float b) { return atan2f(a, b); }
SHLO_DEVICE double atan2_(double a, double b) { return atan2(a, b); }
SHLO_DEVICE float pow_(float a, float b) { return powf(a, b); }
SHLO_DEVICE double pow_(double a, double b) { return pow(a, b); }
template <class T> SHLO_DEVICE T pow_(T a, T b) { return power(a, b); }

// ---- functions that CUDA's math library lacks, or has with larger errors --------------------------------------------

template <class D> using elem_t = D;
template <class D> SHLO_DEVICE D splat(D x) { return x; }
SHLO_DEVICE bool some(bool holds) { return holds; }
SHLO_DEVICE double fma_(double a, double b, double c) { return fma(a, b, c); }
#include "math/parts.h"
SHLO_DEVICE double logistic_(double x) {
  const double e = exp_(-abs_(x));
  return quotient(Parts<double>{x < 0 ? e : 1, 0}, sum_of_parts(1.0, e));
}
#include "math/complex_functions.h"
#include "math/gamma.h"
#define SHLO_BY_DOUBLE(name, function)                                 \
  SHLO_DEVICE float name(float x) { return (float)function((double)x); } \
  SHLO_DEVICE double name(double x) { return function(x); }
#include "math/special.h"
SHLO_DEVICE float lgamma_(float x) { return (float)lgamma_d<false>((double)x); }
SHLO_DEVICE double lgamma_(double x) { return lgamma_d<true>(x); }
SHLO_DEVICE float digamma_(float x) { return (float)digamma_d<false>((double)x); }
SHLO_DEVICE double digamma_(double x) { return digamma_d<true>(x); }
SHLO_DEVICE float zeta_(float x, float q) { return (float)zeta_d<false>((double)x, (double)q); }
SHLO_DEVICE double zeta_(double x, double q) { return zeta_d<true>(x, q); }
SHLO_DEVICE float polygamma_(float n, float x) { return (float)polygamma_d<false>((double)n, (double)x); }
SHLO_DEVICE double polygamma_(double n, double x) { return polygamma_d<true>(n, x); }
