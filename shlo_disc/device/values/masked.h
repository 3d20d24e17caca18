// Masked memory accesses, for guarded loads. Absent lanes are 0.
//
//   masks        lanes_between(first, last): first <= lane < last
//   memory       load_where(p, mask) load_stride_where(p, stride, mask) gather_where(p, index, mask), as load,
//                load_stride and gather; only elements of lanes in the mask are touched. load_bool_where and so on: i1
#pragma once
#include "values/gather.h"

SHLO_INLINE maskv lanes_between(int64_t first, int64_t last) {
  const int32_t low = first < 0 ? 0 : first > 16 ? 16 : (int32_t)first;
  const int32_t high = last < 0 ? 0 : last > 16 ? 16 : (int32_t)last;
  return {(lanes_i32() >= low) & (lanes_i32() < high)};
}

// p[at(i)] for each lane i of the mask.
template <class B, class T, class At>
SHLO_INLINE B collect_where(const T* p, At at, maskv mask) {
  elem_t<B> elements[16] = {};
  for (int i = 0; i < 16; ++i) {
    if (mask.m[i]) elements[i] = raw(p[at(i)]);
  }
  B bytes;
  __builtin_memcpy(&bytes, elements, sizeof bytes);
  return bytes;
}

template <class T>
SHLO_INLINE loaded_t<T> load_where(const T* p, maskv mask) {
#ifdef SHLO_AVX512
  return unpack<T>(load_masked<bytes_t<T>>(p, (uint16_t)__builtin_ia32_cvtd2mask512(mask.m)));
#else
  if (hand(mask)) return load(p);
  return unpack<T>(collect_where<bytes_t<T>>(p, [](int i) { return i; }, mask));
#endif
}
template <class T>
SHLO_INLINE loaded_t<T> load_stride_where(const T* p, int64_t stride, maskv mask) {
  if (hand(mask)) return load_stride(p, stride, 16);
  return unpack<T>(collect_where<bytes_t<T>>(p, [=](int i) { return i * stride; }, mask));
}
template <class T>
SHLO_INLINE loaded_t<T> gather_where(const T* p, i64v index, maskv mask) {
  if (hand(mask)) return gather(p, index, 16);
  return unpack<T>(collect_where<bytes_t<T>>(p, [=](int i) { return i < 8 ? index.lo[i] : index.hi[i - 8]; }, mask));
}
SHLO_INLINE maskv load_bool_where(const uint8_t* p, maskv mask) { return load_where((const boolean*)p, mask); }
SHLO_INLINE maskv load_stride_bool_where(const uint8_t* p, int64_t stride, maskv mask) {
  return load_stride_where((const boolean*)p, stride, mask);
}
SHLO_INLINE maskv gather_bool_where(const uint8_t* p, i64v index, maskv mask) {
  return gather_where((const boolean*)p, index, mask);
}
