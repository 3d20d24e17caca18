// Kernels that show what the machine can do, for profiles to compare steps with. Included by call/runtime.cc alone.
#pragma once

#include <stdint.h>
#include <string.h>

#include "call/runtime.h"

#if defined(__OPTIMIZE__)  // else they would show what this compiler can do

namespace limits {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kChains = 10;  // independent ones hide the latency of each multiply-add, and fit into registers

// `rounds` multiply-adds in each lane of each chain; returns a number that depends on all of them.
template <class T>
inline T multiply_adds(int64_t rounds, T factor, T summand) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  Vector chains[kChains];
  for (int k = 0; k < kChains; k++) chains[k] = Vector() + static_cast<T>(k);
  const Vector factors = Vector() + factor, summands = Vector() + summand;
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 16  // chains stay in registers
    for (int k = 0; k < kChains; k++) chains[k] = chains[k] * factors + summands;
  Vector total = chains[0];
  for (int k = 1; k < kChains; k++) total += chains[k];
  return total[0];
}

template <class T>
inline void run(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  T* const factors = static_cast<T*>(buffers[0]);
  T* const totals = static_cast<T*>(buffers[1]);
  for (int64_t task = begin; task < end; task++) totals[task] = multiply_adds<T>(dims[0], factors[0], factors[1]);
}

}  // namespace limits

extern "C" {

// Floating-point operations of a task for each unit of `dims[0]`, by bytes of an element.
int64_t shlo_limit_flops(int64_t item) { return 2 * limits::kChains * (limits::kVectorBytes / item); }

// Buffers: a factor and a summand; a result for each task.
void shlo_limit_f32(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void*) {
  limits::run<float>(buffers, dims, begin, end);
}

void shlo_limit_f64(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void*) {
  limits::run<double>(buffers, dims, begin, end);
}

// Each task copies `dims[0]` bytes from one buffer to the other, `dims[1]` times.
void shlo_limit_copy(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void*) {
  for (int64_t task = begin; task < end; task++)
    for (int64_t time = 0; time < dims[1]; time++)
      memcpy(static_cast<char*>(buffers[1]) + task * dims[0], static_cast<char*>(buffers[0]) + task * dims[0],
             static_cast<size_t>(dims[0]));
}

}  // extern "C"

#endif
