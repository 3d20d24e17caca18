// Products of small matrices by a whole warp on the tensor cores (sm_80 and later), with f32 accumulators.
//
// Lane l holds, with g = l / 4 and t = l % 4 (PTX ISA, "Matrix fragments for mma.m16n8k16" and "...k8"):
//   D (16 x 8):               d[0], d[1] = D[g][2t], D[g][2t + 1];  d[2], d[3] = the same of row g + 8
//   A (16 x 16, f16/bf16):    a[0] = A[g][2t .. 2t+1], a[1] = row g + 8, a[2] = a[0] at column + 8, a[3] = a[1] at column + 8
//   B (16 x 8, f16/bf16):     b[0] = B[2t .. 2t+1][g], b[1] = rows + 8 (the lower half of a register is the first of two)
//   A (16 x 8, tf32):         a[0] = A[g][t], a[1] = row g + 8, a[2] = a[0] at column + 4, a[3] = a[1] at column + 4
//   B (8 x 8, tf32):          b[0] = B[t][g], b[1] = B[t + 4][g]
#pragma once
#include "values/types.cuh"

#ifndef __CUDA_EMU__

#define SHLO_MMA_16(TAG, NAME)                                                                              \
  __device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], TAG) { \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME                                     \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                               \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                       \
  }
SHLO_MMA_16(f16, "f16")
SHLO_MMA_16(bf16, "bf16")

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The bits of x with 10 bits of mantissa, rounded to the nearest, ties away from zero.
__device__ __forceinline__ uint32_t to_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

// Four 8 x 8 matrices of 16-bit elements from shared memory: lane l gives the start of row l % 8 of matrix l / 8
// (16 bytes, 16-byte aligned) and gets elements [l / 4][2 * (l % 4) .. + 1] of each; transposed: [2 * (l % 4) .. + 1][l / 4].
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((uint32_t)__cvta_generic_to_shared(row))
               : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((uint32_t)__cvta_generic_to_shared(row))
               : "memory");
}

#else  // the same in terms of what all lanes hold: unverified against hardware but for the layouts above

static inline float mma_half(uint32_t pair, int high, f16) { return value(f16{(uint16_t)(high ? pair >> 16 : pair)}); }
static inline float mma_half(uint32_t pair, int high, bf16) { return value(bf16{(uint16_t)(high ? pair >> 16 : pair)}); }

// D[row][column] of this lane += sum over k of A[row][k] * B[k][column], from everyone's registers.
template <int K, class A, class B>
static inline void mma_lanes(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], A of_a, B of_b) {
  const uint32_t mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  emu_exchange(mine, sizeof mine);
  const int g = (int)emu_thread->lane / 4, t = (int)emu_thread->lane % 4;
  for (int i = 0; i < 4; ++i) {
    const int column = 2 * t + (i & 1), high = i >> 1;
    for (int k = 0; k < K; ++k) d[i] += of_a(g, high, k) * of_b(column, k);
  }
}

template <class T>
static inline void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], T tag) {
  mma_lanes<16>(
      d, a, b,
      [&](int g, int high, int k) {
        const auto* r = (const uint32_t*)emu_peer(4 * g + k % 8 / 2);
        return mma_half(r[high + k / 8 * 2], k % 2, tag);
      },
      [&](int column, int k) {
        const auto* r = (const uint32_t*)emu_peer(4 * column + k % 8 / 2);
        return mma_half(r[4 + k / 8], k % 2, tag);
      });
}

static inline float mma_tf32(uint32_t bits) { return as<float>(bits & 0xffffe000u); }

static inline void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  mma_lanes<8>(
      d, a, b,
      [](int g, int high, int k) { return mma_tf32(((const uint32_t*)emu_peer(4 * g + k % 4))[high + k / 4 * 2]); },
      [](int column, int k) { return mma_tf32(((const uint32_t*)emu_peer(4 * column + k % 4))[4 + k / 4]); });
}

static inline uint32_t to_tf32(float x) {
  const uint32_t bits = as<uint32_t>(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

template <bool TRANSPOSED>
static inline void load_matrices_lanes(uint32_t (&r)[4], const void* row) {
  emu_exchange(&row, sizeof row);
  const int g = (int)emu_thread->lane / 4, t = (int)emu_thread->lane % 4;
  for (int i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (int h = 0; h < 2; ++h) {
      const int from = TRANSPOSED ? 2 * t + h : g, at = TRANSPOSED ? g : 2 * t + h;
      memcpy(&pair[h], *(const char* const*)emu_peer(8 * i + from) + 2 * at, 2);
    }
    r[i] = pair[0] | (uint32_t)pair[1] << 16;
  }
}

static inline void load_matrices(uint32_t (&r)[4], const void* row) { load_matrices_lanes<false>(r, row); }
static inline void load_matrices_transposed(uint32_t (&r)[4], const void* row) { load_matrices_lanes<true>(r, row); }

#endif

// Two values as one register of a 16-bit operand, the first in the lower half.
__device__ __forceinline__ uint32_t mma_pair(f16 low, f16 high) { return low.bits | (uint32_t)high.bits << 16; }
__device__ __forceinline__ uint32_t mma_pair(bf16 low, bf16 high) { return low.bits | (uint32_t)high.bits << 16; }
