// Linear algebra: the interface between generated kernels and linear_algebra/lapack.cc.
//
// A kernel computes the matrices [begin, end) of a batch. Its buffers are those of the op, operands before results,
// dense and row-major; LAPACK is column-major. If the transposed problem has the same solution (potrf, trsm), it
// is solved instead. Otherwise matrices are transposed into scratch and back, so that LAPACK's input is the same as in
// jaxlib, and so are its choices of signs and phases.
#pragma once
#include <stdint.h>

#include "call/runtime.h"

extern "C" {

// One op: LAPACK's sizes and its one-letter arguments, in LAPACK's order; `array_bytes` are the sizes in bytes of a kernel's
// scratch arrays, in the order in which it takes them, multiples of 64.
struct ShloLapack {
  int64_t m, n, k;
  const char* options;
  const int64_t* array_bytes;
};

typedef void (*ShloLapackKernel)(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);

#define SHLO_LAPACK_KERNELS(X)                                                                                      \
  X(potrf) X(cholesky) X(trsm) X(getrf) X(geqrf) X(geqp3) X(orgqr) X(ormqr) X(gesdd) X(gesvd) X(syevd) X(sytrd)     \
  X(geev) X(gees) X(gehrd) X(gtsv) X(gtsv_perturbed) X(cholesky_update)
#define SHLO_DECLARE(name)                                                                                          \
  void shlo_s##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);         \
  void shlo_d##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);         \
  void shlo_c##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);         \
  void shlo_z##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);
SHLO_LAPACK_KERNELS(SHLO_DECLARE)

// k = op->k row interchanges (from 0) as a permutation of n = op->n rows.
void shlo_pivots_to_permutation(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch);

// Runs `part` over a batch: on the threads of `runtime`, at least `grain` matrices each, with one library thread;
// or, if few threads would have work, one matrix after the other on the threads of the library.
void shlo_lapack_batch(const ShloRuntime* runtime, ShloKernel part, void* const* buffers, const int64_t* dims,
                       int64_t matrices, int64_t grain, int64_t scratch_bytes, void* scratch);

// Set by the runtime before the first call: the addresses of the routines named in `shlo_lapack_names`
// (null-terminated), and the process-wide state that all programs share.
extern const char* const shlo_lapack_names[];
extern void* shlo_lapack_routines[];

// `get` and `set` access the library's number of threads; null if unsupported. `users` launches require one thread;
// `threads` is the number before the first of them.
struct ShloBlasThreads {
  int (*get)(void);
  void (*set)(int);
  int64_t users, threads, lock;
};
extern ShloBlasThreads* shlo_blas_threads;

}  // extern "C"
