// The vocabulary of generated kernels, part 1: values, memory, masks. (math/math.h is the rest and includes this file.)
//
// A formula is printed once and means the same for one element (scalar mode) and for 16 at a time (vector mode):
// every function below is overloaded for both.
//
//   element  i8 .. i64, u8 .. u64  f32    f64     i1       f16, bf16                           c64, c128
//   memory   int8_t .. uint64_t    float  double  uint8_t  f16, bf16                           c64, c128
//   scalar   int8_t .. uint64_t    float  double  bool     float, rounded when stored          c64, c128 (re, im)
//   vector   i8v .. i64v, u64v     f32v   f64v    maskv    f32v                                c64v, c128v (re, im)
//
// Floats of 8 bits and fewer (f8E5M2 ..) are handled like bf16; integers of fewer than 8 (i2 i4 ui2 ui4) are computed
// in 8 bits and wrapped: see math/small.h. Both operands of a call have the same type. Constants: splat_T(x) in vector
// mode, T(x) in scalar mode.
//
//   memory       load(p) load_n(p, n) store(p, v) store_n(p, v, n): consecutive elements; only the first n (0..16) are
//                touched, absent lanes are 0. load_stride(p, stride, n) gather(p, i64v index, n): p[i * stride],
//                p[index[i]] for i < n; store_stride(p, stride, v, n). i1 is a byte 0 or 1: load_bool, load_bool_n,
//                load_stride_bool, gather_bool, store_bool, store_bool_n, store_stride_bool. Scalar mode: p[i] for plain
//                types; value(p[i]), assign(p + i, x) for all.
//   constants    splat_f32 splat_f64 splat_i8 .. splat_u64 splat_c64 splat_c128 splat_bool; lanes_i32() lanes_i64(): 0, 1,
//                .. 15
//   compare      eq ne lt le gt ge -> maskv / bool; t_eq t_ne t_lt t_le t_gt t_ge: IEEE total order of floats
//   masks        and_ or_ xor_ not_ (also on integers), m_and m_or m_xor m_not; mask_n(n): lane < n; m_01(mask): 0, 1
//                select(condition, a, b): also with a bool that holds for all lanes
//   partial      keep_n(v, n, fill): lanes >= n are taken from the vector `fill`
//   horizontal   hsum hprod hmax hmin (as max_ min_) hand hor hxor, as trees
//   arithmetic   infix + - * / on floats and complex; add_ sub_ mul_ neg_ wrap integers (i1: or, xor, and) and take all
//                types; div_ rem_ (x/0 = -1 or all ones, MIN/-1 = MIN, x%0 = x, MIN%-1 = 0; floats: /, fmod)
//   integers     shl shr_a shr_l (distance >= width: 0 or the sign) popcnt clz
//   all reals    max_ min_ (NaN wins, -0 < +0) abs_ sign_ (NaN, -0 kept) pow_
//   floats       floor_ ceil_ round_even round_afz is_finite exp_ expm1_ log_ log1p_ logistic_ tanh_ sin_ cos_ tan_
//                sqrt_ rsqrt_ cbrt_ atan2_ erf_ acos_ asin_ atan_ acosh_ asinh_ atanh_ cosh_ sinh_ erfc_ erf_inv_ lgamma_
//                digamma_ zeta_ polygamma_ bessel_i1e_ reduce_precision(x, exponent_bits, mantissa_bits)
//   conversions  to_f32 to_f64 to_i8 .. to_u64 to_bool to_c64 to_c128, from everything; float to integer truncates and
//                saturates, NaN is 0. round_bf16 round_f16: to the narrow type's values, still f32
//   bits         bits_f32 bits_f64 bits_i8 .. bits_u64: reinterpret, same width; pack_bf16 pack_f16: f32 -> u16,
//                bits_bf16 bits_f16: u16 -> f32
//   complex      complex_(re, im) real_ imag_ conj_ eq ne hsum hprod abs_ (real) sign_ exp_ expm1_ log_ log1p_ logistic_
//                tanh_ sin_ cos_ tan_ sqrt_ rsqrt_ cbrt_ pow_ is_finite acos_ asin_ atan_ acosh_ asinh_ atanh_ cosh_ sinh_
#pragma once
#include <stdint.h>
#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined: no vector crosses a call

#define SHLO_INLINE static inline __attribute__((always_inline))
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SHLO_AVX512 1
#endif
#if (defined(__FMA__) || defined(__aarch64__)) && defined(__OPTIMIZE__)
#define SHLO_CONTRACTS 1  // a product and a sum of it become one instruction, which rounds once
#endif

// ---- types -----------------------------------------------------------------------------------------------------------

template <class E, int N>
struct Lanes {
  typedef E type __attribute__((vector_size(sizeof(E) * N)));
};
template <class E, int N>
using lanes_t = typename Lanes<E, N>::type;

// 64-bit elements: two registers (no compiler keeps a 128-byte vector in registers).
template <class H>
struct Pair {
  H lo, hi;
};

typedef lanes_t<float, 16> f32v;
typedef lanes_t<int8_t, 16> i8v;
typedef lanes_t<int16_t, 16> i16v;
typedef lanes_t<int32_t, 16> i32v;
typedef lanes_t<uint8_t, 16> u8v;
typedef lanes_t<uint16_t, 16> u16v;
typedef lanes_t<uint32_t, 16> u32v;
typedef lanes_t<double, 8> f64h;
typedef lanes_t<int64_t, 8> i64h;
typedef lanes_t<uint64_t, 8> u64h;
typedef lanes_t<int32_t, 8> i32h;
typedef lanes_t<uint32_t, 8> u32h;
typedef lanes_t<float, 8> f32h;
typedef Pair<f64h> f64v;
typedef Pair<i64h> i64v;
typedef Pair<u64h> u64v;

struct maskv {
  i32v m;  // lanes are 0 or -1
};
struct boolean {  // distinguishes an i1 in memory from a number
  uint8_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

// Type<T>: the element type of a value, its mask type, integers of its width, the number of lanes.
template <class T>
struct Type {};
#define SHLO_TYPE(T, E, M, I, U, N) \
  template <> struct Type<T> { typedef E elem; typedef M mask; typedef I sint; typedef U uint; enum { lanes = N }; };
#define SHLO_TYPES(E, I, U, V, VI, VU) SHLO_TYPE(E, E, bool, I, U, 1) SHLO_TYPE(V, E, maskv, VI, VU, 16)
SHLO_TYPES(float, int32_t, uint32_t, f32v, i32v, u32v)
SHLO_TYPES(double, int64_t, uint64_t, f64v, i64v, u64v)
SHLO_TYPES(int8_t, int8_t, uint8_t, i8v, i8v, u8v)
SHLO_TYPES(uint8_t, int8_t, uint8_t, u8v, i8v, u8v)
SHLO_TYPES(int16_t, int16_t, uint16_t, i16v, i16v, u16v)
SHLO_TYPES(uint16_t, int16_t, uint16_t, u16v, i16v, u16v)
SHLO_TYPES(int32_t, int32_t, uint32_t, i32v, i32v, u32v)
SHLO_TYPES(uint32_t, int32_t, uint32_t, u32v, i32v, u32v)
SHLO_TYPES(int64_t, int64_t, uint64_t, i64v, i64v, u64v)
SHLO_TYPES(uint64_t, int64_t, uint64_t, u64v, i64v, u64v)
SHLO_TYPE(f64h, double, i64h, i64h, u64h, 8)
SHLO_TYPE(i64h, int64_t, i64h, i64h, u64h, 8)
SHLO_TYPE(u64h, uint64_t, i64h, i64h, u64h, 8)
SHLO_TYPE(bool, bool, bool, bool, bool, 1)
SHLO_TYPE(maskv, bool, maskv, maskv, maskv, 16)
template <class T> using elem_t = typename Type<T>::elem;
template <class T> using mask_t = typename Type<T>::mask;
template <class T> using sint_t = typename Type<T>::sint;
template <class T> using uint_t = typename Type<T>::uint;
template <class T> constexpr bool is_scalar = Type<T>::lanes == 1;
template <class T> constexpr bool is_pair = false;
template <class H> constexpr bool is_pair<Pair<H>> = true;
template <bool, class A, class B> struct Pick { typedef A type; };
template <class A, class B> struct Pick<false, A, B> { typedef B type; };
template <class A, class B> constexpr bool same = __is_same(A, B);
template <class T> constexpr bool is_mask = same<T, maskv> || same<T, bool>;
template <class T> constexpr bool is_real = same<elem_t<T>, float> || same<elem_t<T>, double>;
template <class T> constexpr bool is_signed = elem_t<T>(-1) < elem_t<T>(0);

// Vector<E>: 16 lanes of E.
template <class E> struct Vector { typedef lanes_t<E, 16> type; };
template <> struct Vector<double> { typedef f64v type; };
template <> struct Vector<int64_t> { typedef i64v type; };
template <> struct Vector<uint64_t> { typedef u64v type; };
template <> struct Vector<bool> { typedef maskv type; };
template <class E> using vector_t = typename Vector<E>::type;
// Like<X, E>: elements E, as many as X has (1 or 16).
template <class X, class E, bool Scalar = is_scalar<X>> struct Like { typedef E type; };
template <class X, class E> struct Like<X, E, false> { typedef vector_t<E> type; };
template <class X, class E> using like_t = typename Like<X, E>::type;

template <class To, class From>
SHLO_INLINE To as(From x) {
  static_assert(sizeof(To) == sizeof(From), "reinterprets between types of the same width");
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
// The bits of x minus `low`; may wrap around for negative numbers and NaNs.
template <class F>
SHLO_INLINE sint_t<F> bits_above(F x, elem_t<uint_t<F>> low) {
  return as<sint_t<F>>((uint_t<F>)(as<uint_t<F>>(x) - low));
}

template <class V>
SHLO_INLINE V splat(elem_t<V> x) {
  if constexpr (is_scalar<V>) return x;
  else if constexpr (same<V, maskv>) return maskv{int32_t(-int(x)) - i32v{}};
  else if constexpr (is_pair<V>) return V{x - decltype(V::lo){}, x - decltype(V::lo){}};
  else return x - V{};
}
#define SHLO_SPLAT(name, V) SHLO_INLINE V splat_##name(elem_t<V> x) { return splat<V>(x); }
SHLO_SPLAT(f32, f32v) SHLO_SPLAT(f64, f64v) SHLO_SPLAT(bool, maskv)
SHLO_SPLAT(i8, i8v) SHLO_SPLAT(i16, i16v) SHLO_SPLAT(i32, i32v) SHLO_SPLAT(i64, i64v)
SHLO_SPLAT(u8, u8v) SHLO_SPLAT(u16, u16v) SHLO_SPLAT(u32, u32v) SHLO_SPLAT(u64, u64v)
SHLO_INLINE i32v lanes_i32() { return i32v{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
SHLO_INLINE i64v lanes_i64() { return i64v{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}; }

#define SHLO_OPERATOR(op) \
  template <class H> SHLO_INLINE Pair<H> operator op(Pair<H> a, Pair<H> b) { return {a.lo op b.lo, a.hi op b.hi}; } \
  template <class H> SHLO_INLINE Pair<H> operator op(Pair<H> a, elem_t<H> b) { return {a.lo op b, a.hi op b}; } \
  template <class H> SHLO_INLINE Pair<H> operator op(elem_t<H> a, Pair<H> b) { return {a op b.lo, a op b.hi}; }
SHLO_OPERATOR(+) SHLO_OPERATOR(-) SHLO_OPERATOR(*) SHLO_OPERATOR(/)
SHLO_OPERATOR(&) SHLO_OPERATOR(|) SHLO_OPERATOR(^) SHLO_OPERATOR(<<) SHLO_OPERATOR(>>)
template <class H> SHLO_INLINE Pair<H> operator-(Pair<H> a) { return {-a.lo, -a.hi}; }
template <class H> SHLO_INLINE Pair<H> operator~(Pair<H> a) { return {~a.lo, ~a.hi}; }
SHLO_INLINE maskv operator&(maskv a, maskv b) { return {a.m & b.m}; }
SHLO_INLINE maskv operator|(maskv a, maskv b) { return {a.m | b.m}; }
SHLO_INLINE maskv operator^(maskv a, maskv b) { return {a.m ^ b.m}; }
SHLO_INLINE maskv operator~(maskv a) { return {~a.m}; }

// ---- masks -----------------------------------------------------------------------------------------------------------

SHLO_INLINE i32v join(i32h lo, i32h hi) {
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
SHLO_INLINE i32h low(i32v v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
SHLO_INLINE i32h high(i32v v) { return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); }
SHLO_INLINE i32h narrow(i64h v) { return __builtin_convertvector(v, i32h); }

#define SHLO_COMPARE(name, op)                                                                                       \
  template <class V> SHLO_INLINE mask_t<V> name(V a, V b) {                                                          \
    if constexpr (is_scalar<V>) return a op b;                                                                       \
    else if constexpr (same<V, maskv>) return {b.m op a.m}; /* true is -1 */                                         \
    else if constexpr (is_pair<V>) return {join(narrow((i64h)(a.lo op b.lo)), narrow((i64h)(a.hi op b.hi)))};        \
    else if constexpr (sizeof(V) == 64 && Type<V>::lanes == 16) return {(i32v)(a op b)};                             \
    else return {__builtin_convertvector(a op b, i32v)};                                                             \
  }
SHLO_COMPARE(eq, ==) SHLO_COMPARE(ne, !=) SHLO_COMPARE(lt, <) SHLO_COMPARE(le, <=) SHLO_COMPARE(gt, >) SHLO_COMPARE(ge, >=)

template <class V>
SHLO_INLINE V select(bool c, V a, V b) {
  return c ? a : b;
}
template <class V>
SHLO_INLINE V select(maskv c, V a, V b) {
  static_assert(!is_scalar<V>, "select: a vector condition chooses between vectors");
  if constexpr (same<V, maskv>) return (c & a) | (~c & b);
  else if constexpr (is_pair<V>) {
    i64h lo = __builtin_convertvector(low(c.m), i64h), hi = __builtin_convertvector(high(c.m), i64h);
    return V{lo ? a.lo : b.lo, hi ? a.hi : b.hi};
  } else if constexpr (sizeof(V) == 64) return c.m ? a : b;
  else return __builtin_convertvector(c.m, sint_t<V>) ? a : b;
}

template <class V> SHLO_INLINE V and_(V a, V b) { return a & b; }
template <class V> SHLO_INLINE V or_(V a, V b) { return a | b; }
template <class V> SHLO_INLINE V xor_(V a, V b) { return a ^ b; }
template <class V> SHLO_INLINE V not_(V a) { if constexpr (same<V, bool>) return !a; else return ~a; }
#define SHLO_MASK(M)                                             \
  SHLO_INLINE M m_and(M a, M b) { return and_(a, b); }           \
  SHLO_INLINE M m_or(M a, M b) { return or_(a, b); }             \
  SHLO_INLINE M m_xor(M a, M b) { return xor_(a, b); }           \
  SHLO_INLINE M m_not(M a) { return not_(a); }
SHLO_MASK(maskv) SHLO_MASK(bool)
SHLO_INLINE i32v m_01(maskv a) { return a.m & 1; }
SHLO_INLINE int32_t m_01(bool a) { return a; }
SHLO_INLINE maskv mask_n(int64_t n) { return {lanes_i32() < (int32_t)n}; }
template <class V>
SHLO_INLINE V keep_n(V v, int64_t n, V fill) {
  return select(mask_n(n), v, fill);
}

// ---- memory ----------------------------------------------------------------------------------------------------------

// Stored<T>: the register type for the bytes of 16 T, and the types of their values.
template <class T> struct Stored { typedef vector_t<T> bytes; typedef vector_t<T> vector; typedef T scalar; };
template <> struct Stored<boolean> { typedef u8v bytes; typedef maskv vector; typedef bool scalar; };
template <> struct Stored<bf16> { typedef u16v bytes; typedef f32v vector; typedef float scalar; };
template <> struct Stored<f16> { typedef u16v bytes; typedef f32v vector; typedef float scalar; };
template <class T> using bytes_t = typename Stored<T>::bytes;
template <class T> using loaded_t = typename Stored<T>::vector;

template <class T> SHLO_INLINE T raw(T x) { return x; }
SHLO_INLINE uint8_t raw(boolean x) { return x.bits; }
SHLO_INLINE uint16_t raw(bf16 x) { return x.bits; }
SHLO_INLINE uint16_t raw(f16 x) { return x.bits; }

template <class X> SHLO_INLINE like_t<X, float> bits_bf16(X bits);
template <class X> SHLO_INLINE like_t<X, float> bits_f16(X bits);
template <class F> SHLO_INLINE like_t<F, uint16_t> pack_bf16(F x);
template <class F> SHLO_INLINE like_t<F, uint16_t> pack_f16(F x);

template <class T, class = void> constexpr bool is_coded = false;  // whether encode and decode are declared elsewhere
template <class T> constexpr bool is_coded<T, decltype(void(Stored<T>::is_coded))> = true;

template <class T, class B>
SHLO_INLINE auto unpack(B bytes) {
  if constexpr (same<T, boolean>) return ne(bytes, splat<B>(0));
  else if constexpr (same<T, bf16>) return bits_bf16(bytes);
  else if constexpr (same<T, f16>) return bits_f16(bytes);
  else if constexpr (is_coded<T>) return decode(T{}, bytes);
  else return bytes;
}
template <class T, class V>
SHLO_INLINE auto pack(V v) {
  if constexpr (same<V, maskv>) return __builtin_convertvector(v.m & 1, u8v);
  else if constexpr (same<T, boolean>) return uint8_t(v);
  else if constexpr (same<T, bf16>) return pack_bf16(v);
  else if constexpr (same<T, f16>) return pack_f16(v);
  else if constexpr (is_coded<T>) return encode(T{}, v);
  else return v;
}

#ifdef SHLO_AVX512
// Masked moves take element pointers in one compiler, vector pointers in another.
struct Address {
  const void* p;
  template <class T> __attribute__((always_inline)) operator T*() const { return (T*)p; }
};
#endif

#ifdef SHLO_AVX512
// Lanes whose bit is clear in the mask are 0.
template <class B>
SHLO_INLINE B load_masked(const void* p, uint32_t mask) {
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    return B{load_masked<H>(p, mask & 0xff), load_masked<H>((const char*)p + sizeof(H), mask >> 8)};
  } else if constexpr (sizeof(elem_t<B>) == 8) {
    return (B)__builtin_ia32_loaddqudi512_mask(Address{p}, lanes_t<long long, 8>{}, (uint8_t)mask);
  } else if constexpr (sizeof(elem_t<B>) == 4) {
    return (B)__builtin_ia32_loaddqusi512_mask(Address{p}, i32v{}, (uint16_t)mask);
  } else if constexpr (sizeof(elem_t<B>) == 2) {
    return (B)__builtin_ia32_loaddquhi256_mask(Address{p}, i16v{}, (uint16_t)mask);
  } else {
    return (B)__builtin_ia32_loaddquqi128_mask(Address{p}, lanes_t<char, 16>{}, (uint16_t)mask);
  }
}
#endif
template <class B>
SHLO_INLINE B load_bytes(const void* p, int64_t n) {
#ifdef SHLO_AVX512
  return load_masked<B>(p, (1u << n) - 1);
#else
  if constexpr (is_pair<B>) {
    typedef decltype(B::lo) H;
    int64_t first = n < 8 ? n : 8;
    return B{load_bytes<H>(p, first), load_bytes<H>((const char*)p + sizeof(H), n - first)};
  } else {
    B bytes = {};
    __builtin_memcpy(&bytes, p, n * sizeof(elem_t<B>));
    return bytes;
  }
#endif
}
#ifdef SHLO_AVX512
// The mask is hidden from the compiler: for a known one-lane mask, LLVM miscompiles the store of a narrowed value
// (f32 -> bf16, i32 -> i8) and writes all four bytes of the first element before narrowing.
template <class B>
SHLO_INLINE void store_masked(void* p, B bytes, uint32_t mask) {
  asm("" : "+r"(mask));
  if constexpr (sizeof(elem_t<B>) == 8)
    __builtin_ia32_storedqudi512_mask(Address{p}, (lanes_t<long long, 8>)bytes, (uint8_t)mask);
  else if constexpr (sizeof(elem_t<B>) == 4)
    __builtin_ia32_storedqusi512_mask(Address{p}, (i32v)bytes, (uint16_t)mask);
  else if constexpr (sizeof(elem_t<B>) == 2)
    __builtin_ia32_storedquhi256_mask(Address{p}, (i16v)bytes, (uint16_t)mask);
  else
    __builtin_ia32_storedquqi128_mask(Address{p}, (lanes_t<char, 16>)bytes, (uint16_t)mask);
}
#endif
template <class B>
SHLO_INLINE void store_bytes(void* p, B bytes, int64_t n) {
  if constexpr (is_pair<B>) {
    int64_t first = n < 8 ? n : 8;
    store_bytes(p, bytes.lo, first);
    store_bytes((char*)p + sizeof(bytes.lo), bytes.hi, n - first);
  } else {
#ifdef SHLO_AVX512
    store_masked(p, bytes, (1u << n) - 1);
#else
    __builtin_memcpy(p, &bytes, n * sizeof(elem_t<B>));
#endif
  }
}
template <class T>
SHLO_INLINE loaded_t<T> load(const T* p) {
  bytes_t<T> bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return unpack<T>(bytes);
}
template <class T>
SHLO_INLINE loaded_t<T> load_n(const T* p, int64_t n) {
  return unpack<T>(load_bytes<bytes_t<T>>(p, n));
}
template <class T>
SHLO_INLINE void store(T* p, loaded_t<T> v) {
  bytes_t<T> bytes = pack<T>(v);
  __builtin_memcpy(p, &bytes, sizeof bytes);
}
template <class T>
SHLO_INLINE void store_n(T* p, loaded_t<T> v, int64_t n) {
  store_bytes(p, pack<T>(v), n);
}
template <class T>
SHLO_INLINE typename Stored<T>::scalar value(T x) {
  return unpack<T>(raw(x));
}
template <class T, class X>
SHLO_INLINE void assign(T* p, X x) {
  auto bytes = pack<T>((typename Stored<T>::scalar)x);
  __builtin_memcpy(p, &bytes, sizeof *p);
}
SHLO_INLINE maskv load_bool(const uint8_t* p) { return load((const boolean*)p); }
SHLO_INLINE maskv load_bool_n(const uint8_t* p, int64_t n) { return load_n((const boolean*)p, n); }
SHLO_INLINE void store_bool(uint8_t* p, maskv v) { store((boolean*)p, v); }
SHLO_INLINE void store_bool_n(uint8_t* p, maskv v, int64_t n) { store_n((boolean*)p, v, n); }

// ---- horizontal ------------------------------------------------------------------------------------------------------

// IEEE 754's maximum and minimum: NaN if either operand is NaN, -0 < +0; for scalars and plain vectors of any length.
// At best three instructions each.
#if defined(SHLO_AVX512) && defined(__clang__)
SHLO_INLINE f32v hardware_max(f32v a, f32v b) { return __builtin_ia32_maxps512(a, b, 4); }
SHLO_INLINE f32v hardware_min(f32v a, f32v b) { return __builtin_ia32_minps512(a, b, 4); }
#elif defined(SHLO_AVX512)
SHLO_INLINE f32v hardware_max(f32v a, f32v b) { return __builtin_ia32_maxps512_mask(a, b, a, (uint16_t)-1, 4); }
SHLO_INLINE f32v hardware_min(f32v a, f32v b) { return __builtin_ia32_minps512_mask(a, b, a, (uint16_t)-1, 4); }
#endif
template <class V> SHLO_INLINE V hardware_max(V a, V b) { return a > b ? a : b; }  // b if one is a NaN
template <class V> SHLO_INLINE V hardware_min(V a, V b) { return a < b ? a : b; }

// b if it is a NaN, else c. Applied before the signs of zeros are set, because then it is one instruction, possibly
// masked.
template <class V> SHLO_INLINE V unless_nan(V b, V c) { return b == b ? c : b; }
#if defined(SHLO_AVX512) && defined(__clang__)
SHLO_INLINE f32v unless_nan(f32v b, f32v c) {
  const int32_t quiet = 0x1, signaling = 0x10;  // for these classes of `b` the second operand, else the first
  return __builtin_ia32_fixupimmps512_mask(c, b, i32v{} + (quiet | signaling), 0, (uint16_t)-1, 4);
}
#endif

// The bits of floats as integers; for integers (which have no -0) `true`.
template <class V> SHLO_INLINE auto first_lane(V v, int) -> decltype(+v[0]) { return v[0]; }
template <class V> SHLO_INLINE V first_lane(V v, long) { return v; }
template <class V>
SHLO_INLINE auto bits_of_float(V v) {
  typedef decltype(first_lane(v, 0)) E;
  if constexpr (!same<E, float> && !same<E, double>) return true;
  else if constexpr (same<V, E>) return as<sint_t<E>>(v);
  else return as<decltype(v > v)>(v);
}
// Of two zeros the hardware returns `a`. If b's sign is clear, the larger one's is clear; if set, the smaller one's is
// set.
template <class V>
SHLO_INLINE V larger(V a, V b) {
  V c = hardware_max(b, a);
  c = unless_nan(b, c);
  auto bits = bits_of_float(b);
  if constexpr (!same<decltype(bits), bool>) {
    typedef sint_t<decltype(first_lane(b, 0))> W;
    c = as<V>(bits_of_float(c) & (bits | W(uint_t<W>(-1) >> 1)));
  }
  return c;
}
template <class V>
SHLO_INLINE V smaller(V a, V b) {
  V c = hardware_min(b, a);
  c = unless_nan(b, c);
  auto bits = bits_of_float(b);
  if constexpr (!same<decltype(bits), bool>) {
    typedef sint_t<decltype(first_lane(b, 0))> W;
    c = as<V>(bits_of_float(c) | (bits & W(~(uint_t<W>(-1) >> 1))));
  }
  return c;
}
// The same for a scalar outside of vectorizable loops, such as an element in place: computed in a small vector, since
// bit operations on a scalar move it out of the vector registers and back (2 ns). Compilers vectorize only `larger`,
// not these.
SHLO_INLINE lanes_t<float, 4> in_all_lanes(float x) { return lanes_t<float, 4>{x, x, x, x}; }
SHLO_INLINE lanes_t<double, 2> in_all_lanes(double x) { return lanes_t<double, 2>{x, x}; }
template <class E> SHLO_INLINE E max_alone(E a, E b) { return larger(in_all_lanes(a), in_all_lanes(b))[0]; }
template <class E> SHLO_INLINE E min_alone(E a, E b) { return smaller(in_all_lanes(a), in_all_lanes(b))[0]; }

template <class E, int N, class Op>
SHLO_INLINE E fold(lanes_t<E, N> v, Op op) {
  if constexpr (N == 2) return op(E(v[0]), E(v[1]));
  else {
    lanes_t<E, N / 2> half[2];
    __builtin_memcpy(half, &v, sizeof v);
    return fold<E, N / 2>(op(half[0], half[1]), op);
  }
}
template <class V, class Op>
SHLO_INLINE elem_t<V> horizontal(V v, Op op) {
  if constexpr (is_pair<V>) return fold<elem_t<V>, 8>(op(v.lo, v.hi), op);
  else return fold<elem_t<V>, 16>(v, op);
}
template <class V> SHLO_INLINE elem_t<V> hmax(V v) { return horizontal(v, [](auto a, auto b) { return larger(a, b); }); }
template <class V> SHLO_INLINE elem_t<V> hmin(V v) { return horizontal(v, [](auto a, auto b) { return smaller(a, b); }); }
// Returns v, hiding its origin from the compiler. A loop of one iteration computes `0 + x * y`, and that product would
// be contracted into the first addition of halves in some copies of the loop, but not in others.
template <class E, int N>
SHLO_INLINE lanes_t<E, N> rounded(lanes_t<E, N> v) {
#if defined(SHLO_AVX512)
  constexpr int REGISTER = 64;
#elif defined(__AVX__)
  constexpr int REGISTER = 32;
#else
  constexpr int REGISTER = 16;
#endif
  if constexpr (sizeof v > REGISTER) {
    lanes_t<E, N / 2> half[2];
    __builtin_memcpy(half, &v, sizeof v);
    half[0] = rounded<E, N / 2>(half[0]), half[1] = rounded<E, N / 2>(half[1]);
    __builtin_memcpy(&v, half, sizeof v);
  } else {
#if defined(__x86_64__)
    asm("" : "+v"(v));
#else
    asm("" : "+w"(v));
#endif
  }
  return v;
}
// a * b for floats, never contracted into a sum: compilers contract only within a basic block, and so not in all copies
// of a loop.
template <class V>
SHLO_INLINE V times(V a, V b) {
#ifdef __clang__
#pragma clang fp contract(off)
#endif
  if constexpr (is_pair<V>) return {times(a.lo, b.lo), times(a.hi, b.hi)};
  else {
    V product = a * b;
#ifndef __clang__  // which has no such pragma
    if constexpr (sizeof(V) > sizeof(elem_t<V>)) return rounded<elem_t<V>, sizeof(V) / sizeof(elem_t<V>)>(product);
#if defined(__x86_64__)
    else asm("" : "+x"(product));
#else
    else asm("" : "+w"(product));
#endif
#endif
    return product;
  }
}
// a * b + c, rounded once if the CPU has FMA, in every copy of a loop.
template <class V>
SHLO_INLINE V multiply_add(V a, V b, V c) {
#ifdef SHLO_CONTRACTS
  if constexpr (is_pair<V>) return {multiply_add(a.lo, b.lo, c.lo), multiply_add(a.hi, b.hi, c.hi)};
  else if constexpr (same<V, float>) return __builtin_fmaf(a, b, c);
  else if constexpr (same<V, double>) return __builtin_fma(a, b, c);
#ifdef __clang__
  else return __builtin_elementwise_fma(a, b, c);
#else
  else return a * b + rounded<elem_t<V>, int(sizeof(V) / sizeof(elem_t<V>))>(c);
#endif
#else
  return times(a, b) + c;
#endif
}
template <class V>
SHLO_INLINE elem_t<V> hsum(V v) {
  typedef elem_t<V> E;
  if constexpr (is_real<V>) {
    if constexpr (is_pair<V>) v.lo = rounded<E, 8>(v.lo), v.hi = rounded<E, 8>(v.hi);
    else v = rounded<E, 16>(v);
    return horizontal(v, [](auto a, auto b) { return a + b; });
  }
  else return (elem_t<V>)horizontal(as<uint_t<V>>(v), [](auto a, auto b) { return (decltype(a))(a + b); });
}
template <class V>
SHLO_INLINE elem_t<V> hprod(V v) {
  if constexpr (is_real<V>) return horizontal(v, [](auto a, auto b) { return a * b; });
  else return (elem_t<V>)horizontal(as<uint_t<V>>(v), [](auto a, auto b) {
    if constexpr (sizeof(a) == sizeof(elem_t<V>)) return (decltype(a))(1u * a * b);  // not in int, which could overflow
    else return a * b;
  });
}
template <class V>
SHLO_INLINE elem_t<V> hand(V v) {
#ifdef SHLO_AVX512
  if constexpr (same<V, maskv>) return (uint16_t)__builtin_ia32_cvtd2mask512(v.m) == 0xffff;
#endif
  if constexpr (same<V, maskv>) return hand(v.m) != 0;
  else return horizontal(v, [](auto a, auto b) { return (decltype(a))(a & b); });
}
template <class V>
SHLO_INLINE elem_t<V> hor(V v) {
#ifdef SHLO_AVX512
  if constexpr (same<V, maskv>) return (uint16_t)__builtin_ia32_cvtd2mask512(v.m) != 0;
#endif
  if constexpr (same<V, maskv>) return hor(v.m) != 0;
  else return horizontal(v, [](auto a, auto b) { return (decltype(a))(a | b); });
}
template <class V>
SHLO_INLINE elem_t<V> hxor(V v) {
  if constexpr (same<V, maskv>) return hxor(v.m) != 0;
  else return horizontal(v, [](auto a, auto b) { return (decltype(a))(a ^ b); });
}
