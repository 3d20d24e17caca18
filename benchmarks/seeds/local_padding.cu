// Products by the prelude's tiles, with the number of predicates about edges that each thread evaluates.
//
// padded: rows, columns and depths beyond the edge are fetched as zeros, so that multiply-adds need no predicate.
// checked: the same, but each multiply-add asks whether its row, column and depth exist, as without padding.
#include "call/shlo.cuh"

constexpr int R = 8, C = 4;  // sums of a thread
typedef PlainTile<float, 64, 64, R, C, true, false> Tile;
typedef Strided<Tile::PacksA, true> Left;
typedef Strided<Tile::PacksB, true> Right;

template <class Operand>
SHLO_DEVICE int64_t fetched(const Operand& operand) { return Operand::COUNT * (operand.packs ? 1 : Operand::N); }

// Tile::multiply with a predicate for each multiply-add; how many these are.
SHLO_DEVICE int64_t multiply_checked(Tile& tile, const float* a, const float* b, int rows, int columns, int deep) {
  const int row = (int)threadIdx.x / Tile::ACROSS * R, column = (int)threadIdx.x % Tile::ACROSS * C;
  int64_t asked = 0;
  for (int k = 0; k < depth_of<float>; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c, ++asked)
        if (row + r < rows && column + c < columns && k < deep)
          tile.sums[r][c] += a[k * Tile::StagedA::PITCH + row + r] * b[k * Tile::StagedB::PITCH + column + c];
    }
  }
  return asked;
}

template <bool PADDED>
SHLO_DEVICE void product(const float* x, const float* w, float* y, int64_t* predicates, idx m, idx n, idx k) {
  SHLO_SHARED(char, shared, tile_bytes<Tile>);
  float *const a = (float*)shared, *const b = a + Tile::StagedA::SIZE;
  const idx row_tiles = (m + Tile::M - 1) / Tile::M, tiles = row_tiles * ((n + Tile::N - 1) / Tile::N);
  int64_t asked = 0;
  for (idx at = blockIdx.x; at < tiles; at += gridDim.x) {
    const idx i0 = at % row_tiles * Tile::M, j0 = at / row_tiles * Tile::N;
    const int rows = at_most(m - i0, Tile::M), columns = at_most(n - j0, Tile::N);
    const Left left(x + i0 * k, k, 1, m - i0, k);
    const Right right(w + j0, 1, n, n - j0, k);
    Tile tile;
    Pack<float, Left::N> of_a[Left::COUNT], of_b[Right::COUNT];
    for (idx k0 = 0; k0 < k; k0 += depth_of<float>) {
      left.fetch(k0, k, of_a);
      right.fetch(k0, k, of_b);
      asked += fetched(left) + fetched(right);
      __syncthreads();
      Tile::StagedA::put<Left, false>(a, of_a);
      Tile::StagedB::put<Right, false>(b, of_b);
      __syncthreads();
      if constexpr (PADDED) tile.multiply(a, b);
      else asked += multiply_checked(tile, a, b, rows, columns, at_most(k - k0, depth_of<float>));
    }
    finish<false>(tile, shared, i0, j0, rows, columns, [&](float sum, idx i, idx j) { y[i * n + j] = sum; });
    asked += Tile::M * Tile::N / Tile::THREADS;  // one for each element that `finish` looks at
  }
  predicates[blockIdx.x * blockDim.x + threadIdx.x] = asked;
}

extern "C" __global__ void __launch_bounds__(128) padded(const float* x, const float* w, float* y, int64_t* predicates,
                                                         int64_t m, int64_t n, int64_t k) {
  product<true>(x, w, y, predicates, (idx)m, (idx)n, (idx)k);
}

extern "C" __global__ void __launch_bounds__(128) checked(const float* x, const float* w, float* y, int64_t* predicates,
                                                          int64_t m, int64_t n, int64_t k) {
  product<false>(x, w, y, predicates, (idx)m, (idx)n, (idx)k);
}
