// Combining updates: integers by atomics, few updates by links between those that meet. Part of the vocabulary of
// call/shlo.cuh.
#pragma once
#include "math/math.cuh"

// Integers of 32 or 64 bits; the order of updates does not change the result.
template <class T> SHLO_DEVICE void atomic_add(T* p, T x) { atomicAdd((uint_t<T>*)p, (uint_t<T>)x); }
template <class T> SHLO_DEVICE void atomic_and(T* p, T x) { atomicAnd((uint_t<T>*)p, (uint_t<T>)x); }
template <class T> SHLO_DEVICE void atomic_or(T* p, T x) { atomicOr((uint_t<T>*)p, (uint_t<T>)x); }
template <class T> SHLO_DEVICE void atomic_xor(T* p, T x) { atomicXor((uint_t<T>*)p, (uint_t<T>)x); }
template <class T> SHLO_DEVICE void atomic_max(T* p, T x) { atomicMax(p, x); }
template <class T> SHLO_DEVICE void atomic_min(T* p, T x) { atomicMin(p, x); }

constexpr int SHLO_FEW_UPDATES = 1024;
constexpr int SHLO_NO_UPDATE = SHLO_FEW_UPDATES;

// For each of `count` updates with the target keys[k] (-1: none), by a whole block: next[k], the following update of the
// same target, and first[k], whether no update of it precedes.
SHLO_DEVICE void link_updates(const idx* keys, int count, int* next, uint8_t* first) {
  for (int k = threadIdx.x; k < count; k += blockDim.x) {
    const idx key = keys[k];
    int other = k + 1;
    while (other < count && keys[other] != key) ++other;
    next[k] = other < count ? other : SHLO_NO_UPDATE;
    first[k] = key >= 0;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < count; k += blockDim.x)
    if (next[k] != SHLO_NO_UPDATE) first[next[k]] = 0;
  __syncthreads();
}
