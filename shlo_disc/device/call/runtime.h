// ABI between generated code and the runtime. C++17 without its library.
#pragma once

#include <stdint.h>

extern "C" {

struct ShloRuntime;

// Computes tasks [begin, end) of a launch. `scratch` is private to the calling thread, 64-byte aligned. A kernel of one
// task may launch others, with no scratch or at most as much: they run on all threads, or on the calling one if the
// pool is busy.
typedef void (*ShloKernel)(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims, int64_t begin,
                           int64_t end, void* scratch);

// A launch of a launch group, and how it is divided by units of rows: `unit_tasks` tasks per unit, of `unit_extent` in
// all, with sizes `unit_dims`. A `held` one of its `count` buffers has only one unit's rows per thread, `bytes` each.
struct ShloHeld {
  int64_t buffer, bytes;
};

struct ShloMember {
  ShloKernel kernel;
  void* const* buffers;
  const int64_t* dims;
  int64_t extent, grain, scratch_bytes;
  const int64_t* unit_dims;
  int64_t unit_tasks, unit_extent;
  const ShloHeld* held;
  int64_t held_count, count;
};

// How a run of a program ended.
enum ShloEnd : int64_t { SHLO_DONE, SHLO_RAISED, SHLO_NO_MEMORY };  // a host call raised; no scratch memory for a kernel

struct ShloRuntime {
  // Runs `kernel` over [0, extent), divided among threads in chunks of at least `grain` tasks; returns when done. 0,
  // with nothing run, if the calling thread cannot get scratch memory; other threads without it do not take part.
  int64_t (*parallel)(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                      int64_t extent, int64_t grain, int64_t scratch_bytes);
  int64_t threads;
  // Runs a launch group, in which each launch reads only its own rows of earlier ones: a thread runs all launches for
  // its units, without barriers between them. `work`: of all, in grains. If `units` is 0, launches run one after the
  // other, and held buffers have all rows. At most `most_threads` share the units: held buffers have room for so many.
  // 0 if out of scratch memory; some launches may have run then.
  int64_t (*region)(const ShloRuntime* runtime, const ShloMember* members, int64_t count, int64_t units, int64_t grain,
                    int64_t work, int64_t scratch_bytes, int64_t most_threads);
  // Reserves scratch memory and thread-local state for the calling thread: no launch of at most so many bytes fails
  // until the thread ends. 0 if out of memory.
  int64_t (*reserve)(const ShloRuntime* runtime, int64_t scratch_bytes);
};

}  // extern "C"

// Runs a kernel over [0, extent), with reserved scratch memory. A launch that is not shared is a plain call.
static inline __attribute__((always_inline)) void shlo_launch(const ShloRuntime* runtime, ShloKernel kernel,
                                                              void* const* buffers, const int64_t* dims,
                                                              int64_t extent, int64_t grain, int64_t scratch_bytes) {
  // Prevents inlining: this function, the pool and the VM must run the same code. A copy specialized to known sizes
  // would contract other multiply-adds, and bits would depend on the number of threads.
  __asm__("" : "+r"(kernel));
  if (scratch_bytes == 0 && (extent <= grain || runtime->threads == 1)) {
    if (extent > 0) kernel(runtime, buffers, dims, 0, extent, nullptr);
  } else {
    runtime->parallel(runtime, kernel, buffers, dims, extent, grain, scratch_bytes);
  }
}
