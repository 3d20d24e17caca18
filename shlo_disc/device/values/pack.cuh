// Several elements in one access. Part of the vocabulary described in call/shlo.cuh.
#pragma once
#include "values/types.cuh"

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

// N elements (a power of two, at most 16 bytes) from an address that is a multiple of their size.
template <int N, class T>
SHLO_DEVICE Pack<T, N> pack_load(const T* p) {
  typedef Pack<T, N> P;
#ifndef __CUDA_EMU__
  if constexpr (sizeof(P) == 16) return as<P>(*(const uint4*)p);
  else if constexpr (sizeof(P) == 8) return as<P>(*(const uint2*)p);
  else if constexpr (sizeof(P) <= 4) return as<P>(*(const uint_t<P>*)p);
  else
#endif
    return *(const P*)p;
}
template <class T, int N>
SHLO_DEVICE void pack_store(T* p, Pack<T, N> v) {
  typedef Pack<T, N> P;
#ifndef __CUDA_EMU__
  if constexpr (sizeof(P) == 16) *(uint4*)p = as<uint4>(v);
  else if constexpr (sizeof(P) == 8) *(uint2*)p = as<uint2>(v);
  else if constexpr (sizeof(P) <= 4) *(uint_t<P>*)p = as<uint_t<P>>(v);
  else
#endif
    *(P*)p = v;
}
