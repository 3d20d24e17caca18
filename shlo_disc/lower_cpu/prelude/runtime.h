// What generated code and the runtime agree on. C++17 without its library.
#pragma once

#include <stdint.h>

extern "C" {

struct ShloRuntime;

// Computes the part [begin, end) of a launch. `scratch` is private to the calling thread, 64-byte aligned. A kernel of
// one piece may launch others, which need no scratch or at most as much: they run on all threads, or, if these are busy,
// one after the other on the calling one.
typedef void (*ShloKernel)(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims, int64_t begin,
                           int64_t end, void* scratch);

struct ShloRuntime {
  // Runs `kernel` over [0, extent), split among the threads in pieces of at least `grain`; returns when all is done.
  void (*parallel)(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                   int64_t extent, int64_t grain, int64_t scratch_bytes);
  int64_t threads;
};

}  // extern "C"

// Runs a kernel over [0, extent). What is not shared is a plain call, which is inlined if the kernel is small.
static inline __attribute__((always_inline)) void shlo_launch(const ShloRuntime* runtime, ShloKernel kernel,
                                                              void* const* buffers, const int64_t* dims,
                                                              int64_t extent, int64_t grain, int64_t scratch_bytes) {
  if (scratch_bytes == 0 && (extent <= grain || runtime->threads == 1)) {
    if (extent > 0) kernel(runtime, buffers, dims, 0, extent, nullptr);
  } else {
    runtime->parallel(runtime, kernel, buffers, dims, extent, grain, scratch_bytes);
  }
}
