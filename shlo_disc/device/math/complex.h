// Complex numbers: memory, arithmetic, comparisons, conversions. Part of the vocabulary described in values/vec.h.
//
// A vector of complex numbers is a pair of vectors, of the real and of the imaginary parts: templates over R
// apply to scalars (float, double) and to lanes. In memory the parts of a number are adjacent.
#pragma once
#include "math/elementary.h"
#include "values/masked.h"

template <class R>
struct Complex {
  R re, im;
};
typedef Complex<float> c64;
typedef Complex<double> c128;
typedef Complex<f32v> c64v;
typedef Complex<f64v> c128v;
SHLO_TYPE(c64, c64, bool, c64, c64, 1) SHLO_TYPE(c128, c128, bool, c128, c128, 1)
SHLO_TYPE(c64v, c64, maskv, c64v, c64v, 16) SHLO_TYPE(c128v, c128, maskv, c128v, c128v, 16)
template <> struct Vector<c64> { typedef c64v type; };
template <> struct Vector<c128> { typedef c128v type; };

SHLO_INLINE c64v splat_c64(c64 x) { return {splat_f32(x.re), splat_f32(x.im)}; }
SHLO_INLINE c128v splat_c128(c128 x) { return {splat_f64(x.re), splat_f64(x.im)}; }

// ---- memory ----------------------------------------------------------------------------------------------------------

// A c64 in memory is a word of 64 bits.
template <>
struct Stored<c64> {
  typedef u64v bytes;
  typedef c64v vector;
  typedef c64 scalar;
  static constexpr bool is_coded = true;
};
SHLO_INLINE uint64_t raw(c64 x) { return as<uint64_t>(x); }
SHLO_INLINE c64 decode(c64, uint64_t word) { return as<c64>(word); }
SHLO_INLINE uint64_t encode(c64, c64 x) { return as<uint64_t>(x); }
SHLO_INLINE c64v decode(c64, u64v words) {
  const f32v a = as<f32v>(words.lo), b = as<f32v>(words.hi);
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
          __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
}
SHLO_INLINE u64v encode(c64, c64v x) {
  const f32v a = __builtin_shufflevector(x.re, x.im, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const f32v b = __builtin_shufflevector(x.re, x.im, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return {as<u64h>(a), as<u64h>(b)};
}

// Lanes of c128 are four registers.
struct Registers {
  f64h part[4];
};
SHLO_INLINE c128v parted(Registers x) {
  auto even = [](f64h a, f64h b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14); };
  auto odd = [](f64h a, f64h b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15); };
  return {{even(x.part[0], x.part[1]), even(x.part[2], x.part[3])},
          {odd(x.part[0], x.part[1]), odd(x.part[2], x.part[3])}};
}
SHLO_INLINE Registers interleaved(c128v x) {
  auto first = [](f64h a, f64h b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); };
  auto last = [](f64h a, f64h b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); };
  return {{first(x.re.lo, x.im.lo), last(x.re.lo, x.im.lo), first(x.re.hi, x.im.hi), last(x.re.hi, x.im.hi)}};
}
SHLO_INLINE c128v load(const c128* p) {
  Registers x;
  __builtin_memcpy(&x, p, sizeof x);
  return parted(x);
}
SHLO_INLINE void store(c128* p, c128v v) {
  const Registers x = interleaved(v);
  __builtin_memcpy(p, &x, sizeof x);
}
// How many of the four numbers [4 k, 4 k + 4) are among the first n.
SHLO_INLINE int64_t of_four(int64_t n, int k) { return n < 4 * k ? 0 : n < 4 * k + 4 ? n - 4 * k : 4; }
SHLO_INLINE c128v load_n(const c128* p, int64_t n) {
  Registers x;
  for (int k = 0; k < 4; k++) x.part[k] = load_bytes<f64h>(p + 4 * k, 2 * of_four(n, k));
  return parted(x);
}
SHLO_INLINE void store_n(c128* p, c128v v, int64_t n) {
  const Registers x = interleaved(v);
  for (int k = 0; k < 4; k++) store_bytes(p + 4 * k, x.part[k], 2 * of_four(n, k));
}
SHLO_INLINE c128v load_stride(const c128* p, int64_t stride, int64_t n) {
  return {load_stride(&p->re, 2 * stride, n), load_stride(&p->im, 2 * stride, n)};
}
SHLO_INLINE void store_stride(c128* p, int64_t stride, c128v v, int64_t n) {
  store_stride(&p->re, 2 * stride, v.re, n);
  store_stride(&p->im, 2 * stride, v.im, n);
}
SHLO_INLINE c128v gather(const c128* p, i64v index, int64_t n) {
  return {gather(&p->re, index + index, n), gather(&p->im, index + index, n)};
}
SHLO_INLINE c128v gather_where(const c128* p, i64v index, maskv mask) {
  return {gather_where(&p->re, index + index, mask), gather_where(&p->im, index + index, mask)};
}
SHLO_INLINE Held strides(const c128*, int64_t stride, int64_t n) {
  return {keep_n(lanes_i64() * stride, n, splat_i64(0)), (1u << n) - 1};
}
SHLO_INLINE Held places(const c128*, i64v at, uint32_t held) { return {at, held}; }
SHLO_INLINE bool is_in_register(const Held&) { return false; }
SHLO_INLINE c128v load_at(const c128* p, const Held& places) {
  return places.held ? gather(p, places.at, 16) : splat_c128({0, 0});
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------

template <class R> SHLO_INLINE Complex<R> complex_(R re, R im) { return {re, im}; }
template <class R> SHLO_INLINE R real_(Complex<R> a) { return a.re; }
template <class R> SHLO_INLINE R imag_(Complex<R> a) { return a.im; }
template <class R> SHLO_INLINE R real_(R a) { return a; }  // of real numbers
template <class R> SHLO_INLINE R imag_(R) { return splat<R>(0); }
template <class R> SHLO_INLINE Complex<R> conj_(Complex<R> a) { return {a.re, -a.im}; }

template <class R> SHLO_INLINE Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
template <class R> SHLO_INLINE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> SHLO_INLINE Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
// The first product of each part is not rounded (FMA): with both rounded, the errors of powers are a sixth larger.
template <class R>
SHLO_INLINE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {multiply_add(a.re, b.re, -times(a.im, b.im)), multiply_add(a.im, b.re, times(a.re, b.im))};
}
template <class R> SHLO_INLINE Complex<R> neg_(Complex<R> a) { return -a; }
template <class R> SHLO_INLINE Complex<R> add_(Complex<R> a, Complex<R> b) { return a + b; }
template <class R> SHLO_INLINE Complex<R> sub_(Complex<R> a, Complex<R> b) { return a - b; }
template <class R> SHLO_INLINE Complex<R> mul_(Complex<R> a, Complex<R> b) { return a * b; }

template <class R> SHLO_INLINE mask_t<R> eq(Complex<R> a, Complex<R> b) { return m_and(eq(a.re, b.re), eq(a.im, b.im)); }
template <class R> SHLO_INLINE mask_t<R> ne(Complex<R> a, Complex<R> b) { return m_not(eq(a, b)); }
template <class R> SHLO_INLINE mask_t<R> is_finite(Complex<R> a) { return m_and(is_finite(a.re), is_finite(a.im)); }
template <class R>
SHLO_INLINE Complex<R> select(maskv c, Complex<R> a, Complex<R> b) {
  return {select(c, a.re, b.re), select(c, a.im, b.im)};
}
// By the real parts, then by the imaginary ones; a NaN wins.
template <class R>
SHLO_INLINE mask_t<R> before(Complex<R> a, Complex<R> b) {
  return m_or(lt(a.re, b.re), m_and(eq(a.re, b.re), lt(a.im, b.im)));
}
template <class R>
SHLO_INLINE Complex<R> max_(Complex<R> a, Complex<R> b) {
  return select(m_or(m_and(eq(a, a), before(a, b)), ne(b, b)), b, a);
}
template <class R>
SHLO_INLINE Complex<R> min_(Complex<R> a, Complex<R> b) {
  return select(m_or(m_and(eq(a, a), before(b, a)), ne(b, b)), b, a);
}

template <class R> SHLO_INLINE Complex<elem_t<R>> hsum(Complex<R> v) { return {hsum(v.re), hsum(v.im)}; }
template <class R>
SHLO_INLINE Complex<elem_t<R>> hprod(Complex<R> v) {
  elem_t<R> re[16], im[16];
  __builtin_memcpy(re, &v.re, sizeof re);
  __builtin_memcpy(im, &v.im, sizeof im);
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; i++) {
      const Complex<elem_t<R>> a = {re[i], im[i]}, b = {re[i + half], im[i + half]}, product = a * b;
      re[i] = product.re;
      im[i] = product.im;
    }
  return {re[0], im[0]};
}

// Conversions: of real numbers the imaginary part is 0; to a real type the imaginary part is dropped.
#define SHLO_COMPLEX_FROM(name, E)                                                                          \
  template <class X> SHLO_INLINE Complex<like_t<X, E>> to_##name(X x) {                                     \
    return {convert<E>(x), splat<like_t<X, E>>(0)};                                                         \
  }                                                                                                         \
  template <class R> SHLO_INLINE Complex<like_t<R, E>> to_##name(Complex<R> x) {                            \
    return {convert<E>(x.re), convert<E>(x.im)};                                                            \
  }
SHLO_COMPLEX_FROM(c64, float) SHLO_COMPLEX_FROM(c128, double)
#define SHLO_COMPLEX_TO(name, E) \
  template <class R> SHLO_INLINE like_t<R, E> to_##name(Complex<R> x) { return convert<E>(x.re); }
SHLO_COMPLEX_TO(f32, float) SHLO_COMPLEX_TO(f64, double)
SHLO_COMPLEX_TO(i8, int8_t) SHLO_COMPLEX_TO(i16, int16_t) SHLO_COMPLEX_TO(i32, int32_t) SHLO_COMPLEX_TO(i64, int64_t)
SHLO_COMPLEX_TO(u8, uint8_t) SHLO_COMPLEX_TO(u16, uint16_t) SHLO_COMPLEX_TO(u32, uint32_t) SHLO_COMPLEX_TO(u64, uint64_t)
template <class R> SHLO_INLINE mask_t<R> to_bool(Complex<R> x) { return ne(x.re, splat<R>(0)); }

// ---- where a formula does not hold ---------------------------------------------------------------------------------

// On comparisons of scalars, or of a register of them.
template <class M> SHLO_INLINE M both(M a, M b) { return (M)(a & b); }
template <class M> SHLO_INLINE M either(M a, M b) { return (M)(a | b); }
template <class M> SHLO_INLINE M not_true(M a) { return a == M{}; }
template <class D> SHLO_INLINE auto between(D low, D x, D high) { return both(low < x, x < high); }

template <class D> SHLO_INLINE auto lane(D v, int i) { return v[i]; }
template <class R> SHLO_INLINE auto lane(Complex<R> v, int i) { return Complex<elem_t<R>>{v.re[i], v.im[i]}; }
template <class D> SHLO_INLINE void set_lane(D& v, int i, elem_t<D> x) { v[i] = x; }
template <class R>
SHLO_INLINE void set_lane(Complex<R>& v, int i, Complex<elem_t<R>> x) {
  v.re[i] = x.re;
  v.im[i] = x.im;
}
// Applies the scalar function to the lanes in `wrong`; not inlined into the enclosing loops.
template <class M, class Y, class Fn, class... X>
static __attribute__((noinline, cold)) void repair(Y& y, const M& wrong, Fn fn, const X&... x) {
  for (int i = 0; i < int(sizeof(M) / sizeof(wrong[0])); i++)
    if (wrong[i]) set_lane(y, i, fn(lane(x, i)...));
}
template <class M, class Y, class Fn, class... X>
SHLO_INLINE Y unless(M wrong, Y y, Fn fn, X... x) {
  if constexpr (sizeof(M) <= sizeof(int)) return wrong ? fn(x...) : y;
  else {
    if (__builtin_expect(some(wrong), 0)) {
      Y repaired = y;
      repair(repaired, wrong, fn, x...);
      y = repaired;
    }
    return y;
  }
}
// Applies fn to one double or a register of them at a time; for floats, in double and rounded.
template <class R, class Fn, class... More>
SHLO_INLINE Complex<R> complex_in_double(Fn fn, Complex<R> a, More... b) {
  if constexpr (same<R, double> || same<R, f64h>) return fn(a, b...);
  else if constexpr (is_pair<R>) {
    typedef Complex<decltype(R::lo)> H;
    const H lo = fn(H{a.re.lo, a.im.lo}, H{b.re.lo, b.im.lo}...), hi = fn(H{a.re.hi, a.im.hi}, H{b.re.hi, b.im.hi}...);
    return {{lo.re, hi.re}, {lo.im, hi.im}};
  } else return to_c64(complex_in_double(fn, to_c128(a), to_c128(b)...));
}

// ---- modulus and quotient --------------------------------------------------------------------------------------------

// About 1 / sqrt(v), to 14 bits or more; v is normal.
template <class V>
SHLO_INLINE V rough_rsqrt(V v) {
#ifdef SHLO_AVX512
  if constexpr (same<V, f32v>) return __builtin_ia32_rsqrt14ps512_mask(v, v, (uint16_t)-1);
  else return __builtin_ia32_rsqrt14pd512_mask(v, v, (uint8_t)-1);
#else
  return rsqrt_(v);
#endif
}
// a b + c, rounded once; for floats, the product is exact in double.
template <class V>
SHLO_INLINE V fused(V a, V b, V c) {
#if defined(SHLO_AVX512) && !defined(__clang__)
  if constexpr (same<V, f32v>) return __builtin_ia32_vfmaddps512_mask(a, b, c, (uint16_t)-1, 4);
  else return __builtin_ia32_vfmaddpd512_mask(a, b, c, (uint8_t)-1, 4);
#elif defined(__clang__) && (defined(__FMA__) || defined(__aarch64__))
  return __builtin_elementwise_fma(a, b, c);
#else
  if constexpr (same<V, f32v>) return to_f32(to_f64(a) * to_f64(b) + to_f64(c));
  else {
    V y;
    for (int i = 0; i < Type<V>::lanes; i++) y[i] = __builtin_fma(a[i], b[i], c[i]);
    return y;
  }
#endif
}
// Of parts whose squares may overflow or vanish, or that are not finite. Squares of floats neither overflow nor vanish in
// double. A NaN takes precedence over an infinite part, as in XLA, unlike in C99.
SHLO_INLINE float any_modulus(c64 a) {
  return (float)__builtin_sqrt(times((double)a.re, (double)a.re) + (double)a.im * a.im);
}
SHLO_INLINE double any_modulus(c128 a) { return a.re != a.re || a.im != a.im ? nan_f64() : __builtin_hypot(a.re, a.im); }
// If one part is NaN, hardware_max and hardware_min return different operands, so that x or y is NaN.
// The root h of the square by a Newton step, then another one with the exact remainder h^2 - x^2 - y^2, computed as
// (h - x) (h + x) - y^2, whose first factor is exact for the larger part x.
template <class V>
SHLO_INLINE V modulus(V re, V im, elem_t<V> low, elem_t<V> high) {
  const V a = abs_(re), b = abs_(im), x = hardware_max(a, b), y = hardware_min(b, a), least = splat<V>(low);
  const V square = times(x, x) + y * y, inverse = rough_rsqrt(hardware_max(square, least));
  V h = square * inverse, half = inverse * elem_t<V>(0.5);
  if constexpr (same<V, f64h>) {  // needs twice the digits
    const V away = 0.5 - h * half;
    h = h + h * away;
    half = half + half * away;
  }
  h = h + (square - h * h) * half;
  const V apart = h - x, total = h + x, lost = (h - total) + x, product = apart * total;
  const V remainder = (fused(y, y, (V)-product) - fused(apart, total, (V)-product)) - apart * lost;
  const auto right = either(between(least, square, splat<V>(high)), x == splat<V>(0));
  h = h + remainder * half;
  return unless(not_true(right), h, [](auto z) { return any_modulus(z); }, Complex<V>{re, im});
}
SHLO_INLINE f32v abs_(c64v a) { return modulus(a.re, a.im, 0x1p-80f, 0x1p120f); }
SHLO_INLINE f64h abs_(Complex<f64h> a) { return modulus(a.re, a.im, 0x1p-900, 0x1p1000); }
SHLO_INLINE f64v abs_(c128v a) {
  return {abs_(Complex<f64h>{a.re.lo, a.im.lo}), abs_(Complex<f64h>{a.re.hi, a.im.hi})};
}
// One element: with the bits that it has in a vector.
SHLO_INLINE float abs_(c64 a) { return abs_(c64v{splat<f32v>(a.re), splat<f32v>(a.im)})[0]; }
SHLO_INLINE double abs_(c128 a) { return abs_(Complex<f64h>{splat<f64h>(a.re), splat<f64h>(a.im)})[0]; }

SHLO_INLINE bool endless(double x) { return !(x - x == 0); }  // infinite or NaN
SHLO_INLINE bool has_nan(c128 z) { return z.re != z.re || z.im != z.im; }
SHLO_INLINE c128 not_a_number() { return {nan_f64(), nan_f64()}; }
SHLO_INLINE double sign_if_infinite(double x) { return x != x || !endless(x) ? 0 : x > 0 ? 1 : -1; }

// Smith, Algorithm 116: Complex division (1962): by the larger part first, so that the squares do not overflow.
SHLO_INLINE c128 smith_quotient(c128 a, c128 b) {
  if (b.re == 0 && b.im == 0) return {a.re / b.re, a.im / b.re};
  if (is_finite(a) && b.re - b.re != 0 && b.re == b.re && b.im - b.im != 0 && b.im == b.im) {  // two infinities: only
    const double c = b.re > 0 ? 1 : -1, d = b.im > 0 ? 1 : -1;                                 // the signs count
    return {0 * (times(a.re, c) + a.im * d), 0 * (times(a.im, c) - a.re * d)};
  }
  const double c = sign_if_infinite(a.re), d = sign_if_infinite(a.im);
  if ((c != 0 || d != 0) && is_finite(b))
    return {inf_f64() * (times(c, b.re) + d * b.im), inf_f64() * (times(d, b.re) - c * b.im)};
  if (abs_(b.re) >= abs_(b.im)) {
    const double ratio = b.im / b.re, size = b.re + times(b.im, ratio);
    return {(a.re + times(a.im, ratio)) / size, (a.im - times(a.re, ratio)) / size};
  }
  const double ratio = b.re / b.im, size = times(b.re, ratio) + b.im;
  return {(times(a.re, ratio) + a.im) / size, (times(a.im, ratio) - a.re) / size};
}
// a conj(b) / |b|^2 if everything is finite, and no product vanishes. `Narrow`: the parts are floats, whose squares
// neither overflow nor vanish, and the quotient will be rounded.
template <bool Narrow, class D>
SHLO_INLINE Complex<D> quotient_f64(Complex<D> a, Complex<D> b) {
  const D square = times(b.re, b.re) + times(b.im, b.im);
  const D re = times(a.re, b.re) + times(a.im, b.im), im = times(a.im, b.re) - times(a.re, b.im);
  if constexpr (Narrow) {
    const D inverse = 1.0 / square;
    const Complex<D> y = {re * inverse, im * inverse};
    return unless((y.re - y.re) + (y.im - y.im) != splat<D>(0), y, smith_quotient, a, b);
  } else {
    const D size = times(a.re, a.re) + times(a.im, a.im), low = splat<D>(0x1p-900), high = splat<D>(0x1p1000);
    const auto is_zero = both(a.re == splat<D>(0), a.im == splat<D>(0));
    const auto right = both(between(low, square, high), either(between(low, size, high), is_zero));
    return unless(not_true(right), Complex<D>{re / square, im / square}, smith_quotient, a, b);
  }
}
template <class R>
SHLO_INLINE Complex<R> operator/(Complex<R> a, Complex<R> b) {
  return complex_in_double([](auto x, auto y) { return quotient_f64<same<elem_t<R>, float>>(x, y); }, a, b);
}
template <class R> SHLO_INLINE Complex<R> div_(Complex<R> a, Complex<R> b) { return a / b; }
