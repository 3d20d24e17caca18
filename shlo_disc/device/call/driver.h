// Functions that a generated host program calls: the CUDA driver API and cuBLAS on a GPU, an emulator in tests.
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
// `functions`: one per kernel, in order of first use by the program's steps. `choices`: the variant to take, per
// `Choice.number`. Returns 0, or (command << 32) | error of the first command that failed: commands are numbered from
// 1 in program order; an error is a CUresult, or 0x10000 + a cublasStatus_t. A program with host calls has two more
// parameters (see `HOST_CALLS` of lower_cuda/host_parts.py); a host call that raised has the error 1.

// Types of a product: cudaDataType_t by NumPy's names, and cublasComputeType_t. Also read by runtime/cuda/commands.py.
#define SHLO_CUDA_float32 0
#define SHLO_CUDA_float64 1
#define SHLO_CUDA_float16 2
#define SHLO_CUDA_int8 3
#define SHLO_CUDA_complex64 4
#define SHLO_CUDA_complex128 5
#define SHLO_CUDA_uint8 8
#define SHLO_CUDA_int32 10
#define SHLO_CUDA_bfloat16 14
#define SHLO_CUBLAS_f32 68
#define SHLO_CUBLAS_f64 70
#define SHLO_CUBLAS_tf32 77

#define SHLO_TRY(command, call)                                                    \
  do {                                                                             \
    if (const int64_t error_ = (call)) return ((int64_t)(command) << 32) | error_; \
  } while (0)

static inline int shlo_launch(const ShloCuda* rt, void* function, int64_t blocks, unsigned threads, int64_t shared,
                              void** params) {
  if (blocks <= 0) return 0;
  return rt->launch(function, (unsigned)blocks, 1, 1, threads, 1, 1, (unsigned)shared, rt->stream, params, nullptr);
}

static inline int shlo_copy(const ShloCuda* rt, char* target, const char* source, int64_t bytes) {
  return bytes > 0 ? rt->copy((uint64_t)target, (uint64_t)source, (size_t)bytes, rt->stream) : 0;
}

static inline int shlo_fill(const ShloCuda* rt, char* target, unsigned char byte, int64_t bytes) {
  return bytes > 0 ? rt->fill((uint64_t)target, byte, (size_t)bytes, rt->stream) : 0;
}

// Reads a number back to the host; synchronizes with the stream.
static inline int shlo_read(const ShloCuda* rt, void* target, const char* source, int64_t bytes) {
  const int error = rt->read(target, (uint64_t)source, (size_t)bytes, rt->stream);
  return error ? error : rt->synchronize(rt->stream);
}

// One matrix of a product: its start, its type (cudaDataType_t), its leading dimension, and the stride of the batch.
struct ShloMatrix {
  char* start;
  int type, transposed;
  int64_t leading, stride;
};

// Row-major C = A B (m x n, inner extent k). cuBLAS is column-major, so it computes the transposes: C' = B' A'.
static inline int shlo_product(const ShloCuda* rt, const ShloMatrix& a, const ShloMatrix& b, const ShloMatrix& c,
                               int64_t m, int64_t n, int64_t k, int64_t batch, int compute) {
  static const float floats[] = {1, 0, 0, 0};  // one, zero: as real numbers, and as complex ones
  static const double doubles[] = {1, 0, 0, 0};
  const bool wide = compute == SHLO_CUBLAS_f64;
  const void* const one = wide ? (const void*)doubles : floats;
  const void* const zero = wide ? (const void*)(doubles + 2) : floats + 2;
  const int error = rt->gemm(rt->cublas, b.transposed, a.transposed, n, m, k, one, b.start, b.type, b.leading, b.stride,
                             a.start, a.type, a.leading, a.stride, zero, c.start, c.type, c.leading, c.stride, batch,
                             compute, -1 /* CUBLAS_GEMM_DEFAULT */);
  return error ? 0x10000 + error : 0;
}

// Sets the stream once per call, since CuPy and others set the handle to their own streams.
static inline int shlo_start_products(const ShloCuda* rt) {
  const int error = rt->cublas ? rt->set_stream(rt->cublas, rt->stream) : 0;
  return error ? 0x10000 + error : 0;
}
