// CUDA C++ for a C++ compiler: what the generated text and the prelude find instead of NVRTC's builtins.
//
// A CUDA thread is a fiber of the emulator (emulator.cc). Everything that threads do together is a call of it, with the
// place in the text; memory is ordinary memory, so that sanitizers see every access.
#pragma once
#define __CUDA_EMU__ 1
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <utility>

#include "emulator.h"

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __restrict__ __restrict
#define threadIdx (emu_thread->index)
#define blockIdx emu_block
#define blockDim emu_block_size
#define gridDim emu_grid_size

#define EMU_SITE(what) (__extension__({ static const EmuSite site_ = {__FILE__, __LINE__, what}; &site_; }))

// ---- shared memory: fresh for every block, full of NaN bytes -----------------------------------------------------------

#define SHLO_SHARED(T, name, count)                                               \
  static EmuShared name##_shared_ = {{__FILE__, __LINE__, #name}, 0, nullptr};    \
  T(&name)[count] = *(T(*)[count])emu_shared_start(name##_shared_, sizeof(T) * (count))
#define SHLO_DYNAMIC(name) char* const name = (char*)emu_dynamic()

static inline void* emu_shared_start(EmuShared& array, size_t bytes) {
#ifndef __SANITIZE_THREAD__  // to a race checker, the call is what hands the memory over
  if (array.block == emu_block_number) return array.start;
#endif
  return emu_shared_array(&array, bytes);
}

// ---- barriers and warps ------------------------------------------------------------------------------------------------

#define __syncthreads() ((void)emu_barrier(EMU_SITE("__syncthreads"), EMU_PLAIN, 0))
#define __syncthreads_count(p) emu_barrier(EMU_SITE("__syncthreads_count"), EMU_COUNT, !!(p))
#define __syncthreads_and(p) emu_barrier(EMU_SITE("__syncthreads_and"), EMU_AND, !!(p))
#define __syncthreads_or(p) emu_barrier(EMU_SITE("__syncthreads_or"), EMU_OR, !!(p))
#define __syncwarp(...) emu_syncwarp(EMU_SITE("__syncwarp"), ##__VA_ARGS__)
#define __shfl_sync(...) emu_shuffle(EMU_SITE("__shfl_sync"), __VA_ARGS__)
#define __shfl_xor_sync(...) emu_shuffle_xor(EMU_SITE("__shfl_xor_sync"), __VA_ARGS__)
#define __shfl_down_sync(...) emu_shuffle_down(EMU_SITE("__shfl_down_sync"), __VA_ARGS__)
#define __shfl_up_sync(...) emu_shuffle_up(EMU_SITE("__shfl_up_sync"), __VA_ARGS__)
#define __ballot_sync(mask, p) emu_ballot(EMU_SITE("__ballot_sync"), mask, !!(p))
#define __any_sync(mask, p) (emu_ballot(EMU_SITE("__any_sync"), mask, !!(p)) != 0)
#define __all_sync(mask, p) (emu_ballot(EMU_SITE("__all_sync"), mask, !(p)) == 0)
// A primitive for the prelude: give `mine` to the whole warp; then `emu_peer(lane)` is what a lane gave, until this lane's
// next operation with its warp.
#define emu_exchange(mine, bytes) emu_exchange_at(EMU_SITE("a warp's product"), mine, bytes, ~0u)

static inline __attribute__((always_inline)) void emu_syncwarp(const EmuSite* site, unsigned mask = ~0u) {
  emu_warp_barrier(site, mask);
}
template <class T>
static inline T emu_take(const EmuSite* site, unsigned mask, T mine, int lane, bool valid) {
  emu_exchange_at(site, &mine, sizeof mine, mask);
  if (valid) memcpy(&mine, emu_peer((unsigned)lane), sizeof mine);
  emu_exchanged(site, mask);
  return mine;
}
template <class T>
static inline T emu_shuffle(const EmuSite* site, unsigned mask, T mine, int lane, int width = 32) {
  return emu_take(site, mask, mine, (int)emu_thread->lane / width * width + (lane & (width - 1)), true);
}
template <class T>
static inline T emu_shuffle_xor(const EmuSite* site, unsigned mask, T mine, int bits, int width = 32) {
  const int own = (int)emu_thread->lane, other = own ^ bits;
  return emu_take(site, mask, mine, other, other / width <= own / width);
}
template <class T>
static inline T emu_shuffle_down(const EmuSite* site, unsigned mask, T mine, unsigned delta, int width = 32) {
  const int own = (int)emu_thread->lane, other = own + (int)delta;
  return emu_take(site, mask, mine, other, own % width + (int)delta < width);
}
template <class T>
static inline T emu_shuffle_up(const EmuSite* site, unsigned mask, T mine, unsigned delta, int width = 32) {
  const int own = (int)emu_thread->lane, other = own - (int)delta;
  return emu_take(site, mask, mine, other, own % width - (int)delta >= 0);
}

// ---- atomics and fences: real ones, so that a race checker understands them ---------------------------------------------

// CUDA's are relaxed. Kernels that publish by `__threadfence` and an atomic have stronger ones instead of the fence, which
// race checkers do not know.
#ifndef EMU_ORDER
#define EMU_ORDER __ATOMIC_RELAXED
#endif
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)

template <class T>
struct EmuSame {
  typedef T type;
};
template <class T, class F>
static inline T emu_update(T* p, F next) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA has atomics of 32 and of 64 bits");
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, next(old), false, EMU_ORDER, __ATOMIC_RELAXED)) {
  }
  return old;
}
#define EMU_ATOMIC(name, result)                               \
  template <class T>                                           \
  static inline T name(T* p, typename EmuSame<T>::type x) {    \
    return emu_update(p, [x](T old) { return (T)(result); });  \
  }
EMU_ATOMIC(atomicAdd, old + x)
EMU_ATOMIC(atomicSub, old - x)
EMU_ATOMIC(atomicMin, old < x ? old : x)
EMU_ATOMIC(atomicMax, old > x ? old : x)
EMU_ATOMIC(atomicAnd, old & x)
EMU_ATOMIC(atomicOr, old | x)
EMU_ATOMIC(atomicXor, old ^ x)
EMU_ATOMIC(atomicExch, x)
template <class T>
static inline T atomicCAS(T* p, typename EmuSame<T>::type expected, typename EmuSame<T>::type x) {
  return emu_update(p, [expected, x](T old) { return old == expected ? x : old; });
}

// ---- bits ----------------------------------------------------------------------------------------------------------------

static inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
static inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
static inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
static inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
template <class T> static inline T __ldg(const T* p) { return *p; }

// ---- kernels -------------------------------------------------------------------------------------------------------------

template <class T> constexpr bool emu_is_pointer = false;
template <class T> constexpr bool emu_is_pointer<T*> = true;

template <auto F> struct EmuEntry;
template <class... P, void (*F)(P...)>
struct EmuEntry<F> {
  static constexpr unsigned count = sizeof...(P);
  static constexpr EmuParam params[] = {{(unsigned)sizeof(P), emu_is_pointer<P>}..., {0, false}};
  template <size_t... I>
  static void spread(void** a, std::index_sequence<I...>) {
    F(*(P*)a[I]...);
  }
  static void call(void** a) { spread(a, std::index_sequence_for<P...>{}); }
};
// After the text: makes a kernel known as `emu_kernel_NAME`.
#define EMU_KERNEL(kernel, most_threads)                                                                          \
  extern "C" {                                                                                                    \
  extern __attribute__((visibility("default"))) const EmuKernel emu_kernel_##kernel;                              \
  const EmuKernel emu_kernel_##kernel = {#kernel, EmuEntry<&kernel>::call, EmuEntry<&kernel>::count,              \
                                         EmuEntry<&kernel>::params, most_threads};                                \
  }
