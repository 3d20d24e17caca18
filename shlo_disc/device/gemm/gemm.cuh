// Matrix products of one block: tiles on the tensor cores or on ordinary cores, and products with few rows.
//
// A tile is computed in steps of 64 bytes of depth. While one step is multiplied out of one half of the shared memory,
// the next one is on its way from global memory to registers, and is then put into the other half: one barrier a step.
// Finished sums go through shared memory once more, so that neighbouring threads hand neighbouring elements to the
// epilogue. Sums are always added up in the same order.
#pragma once
#include "gemm/mma.cuh"
#include "gemm/groups.h"
#include "values/pack.cuh"
#include "values/shuffle.cuh"

template <class T> constexpr int lanes_of = 16 / (int)sizeof(T);    // elements of one access
template <class T> constexpr int depth_of = 64 / (int)sizeof(T);    // elements of depth in one step
template <class T> SHLO_DEVICE T zero_of() { return T(); }

// How many of `most` elements there are where `left` follow: tiles count in 32 bits.
SHLO_DEVICE int at_most(idx left, int most) { return left < most ? (int)left : most; }

// Whether packs of 16 bytes along rows of `inner` elements that lie `outer` apart are aligned, and whole or absent.
template <class T>
SHLO_DEVICE bool has_packs(const T* start, idx outer, idx inner) {
  return ((uint64_t)start & 15) == 0 && outer % lanes_of<T> == 0 && inner % lanes_of<T> == 0;
}

// ---- operands --------------------------------------------------------------------------------------------------------

// Where the packs of a thread lie in a tile of EXTENT (rows of A, columns of B) by one step of depth: neighbouring
// threads follow the direction in which memory is contiguous.
template <class T_, int EXTENT_, int THREADS, bool ALONG_K_>
struct Packs {
  typedef T_ T;
  static constexpr bool ALONG_K = ALONG_K_;
  static constexpr int EXTENT = EXTENT_, N = lanes_of<T>, PER_ROW = (ALONG_K ? depth_of<T> : EXTENT) / N;
  static constexpr int STEP = THREADS / PER_ROW, COUNT = EXTENT * depth_of<T> / N / THREADS;
  static constexpr int ROWS = ALONG_K ? COUNT : N;  // of the tile that a thread has something of
  static SHLO_DEVICE int inner() { return (int)threadIdx.x % PER_ROW * N; }
  static SHLO_DEVICE int outer() { return (int)threadIdx.x / PER_ROW; }
  static SHLO_DEVICE int extent_at(int i) { return ALONG_K ? outer() + i * STEP : inner(); }
  static SHLO_DEVICE int depth_at(int i) { return ALONG_K ? inner() : outer() + i * STEP; }
};

// A strided matrix: element (x, k) of the tile is start[x * stride + k * depth_stride]. UNIT: the stride of the
// direction that threads follow is 1.
template <class P, bool UNIT>
struct Strided : P {
  typedef typename P::T T;
  const T* start;
  idx stride, depth_stride;
  int left;  // how many of the tile's rows (of A, or columns of B) there are
  bool packs;

  SHLO_DEVICE Strided(const T* start_, idx stride_, idx depth_stride_, idx left_, idx depth)
      : start(start_), stride(stride_), depth_stride(depth_stride_), left(at_most(left_, P::EXTENT)) {
    packs = UNIT && has_packs(start, P::ALONG_K ? stride : depth_stride, P::ALONG_K ? depth : left);
  }

  // Elements k0 .. of depth, zeros from k1 on.
  SHLO_DEVICE void fetch(idx k0, idx k1, Pack<T, P::N> (&out)[P::COUNT]) const {
    const idx step = (P::ALONG_K ? stride : depth_stride) * P::STEP, next = P::ALONG_K ? depth_stride : stride;
    const T* const at = start + P::extent_at(0) * stride + (k0 + P::depth_at(0)) * depth_stride;
    const int deep = at_most(k1 - k0, depth_of<T>);
    const int outer = (P::ALONG_K ? left : deep) - P::outer(), inner = (P::ALONG_K ? deep : left) - P::inner();
    if (packs) {
      SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
        if (i * P::STEP < outer && inner > 0) out[i] = pack_load<P::N>(at + i * step);
        else out[i] = Pack<T, P::N>{};
      }
    } else {
      SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
        SHLO_UNROLL for (int j = 0; j < P::N; ++j)
          out[i].at[j] = i * P::STEP < outer && j < inner ? at[i * step + j * (UNIT ? 1 : next)] : T{};
      }
    }
  }
};

// A matrix that is computed: element (x, k) of the tile is element(x, k), as a value. The other members: see Strided.
template <class P, class F>
struct Computed : P {
  typedef typename P::T T;
  const F& element;
  int left;

  SHLO_DEVICE Computed(const F& element_, idx left_) : element(element_), left(at_most(left_, P::EXTENT)) {}

  SHLO_DEVICE void fetch(idx k0, idx k1, Pack<T, P::N> (&out)[P::COUNT]) const {
    const int deep = at_most(k1 - k0, depth_of<T>);
    SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
      const int x0 = P::extent_at(i), d0 = P::depth_at(i);
      SHLO_UNROLL for (int j = 0; j < P::N; ++j) {
        const int x = P::ALONG_K ? x0 : x0 + j, d = P::ALONG_K ? d0 + j : d0;
        out[i].at[j] = T{};
        if (x < left && d < deep) assign(&out[i].at[j], element((idx)x, k0 + d));
      }
    }
  }
};

// An operand's step in shared memory: rows of depth (BY_ROWS), or for each depth a row of EXTENT.
template <class T, int EXTENT, bool BY_ROWS, int PAD>
struct Staged {
  static constexpr int PITCH = (BY_ROWS ? depth_of<T> : EXTENT) + PAD;
  static constexpr int SIZE = (BY_ROWS ? EXTENT : depth_of<T>) * PITCH;

  template <class P, bool ROUND>
  static SHLO_DEVICE void put(T* s, Pack<T, P::N> (&from)[P::COUNT]) {
    SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
      if constexpr (ROUND) {
        SHLO_UNROLL for (int j = 0; j < P::N; ++j) from[i].at[j] = as<float>(to_tf32(from[i].at[j]));
      }
      const int x = P::extent_at(i), k = P::depth_at(i);
      if constexpr (P::ALONG_K == BY_ROWS) {
        pack_store(s + (BY_ROWS ? x * PITCH + k : k * PITCH + x), from[i]);
      } else {
        SHLO_UNROLL for (int j = 0; j < P::N; ++j)
          s[P::ALONG_K ? (k + j) * PITCH + x : (x + j) * PITCH + k] = from[i].at[j];
      }
    }
  }
};

// ---- tiles -----------------------------------------------------------------------------------------------------------

// M x N sums by WARPS_M x WARPS_N warps with mma.sync. f32 is rounded to tf32 on its way to shared memory.
template <class T_, int M_, int N_, int WARPS_M, int WARPS_N, bool A_ALONG_K, bool B_ALONG_K>
struct TensorTile {
  typedef T_ T;
  typedef float Sum;
  static constexpr int M = M_, N = N_, THREADS = 32 * WARPS_M * WARPS_N, STEP = depth_of<T> / 2;  // depth of one mma
  static constexpr int WORD = lanes_of<T>, ROWS = M / WARPS_M / 16, COLUMNS = N / WARPS_N / 8;
  static constexpr bool NARROW = sizeof(T) == 2;
  typedef Packs<T, M, THREADS, A_ALONG_K> PacksA;
  typedef Packs<T, N, THREADS, B_ALONG_K> PacksB;
  typedef Staged<T, M, A_ALONG_K, A_ALONG_K ? WORD : 8> StagedA;  // so padded, no two lanes of a load share a bank
  typedef Staged<T, N, B_ALONG_K, B_ALONG_K ? WORD : 8> StagedB;
  static constexpr bool ROUND = !NARROW;
  static constexpr int SLICES = ROWS, SLICE_ROWS = 16 * WARPS_M;

  Sum sums[ROWS][COLUMNS][4];

  SHLO_DEVICE TensorTile() {
    SHLO_UNROLL for (int r = 0; r < ROWS; ++r)
      SHLO_UNROLL for (int c = 0; c < COLUMNS; ++c) SHLO_UNROLL for (int e = 0; e < 4; ++e) sums[r][c][e] = 0;
  }

  static SHLO_DEVICE void load_a(uint32_t (&r)[4], const T* s, int row, int k) {
    constexpr int P = StagedA::PITCH;
    const int lane = threadIdx.x % 32;
    if constexpr (A_ALONG_K) load_matrices(r, s + (row + lane % 16) * P + k + lane / 16 * WORD);
    else if constexpr (NARROW) load_matrices_transposed(r, s + (k + lane % 8 + lane / 16 * 8) * P + row + lane / 8 % 2 * 8);
    else
      SHLO_UNROLL for (int i = 0; i < 4; ++i)
        r[i] = as<uint32_t>(s[(k + lane % 4 + i / 2 * 4) * P + row + lane / 4 + i % 2 * 8]);
  }

  static SHLO_DEVICE void load_b(uint32_t (&r)[4], const T* s, int column, int k) {  // two fragments
    constexpr int P = StagedB::PITCH;
    const int lane = threadIdx.x % 32;
    if constexpr (B_ALONG_K) load_matrices(r, s + (column + lane % 8 + lane / 16 * 8) * P + k + lane / 8 % 2 * WORD);
    else if constexpr (NARROW) load_matrices_transposed(r, s + (k + lane % 16) * P + column + lane / 16 * 8);
    else
      SHLO_UNROLL for (int i = 0; i < 4; ++i)
        r[i] = as<uint32_t>(s[(k + lane % 4 + i % 2 * 4) * P + column + lane / 4 + i / 2 * 8]);
  }

  SHLO_DEVICE void multiply(const T* a, const T* b) {
    const int warp = threadIdx.x / 32, row = warp / WARPS_N * (ROWS * 16), column = warp % WARPS_N * (COLUMNS * 8);
    SHLO_UNROLL for (int k = 0; k < depth_of<T>; k += STEP) {
      uint32_t of_a[ROWS][4];
      SHLO_UNROLL for (int r = 0; r < ROWS; ++r) load_a(of_a[r], a, row + 16 * r, k);
      SHLO_UNROLL for (int c = 0; c < COLUMNS; c += 2) {
        uint32_t of_b[4];
        load_b(of_b, b, column + 8 * c, k);
        const uint32_t first[2] = {of_b[0], of_b[1]}, second[2] = {of_b[2], of_b[3]};
        SHLO_UNROLL for (int r = 0; r < ROWS; ++r) {
          if constexpr (NARROW) {
            mma_m16n8k16(sums[r][c], of_a[r], first, T());
            mma_m16n8k16(sums[r][c + 1], of_a[r], second, T());
          } else {
            mma_m16n8k8_tf32(sums[r][c], of_a[r], first);
            mma_m16n8k8_tf32(sums[r][c + 1], of_a[r], second);
          }
        }
      }
    }
  }

  // Row r of a slice is this row of the tile.
  static SHLO_DEVICE int row_of(int slice, int r) { return r / 16 * (ROWS * 16) + slice * 16 + r % 16; }

  SHLO_DEVICE void put(Sum* s, int pitch, int slice) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Sum* const at = s + (warp / WARPS_N * 16 + lane / 4) * pitch + warp % WARPS_N * (COLUMNS * 8) + lane % 4 * 2;
    SHLO_UNROLL for (int r = 0; r < ROWS; ++r) {
      if (r == slice) {
        SHLO_UNROLL for (int c = 0; c < COLUMNS; ++c)
          SHLO_UNROLL for (int e = 0; e < 4; ++e) at[e / 2 * 8 * pitch + c * 8 + e % 2] = sums[r][c][e];
      }
    }
  }
};

// M x N sums by ordinary multiply-adds, R x C of them per thread: f32 and f64 as exact as they are.
template <class T_, int M_, int N_, int R, int C, bool A_ALONG_K, bool B_ALONG_K>
struct PlainTile {
  typedef T_ T;
  typedef T Sum;
  static constexpr int M = M_, N = N_, ACROSS = N / C, THREADS = M / R * ACROSS;
  typedef Packs<T, M, THREADS, A_ALONG_K> PacksA;
  typedef Packs<T, N, THREADS, B_ALONG_K> PacksB;
  typedef Staged<T, M, false, lanes_of<T>> StagedA;
  typedef Staged<T, N, false, lanes_of<T>> StagedB;
  static constexpr bool ROUND = false;
  static constexpr int PER_SLICE = 2, SLICES = R / PER_SLICE, SLICE_ROWS = M / R * PER_SLICE;

  Sum sums[R][C];

  SHLO_DEVICE PlainTile() {
    SHLO_UNROLL for (int r = 0; r < R; ++r) SHLO_UNROLL for (int c = 0; c < C; ++c) sums[r][c] = 0;
  }

  template <int COUNT>
  static SHLO_DEVICE void read(T (&out)[COUNT], const T* s) {
    constexpr int W = lanes_of<T>;
    SHLO_UNROLL for (int i = 0; i < COUNT; i += W) {
      const Pack<T, W> p = pack_load<W>(s + i);
      SHLO_UNROLL for (int j = 0; j < W; ++j) out[i + j] = p.at[j];
    }
  }

  SHLO_DEVICE void multiply(const T* a, const T* b) {
    const int row = (int)threadIdx.x / ACROSS * R, column = (int)threadIdx.x % ACROSS * C;
    SHLO_UNROLL for (int k = 0; k < depth_of<T>; ++k) {
      T x[R], y[C];
      read(x, a + k * StagedA::PITCH + row);
      read(y, b + k * StagedB::PITCH + column);
      SHLO_UNROLL for (int r = 0; r < R; ++r) SHLO_UNROLL for (int c = 0; c < C; ++c) sums[r][c] += x[r] * y[c];
    }
  }

  static SHLO_DEVICE int row_of(int slice, int r) { return r / PER_SLICE * R + slice * PER_SLICE + r % PER_SLICE; }

  SHLO_DEVICE void put(Sum* s, int pitch, int slice) const {
    Sum* const at = s + (int)threadIdx.x / ACROSS * PER_SLICE * pitch + (int)threadIdx.x % ACROSS * C;
    SHLO_UNROLL for (int r = 0; r < R; ++r) {
      if (r / PER_SLICE == slice) {
        SHLO_UNROLL for (int c = 0; c < C; ++c) at[r % PER_SLICE * pitch + c] = sums[r][c];
      }
    }
  }
};

// ---- one tile --------------------------------------------------------------------------------------------------------

template <class Tile> constexpr int half_bytes = (Tile::StagedA::SIZE + Tile::StagedB::SIZE) * (int)sizeof(typename Tile::T);
template <class Tile> constexpr int tile_bytes = 2 * half_bytes<Tile>;

// Hand every sum to epilogue(sum, row, column); `rows` and `columns` of the tile exist, and its first is (i0, j0).
// ROWS_FIRST: neighbouring threads take neighbouring rows.
template <bool ROWS_FIRST, class Tile, class Epilogue>
SHLO_DEVICE void finish(const Tile& tile, char* shared, idx i0, idx j0, int rows, int columns, Epilogue epilogue) {
  typedef typename Tile::Sum Sum;
  constexpr int PITCH = Tile::N + 1, COUNT = Tile::SLICE_ROWS * Tile::N;
  // The next tile begins with the other half, so it need not wait until this one has been read.
  static_assert(Tile::SLICE_ROWS * PITCH * sizeof(Sum) <= half_bytes<Tile>, "a slice of sums takes one half");
  Sum* const s = (Sum*)shared;
  _Pragma("unroll 1") for (int slice = 0; slice < Tile::SLICES; ++slice) {
    __syncthreads();
    tile.put(s, PITCH, slice);
    __syncthreads();
    _Pragma("unroll 4") for (int at = threadIdx.x; at < COUNT; at += Tile::THREADS) {
      const int r = ROWS_FIRST ? at % Tile::SLICE_ROWS : at / Tile::N, c = ROWS_FIRST ? at / Tile::SLICE_ROWS : at % Tile::N;
      const int row = Tile::row_of(slice, r);
      if (row < rows && c < columns) epilogue(s[r * PITCH + c], i0 + row, j0 + c);
    }
  }
}

// Depths k0 .. k1 of one tile; all threads of the block.
template <class Tile, bool ROWS_FIRST, class A, class B, class Epilogue>
SHLO_DEVICE void multiply_tile(const A& a, const B& b, idx k0, idx k1, idx i0, idx j0, idx rows, idx columns, char* shared,
                               Epilogue epilogue) {
  typedef typename Tile::T T;
  typedef typename Tile::StagedA StagedA;
  typedef typename Tile::StagedB StagedB;
  constexpr int HALF = StagedA::SIZE + StagedB::SIZE, DEPTH = depth_of<T>;
  T* const s = (T*)shared;
  Tile tile;
  Pack<T, lanes_of<T>> of_a[A::COUNT], of_b[B::COUNT];
  int half = 0;
  _Pragma("unroll 1") for (idx k = k0 - DEPTH; k < k1; k += DEPTH) {  // the first round only reads ahead
    const bool more = k1 - k > DEPTH;
    if (more) {
      a.fetch(k + DEPTH, k1, of_a);
      b.fetch(k + DEPTH, k1, of_b);
    }
    if (k >= k0) tile.multiply(s + half, s + half + StagedA::SIZE);
    half = HALF - half;
    if (more) {
      StagedA::template put<A, Tile::ROUND>(s + half, of_a);
      StagedB::template put<B, Tile::ROUND>(s + half + StagedA::SIZE, of_b);
      __syncthreads();
    }
  }
  finish<ROWS_FIRST>(tile, shared, i0, j0, at_most(rows, Tile::M), at_most(columns, Tile::N), epilogue);
}

// ---- few rows --------------------------------------------------------------------------------------------------------

// What M rows of A and some columns of B are multiplied from: element (r, k) of A is a[r * a_row + k * a_depth],
// element (k, c) of B is b[k * b_depth + c * b_column]. Both start where the block does.
template <class T>
struct Thin {
  const T *a, *b;
  idx a_row, a_depth, b_depth, b_column;
  idx rows, columns, depth;  // rows: at most M; columns from here on
};

// N elements of a line, `left` of which exist; packs: they lie side by side, aligned, and exist all or not at all.
template <int N, class T>
SHLO_DEVICE void load_line(value_t<T> (&out)[N], const T* p, idx stride, idx left, bool packs) {
  if (packs) {
    Pack<T, N> from{};
    if (left > 0) from = pack_load<N>(p);
    SHLO_UNROLL for (int j = 0; j < N; ++j) out[j] = value(from.at[j]);
  } else {
    SHLO_UNROLL for (int j = 0; j < N; ++j) out[j] = j < left ? value(p[j * stride]) : value_t<T>(0);
  }
}

// One warp per column, whose lanes share the depth: B has its depth side by side. UNIT: its stride is 1.
constexpr int thin_columns = 8, thin_threads = 256;
template <int M, bool UNIT, class T, class Epilogue>
SHLO_DEVICE void multiply_thin_columns(const Thin<T>& p, idx j0, Epilogue epilogue) {
  typedef value_t<T> Sum;
  constexpr int N = lanes_of<T>;
  const int lane = threadIdx.x % 32, column = threadIdx.x / 32;
  if (column >= p.columns) return;  // whole warps
  const T* const b = p.b + column * p.b_column;
  const bool b_packs = UNIT && has_packs(b, 0, p.depth), a_packs = p.a_depth == 1 && has_packs(p.a, p.a_row, p.depth);
  Sum sums[M] = {};
  _Pragma("unroll 2") for (idx k = lane * N; k < p.depth; k += 32 * N) {
    Sum x[M][N], y[N];
    load_line(y, b + k * p.b_depth, p.b_depth, p.depth - k, b_packs);
    SHLO_UNROLL for (int r = 0; r < M; ++r)
      load_line(x[r], p.a + r * p.a_row + k * p.a_depth, p.a_depth, r < p.rows ? p.depth - k : 0, a_packs);
    SHLO_UNROLL for (int r = 0; r < M; ++r) SHLO_UNROLL for (int j = 0; j < N; ++j) sums[r] += x[r][j] * y[j];
  }
  Sum mine = 0;
  SHLO_UNROLL for (int r = 0; r < M; ++r) {
    SHLO_UNROLL for (int mask = 16; mask > 0; mask /= 2) sums[r] += shuffle_xor(sums[r], mask);
    if (lane == r) mine = sums[r];
  }
  if (lane < p.rows) epilogue(mine, (idx)lane, j0 + column);
}

// Packs of columns side by side: 4 lanes across, and the other 8 x 8 warps share the depth, 4 at a time.
constexpr int wide_lanes = 4;
template <class T> constexpr int wide_columns = wide_lanes * lanes_of<T>;
template <int M, class T> constexpr int wide_bytes = 8 * M * wide_columns<T> * (int)sizeof(value_t<T>);
template <int M, class T, class Epilogue>
SHLO_DEVICE void multiply_thin_packs(const Thin<T>& p, idx j0, char* shared, Epilogue epilogue) {
  typedef value_t<T> Sum;
  constexpr int N = lanes_of<T>, C = wide_columns<T>, L = wide_lanes, GROUP = 4, PARTS = thin_threads / L;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = lane % L * N;
  const bool b_packs = has_packs(p.b, p.b_depth, p.columns);
  const bool a_packs = p.a_depth == 1 && ((uint64_t)p.a & 15) == 0 && p.a_row % GROUP == 0 && p.depth % GROUP == 0;
  Sum sums[M][N] = {};
  for (idx k = (int)threadIdx.x / L * GROUP; k < p.depth; k += PARTS * GROUP) {
    Sum x[M][GROUP], y[GROUP][N];
    SHLO_UNROLL for (int g = 0; g < GROUP; ++g)
      load_line(y[g], p.b + (k + g) * p.b_depth + column, (idx)1, k + g < p.depth ? p.columns - column : 0, b_packs);
    SHLO_UNROLL for (int r = 0; r < M; ++r)
      load_line(x[r], p.a + r * p.a_row + k * p.a_depth, p.a_depth, r < p.rows ? p.depth - k : 0, a_packs);
    SHLO_UNROLL for (int r = 0; r < M; ++r)
      SHLO_UNROLL for (int j = 0; j < N; ++j) SHLO_UNROLL for (int g = 0; g < GROUP; ++g) sums[r][j] += x[r][g] * y[g][j];
  }
  Sum* const s = (Sum*)shared;
  __syncthreads();
  SHLO_UNROLL for (int r = 0; r < M; ++r) {
    SHLO_UNROLL for (int j = 0; j < N; ++j) {
      SHLO_UNROLL for (int mask = L; mask < 32; mask *= 2) sums[r][j] += shuffle_xor(sums[r][j], mask);
      if (lane < L) s[(warp * M + r) * C + column + j] = sums[r][j];
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < M * C; at += thin_threads) {
    const int r = at / C, c = at % C;
    Sum sum = 0;
    SHLO_UNROLL for (int w = 0; w < 8; ++w) sum += s[(w * M + r) * C + c];
    if (r < p.rows && c < p.columns) epilogue(sum, (idx)r, j0 + c);
  }
}
