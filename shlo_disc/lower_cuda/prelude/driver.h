// The functions that a generated host program calls: CUDA's driver and cuBLAS on a GPU, an emulator in tests.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct ShloCuda {
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** params, void** extra);  // cuLaunchKernel
  int (*copy)(uint64_t target, uint64_t source, size_t bytes, void* stream);  // cuMemcpyDtoDAsync_v2
  int (*read)(void* target, uint64_t source, size_t bytes, void* stream);     // cuMemcpyDtoHAsync_v2
  int (*synchronize)(void* stream);                                          // cuStreamSynchronize
  int (*fill)(uint64_t target, unsigned char byte, size_t bytes, void* stream);  // cuMemsetD8Async
  int (*gemm)(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
              int a_type, int64_t lda, long long a_stride, const void* b, int b_type, int64_t ldb, long long b_stride,
              const void* beta, void* c, int c_type, int64_t ldc, long long c_stride, int64_t batch, int compute,
              int algorithm);                      // cublasGemmStridedBatchedEx_64, column-major
  int (*set_stream)(void* handle, void* stream);   // cublasSetStream_v2
  void* stream;
  void* cublas;
} ShloCuda;

// int64_t shlo_plan(const int64_t* raw, int64_t* symbols, int64_t* result_dims, int64_t* arena_bytes);
// int64_t shlo_run(const ShloCuda* rt, void* const* arguments, void* const* results, void* const* constants,
//                  const int64_t* symbols, char* arena, void* const* functions, const int32_t* choices);
// `functions`: one per kernel, in the order in which the program's steps name them first. `choices`: the variant to
// take, per `Choice.number`. Returns 0, or the first error: (launches so far << 32) | CUresult.
