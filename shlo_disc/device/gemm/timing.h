// Products over and over, to time what gemm/product.h makes: blocks one after the other, sums stored as they are.
#pragma once
#include "call/caches.h"
#include "gemm/gemm.h"

SHLO_DEFINE_CACHES

struct ShloTimed {
  char* c;
  int64_t row, size;  // bytes of a row and of an element of the result
};

static void shlo_store_timed(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns) {
  const ShloTimed* const to = (const ShloTimed*)context;
  for (int64_t i = 0; i < rows; ++i)
    __builtin_memcpy(to->c + (i0 + i) * to->row + j0 * to->size, (const char*)tile + i * ld * to->size,
                     columns * to->size);
}

// Computes a product so many times, in blocks of so many rows: blocks beside each other are one call, as in kernels.
#define SHLO_GEMM_TIMING(name)                                                                                        \
  extern "C" void shlo_repeat_gemm_##name(const ShloGemm* gemm, int64_t rows, int64_t size, void* c, \
                                          void* scratch, int64_t times) {                                             \
    ShloTimed to = {(char*)c, gemm->n * size, size};                                                                  \
    for (; times > 0; --times)                                                                                        \
      for (int64_t i = 0; i < gemm->m; i += rows)                                                                     \
        shlo_gemm_##name(gemm, i, i + rows < gemm->m ? i + rows : gemm->m, 0, gemm->n, scratch, shlo_store_timed,      \
                         &to);                                                                                         \
  }
