// Matrix products: the interface between generated kernels and gemm.cc.
#pragma once
#include <stdint.h>

#define SHLO_GEMM_ROWS 192       // a task of a parallel launch: this many rows and
#define SHLO_GEMM_COLUMNS 256    // columns of one product
#define SHLO_GEMM_SCRATCH 262144 // bytes of private memory that a task needs, 64-byte aligned

// C = A B, m x k times k x n: A[i][p] = a[i * a_row + p * a_k], B[p][j] = b[p * b_k + j * b_col].
struct ShloGemm {
  const void *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t m, n, k;
};

// Takes a finished block of C: `rows` x `columns` at (i0, j0). The tile is row-major with `ld` elements per row, in L1,
// 64-byte aligned; whole vectors of 16 may be read from a row beyond its last column.
typedef void (*ShloEpilogue)(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns);

// Computes C[i0:i1, j0:j1], any rectangle, and hands every element to the epilogue exactly once.
extern "C" void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context);
extern "C" void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                              ShloEpilogue epilogue, void* context);
