// Matrix products: the interface between generated kernels and gemm.cc.
#pragma once
#include <stdint.h>

// A launch of one product has batch * ceil(m / ROWS) * ceil(n / COLUMNS) tasks; each needs SCRATCH bytes, 64-byte aligned.
#define SHLO_GEMM_ROWS 192
#define SHLO_GEMM_COLUMNS 256
#define SHLO_GEMM_SCRATCH 393216

// c[i, j] = sum over p < k of a[i * a_row + p * a_k] * b[p * b_k + j * b_col], for i < m and j < n. Any strides.
struct ShloGemm {
  const void *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t m, n, k;
};

#ifndef SHLO_EPILOGUE_DEFINED
#define SHLO_EPILOGUE_DEFINED
// Takes a finished block: rows [i0, i0 + rows) and columns [j0, j0 + columns) of the result, row-major at `tile`, which
// is 64-byte aligned; ld and the readable columns are multiples of 16. The tile may be overwritten.
typedef void (*ShloEpilogue)(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns);
#endif

// Compute rows [i0, i1) and columns [j0, j1) and hand them to the epilogue, block by block, each element once.
extern "C" void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context);
extern "C" void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context);
