// Matrix products: the interface between generated kernels and gemm/product.h.
#pragma once
#include <stdint.h>
#include "gemm/groups.h"

// A launch of one product has batch * ceil(m / ROWS) * ceil(n / COLUMNS) tasks; each needs SCRATCH bytes, 64-byte aligned.
#define SHLO_GEMM_ROWS 192
#define SHLO_GEMM_COLUMNS 256
#define SHLO_GEMM_SCRATCH 688128
#define SHLO_GEMM_WIDE_SCRATCH 754688  // for elements that are converted, and for c128

// Products with at most so many rows and columns, and such a depth, are small: one call computes many of them. All rows,
// all columns and all results of a call are SMALL_ELEMENTS each, at most.
#define SHLO_GEMM_SMALL_LINES 16
#define SHLO_GEMM_SMALL_DEPTH 64
#define SHLO_GEMM_SMALL_ELEMENTS 2048

// Packed B: panels of PANEL columns, one after the other; a panel is [k rounded up to STEP][PANEL], and where STEP is more
// than 1, so many neighbouring depths of a column are neighbours. Columns beyond n are anything, depths beyond k are zeros.
// Elements have BYTES. Tiles of all shapes read it.
#define SHLO_GEMM_PANEL 64
#define SHLO_GEMM_STEP_f32 1
#define SHLO_GEMM_STEP_f64 1
#define SHLO_GEMM_STEP_f16 1
#define SHLO_GEMM_STEP_bf16 2
#define SHLO_GEMM_STEP_bf16_rounded 2
#define SHLO_GEMM_STEP_i8 4
#define SHLO_GEMM_STEP_u8 4
#define SHLO_GEMM_STEP_i16 2
#define SHLO_GEMM_STEP_i32 1
#define SHLO_GEMM_STEP_i64 1
#define SHLO_GEMM_STEP_c64 1
#define SHLO_GEMM_STEP_c128 1
#define SHLO_GEMM_BYTES_f32 4
#define SHLO_GEMM_BYTES_f64 8
#define SHLO_GEMM_BYTES_f16 2
#define SHLO_GEMM_BYTES_bf16 2
#define SHLO_GEMM_BYTES_bf16_rounded 2
#define SHLO_GEMM_BYTES_i8 1
#define SHLO_GEMM_BYTES_u8 1
#define SHLO_GEMM_BYTES_i16 2
#define SHLO_GEMM_BYTES_i32 4
#define SHLO_GEMM_BYTES_i64 8
#define SHLO_GEMM_BYTES_c64 8
#define SHLO_GEMM_BYTES_c128 16

// Register tiles of CPUs with 32 vector registers (AVX-512, NEON) and with 16 (AVX2, SSE): T(rows, vectors of columns). Complex
// numbers take two registers, so that their tiles have half of the vectors.
#define SHLO_GEMM_TILES_32(T) \
  T(1, 16) T(1, 4) T(2, 4) T(3, 4) T(4, 4) T(5, 4) T(6, 4) T(1, 2) T(4, 2) T(8, 2) T(1, 1) T(4, 1) T(8, 1)
#define SHLO_GEMM_TILES_16(T) \
  T(1, 8) T(1, 4) T(2, 4) T(3, 4) T(1, 2) T(2, 2) T(3, 2) T(4, 2) T(5, 2) T(6, 2) T(1, 1) T(4, 1) T(8, 1) T(12, 1)

// How to compute a product. 0 in any field: the prelude chooses. A form that does not apply to a product is not taken (stream
// wants columns of B adjacent and B not packed, dot few rows and B adjacent along k); numbers beyond what scratch memory
// holds are lowered to that.
struct ShloSchedule {
  int32_t form;                     // 1 tiles, 2 stream: B where it is, 3 dot: dot products
  int32_t tile_rows, tile_vectors;  // at most, of the results in registers: see SHLO_GEMM_TILES
  int32_t pack_left;                // 1: rows of A are packed too, unless complex (those that are converted always are)
  int32_t pack_right;               // 1: of two ways, the one that packs B: tiles, not stream
  int64_t depth;                    // of a block: so much of k is summed up while sums are in registers
  int64_t rows;                     // of A that are multiplied by packed columns of B before the next columns
  int64_t columns;                  // of a block where B is streamed; packed B comes in panels
};

// c[i, j] = sum over p < k of a[i * a_row + p * a_k] * b[p * b_k + j * b_col], for i < m and j < n. Any strides.
// What is read may be a part of the product alone: m and n are of all of it, and decide what has to be alike in all parts.
// Where B is packed too (else null), it is read from there, whatever the strides of b, which may then be null; j0 of a call
// is a multiple of PANEL.
struct ShloGemm {
  const void *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t m, n, k;
  const void* packed;
  const struct ShloSchedule* schedule;  // null: the prelude chooses everything
  const void* next;  // null, or B of the product that is computed next, with the same strides: its beginning is fetched
};

#ifndef SHLO_EPILOGUE_DEFINED
#define SHLO_EPILOGUE_DEFINED
// Takes a finished block: rows [i0, i0 + rows) and columns [j0, j0 + columns) of the result, row-major at `tile`, which
// is 64-byte aligned; ld and the readable columns are multiples of 16. The tile may be overwritten.
typedef void (*ShloEpilogue)(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns);
#endif

// Compute rows [i0, i1) and columns [j0, j1) and hand them to the epilogue, block by block, each element once. A and B hold
// elements of the kernel's name; what the epilogue gets are their sums: those of f16 and bf16 are f32, those of i8, u8
// and i16 are i32. Integers wrap, so that the signs of wider ones do not matter.
//
// shlo_packed_bytes_NAME: how many bytes all of B takes when it is packed. The memory is 64-byte aligned.
// shlo_pack_NAME: packs columns [j0, j1) of B; both are multiples of PANEL, or j1 is n. Reads b, its strides, n and k.
//
// shlo_gemm_small_NAME: scratch[count, m, n] = the sums of `count` small products, with no gaps; the operands of the next
// one are a_next and b_next elements further.
#define SHLO_GEMM_KERNEL(name)                                                                                        \
  extern "C" void shlo_gemm_##name(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch, \
                                   ShloEpilogue epilogue, void* context);                                             \
  extern "C" int64_t shlo_packed_bytes_##name(int64_t k, int64_t n);                                                  \
  extern "C" void shlo_pack_##name(const ShloGemm* gemm, int64_t j0, int64_t j1, void* packed);                       \
  extern "C" void shlo_gemm_small_##name(const ShloGemm* gemm, int64_t count, int64_t a_next, int64_t b_next,         \
                                         void* scratch);
SHLO_GEMM_KERNEL(f32) SHLO_GEMM_KERNEL(f64) SHLO_GEMM_KERNEL(f16) SHLO_GEMM_KERNEL(bf16) SHLO_GEMM_KERNEL(bf16_rounded)
SHLO_GEMM_KERNEL(i8) SHLO_GEMM_KERNEL(u8) SHLO_GEMM_KERNEL(i16) SHLO_GEMM_KERNEL(i32) SHLO_GEMM_KERNEL(i64)
SHLO_GEMM_KERNEL(c64) SHLO_GEMM_KERNEL(c128)
