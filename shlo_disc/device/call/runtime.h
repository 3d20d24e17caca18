// What generated code and the runtime agree on. C++17 without its library.
#pragma once

#include <stdint.h>

extern "C" {

struct ShloRuntime;

// Computes the part [begin, end) of a launch. `scratch` is private to the calling thread, 64-byte aligned. A kernel of
// one task may launch others, which need no scratch or at most as much: they run on all threads, or, if these are busy,
// one after the other on the calling one.
typedef void (*ShloKernel)(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims, int64_t begin,
                           int64_t end, void* scratch);

// One of several launches that follow each other by rows: a launch, and how it is cut where a thread takes the same rows
// of all of them. Then it has `unit_tasks` tasks in each unit of rows, of `unit_extent` in all, at sizes `unit_dims`.
// Those of its `count` buffers that are `held` are the rows of one unit, `bytes`, for each thread in turn.
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
  // Runs `kernel` over [0, extent), split among the threads in chunks of at least `grain` tasks; returns when all is done.
  // 0, and nothing was run, if the calling thread cannot have its scratch memory; others then do not take part.
  int64_t (*parallel)(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                      int64_t extent, int64_t grain, int64_t scratch_bytes);
  int64_t threads;
  // Runs launches of which each reads only those rows of the ones before it that it has itself: a thread goes through all
  // of them for its units, and nobody waits between them. `work`: of all, in grains. One after the other if units are 0;
  // then what is held has all rows. 0 if there is no scratch memory; some of them may have run then.
  int64_t (*region)(const ShloRuntime* runtime, const ShloMember* members, int64_t count, int64_t units, int64_t grain,
                    int64_t work, int64_t scratch_bytes);
  // Takes scratch memory for the calling thread, and what else it needs to be one: then no launch of at most so many
  // bytes fails until the thread ends. 0 if there is none.
  int64_t (*reserve)(const ShloRuntime* runtime, int64_t scratch_bytes);
};

}  // extern "C"

// Runs a kernel over [0, extent), with scratch memory that was reserved. What is not shared is a plain call.
static inline __attribute__((always_inline)) void shlo_launch(const ShloRuntime* runtime, ShloKernel kernel,
                                                              void* const* buffers, const int64_t* dims,
                                                              int64_t extent, int64_t grain, int64_t scratch_bytes) {
  // A kernel has one body, whoever calls it: this, the pool, the VM. A copy of it in here, where sizes are known, would
  // fuse other products with sums, and bits would depend on the number of threads.
  __asm__("" : "+r"(kernel));
  if (scratch_bytes == 0 && (extent <= grain || runtime->threads == 1)) {
    if (extent > 0) kernel(runtime, buffers, dims, 0, extent, nullptr);
  } else {
    runtime->parallel(runtime, kernel, buffers, dims, extent, grain, scratch_bytes);
  }
}
