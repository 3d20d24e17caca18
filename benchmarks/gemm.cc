// What benchmarks/gemm.py measures: products of row-major f32 matrices through the prelude, and the peak of multiply-adds.
#include "gemm/gemm.h"
#include "values/tile.h"

static const int64_t BLOCK_ROWS = 4 * SHLO_GEMM_ROWS;  // as schedules have them: shlo_disc/schedules/candidates.py, `blocks`

struct Result {
  float* c;
  int64_t columns;
};

// By whole vectors, as epilogues of programs do.
static void store(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
  const Result& to = *(const Result*)context;
  constexpr int64_t lanes = Register<float>::lanes;
  for (int64_t i = 0; i < rows; ++i) {
    float* const row = to.c + (i0 + i) * to.columns + j0;
    const float* const sums = (const float*)tile + i * ld;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) write(row + j, read(sums + j));
    __builtin_memcpy(row + j, sums + j, (columns - j) * (int64_t)sizeof(float));
  }
}

// c[m, n] = a[m, k] * b[k, n], in the blocks of rows that generated kernels ask for. `packed` may be null.
extern "C" void multiply(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, const void* packed,
                         void* scratch) {
  ShloGemm gemm = {a, b, k, 1, n, 1, m, n, k, packed, nullptr};
  Result to = {c, n};
  for (int64_t i = 0; i < m; i += BLOCK_ROWS)
    shlo_gemm_f32(&gemm, i, i + BLOCK_ROWS < m ? i + BLOCK_ROWS : m, 0, n, scratch, store, &to);
}

extern "C" void pack(const float* b, int64_t n, int64_t k, void* packed) {
  const ShloGemm gemm = {nullptr, b, 0, 0, n, 1, 0, n, k, nullptr, nullptr};
  shlo_pack_f32(&gemm, 0, n, packed);
}

// Multiply-adds in 12 independent chains; returns how many operations a step has.
extern "C" int64_t peak(int64_t steps, float* to) {
  register_t<float> sum[12], x = read(to), y = read(to);
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sum[i] = read(to);
  for (; steps > 0; --steps)
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sum[i] = sum[i] * x + y;
#pragma GCC unroll 12
  for (int i = 1; i < 12; ++i) sum[0] += sum[i];
  write(to, sum[0]);
  return 12 * 2 * Register<float>::lanes;
}

extern "C" const int64_t scratch_bytes = SHLO_GEMM_SCRATCH;
