// The two products of attention for a warp's 16 queries: S = Q K^T and O += P V, with K and V in shared memory.
#pragma once
#include "gemm/mma.cuh"
#include "values/pack.cuh"

// Asynchronous copies of 16 bytes from global to shared memory; zeros where `present` is false.
#ifdef __CUDA_EMU__
SHLO_DEVICE void copy_async(void* to, const void* from, bool present) {
  for (int k = 0; k < 2; ++k) ((uint64_t*)to)[k] = present ? ((const uint64_t*)from)[k] : 0;  // the race checker sees it
}
SHLO_DEVICE void copies_commit() {}
template <int LEFT> SHLO_DEVICE void copies_wait() {}
#else
SHLO_DEVICE void copy_async(void* to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from),
               "r"(present ? 16 : 0)
               : "memory");
}
SHLO_DEVICE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the LEFT newest groups of copies are pending.
template <int LEFT> SHLO_DEVICE void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
#endif

// A matrix in global memory: rows of `width` elements.
template <class T>
struct Rows {
  const T* start;
  idx row, column, width;  // strides, then the number of columns

  SHLO_DEVICE bool packs() const {
    constexpr int lanes = 16 / sizeof(T);
    return column == 1 && ((uint64_t)start & 15) == 0 && row % lanes == 0 && width % lanes == 0;
  }
  SHLO_DEVICE T at(idx r, idx c) const { return start[r * row + c * column]; }

  // Start copying rows r0 .. to `tile`, with zeros beyond row `rows` and beyond the width.
  template <int COUNT, int WIDTH, int PITCH, int THREADS>
  SHLO_DEVICE void fetch(T* tile, idx r0, idx rows, int thread) const {
    constexpr int lanes = 16 / sizeof(T), across = WIDTH / lanes;
    if (packs()) {
      SHLO_UNROLL for (int at = thread; at < COUNT * across; at += THREADS) {
        const int r = at / across, c = at % across * lanes;
        const bool present = r0 + r < rows && c < width;
        copy_async(tile + r * PITCH + c, present ? start + (r0 + r) * row + c : start, present);
      }
    } else {
      for (int at = thread; at < COUNT * WIDTH; at += THREADS) {  // adjacent threads along the dimension of stride 1
        const int r = row == 1 ? at % COUNT : at / WIDTH, c = row == 1 ? at / COUNT : at % WIDTH;
        tile[r * PITCH + c] = r0 + r < rows && c < width ? this->at(r0 + r, c) : T{};
      }
    }
    copies_commit();
  }
};

// ---- products of one warp: S = Q K^T, O += P V ------------------------------------------------------------------------

// 16-bit elements on the tensor cores; K and V are tiles in shared memory.
template <class T_, int D_, int DV_, int KEYS>
struct HalfProducts {
  typedef T_ T;
  static constexpr int D = D_, DV = DV_, PITCH_K = D + 8, PITCH_V = DV + 8, QUERIES = 0, WEIGHTS = 0;
  uint32_t q[D / 16][4];

  SHLO_DEVICE void take(const Rows<T>& from, idx row, idx rows, char*, bool) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    SHLO_UNROLL for (int k = 0; k < D / 16; ++k) {
      SHLO_UNROLL for (int i = 0; i < 4; ++i) {
        const idx r = row + g + i % 2 * 8, c = k * 16 + i / 2 * 8 + 2 * t;
        T two[2] = {};
        SHLO_UNROLL for (int h = 0; h < 2; ++h)
          if (r < rows && c + h < from.width) two[h] = from.at(r, c + h);
        q[k][i] = mma_pair(two[0], two[1]);
      }
    }
  }

  SHLO_DEVICE void scores(float (&s)[KEYS / 8][4], const T* tile) const {
    const int lane = threadIdx.x % 32;
    const T* const row = tile + (lane / 16 * 8 + lane % 8) * PITCH_K + lane / 8 % 2 * 8;
    SHLO_UNROLL for (int k = 0; k < D / 16; ++k) {
      SHLO_UNROLL for (int pair = 0; pair < KEYS / 16; ++pair) {
        uint32_t r[4];
        load_matrices(r, row + pair * 16 * PITCH_K + k * 16);
        const uint32_t first[2] = {r[0], r[1]}, second[2] = {r[2], r[3]};
        mma_m16n8k16(s[2 * pair], q[k], first, T{});
        mma_m16n8k16(s[2 * pair + 1], q[k], second, T{});
      }
    }
  }

  SHLO_DEVICE void add(float (&o)[DV / 8][4], const float (&p)[KEYS / 8][4], const T* tile, char*) const {
    const int lane = threadIdx.x % 32;
    const T* const row = tile + (lane / 8 % 2 * 8 + lane % 8) * PITCH_V + lane / 16 * 8;
    SHLO_UNROLL for (int k = 0; k < KEYS / 16; ++k) {
      uint32_t a[4];
      SHLO_UNROLL for (int i = 0; i < 4; ++i) {
        const float* const two = p[2 * k + i / 2] + i % 2 * 2;
        a[i] = mma_pair(stored<T>(two[0]), stored<T>(two[1]));
      }
      SHLO_UNROLL for (int pair = 0; pair < DV / 16; ++pair) {
        uint32_t r[4];
        load_matrices_transposed(r, row + k * 16 * PITCH_V + pair * 16);
        const uint32_t first[2] = {r[0], r[1]}, second[2] = {r[2], r[3]};
        mma_m16n8k16(o[2 * pair], a, first, T{});
        mma_m16n8k16(o[2 * pair + 1], a, second, T{});
      }
    }
  }
};

// f32 rounded to tf32 on the tensor cores. The depth of a product may be permuted, so a lane reads numbers 2t and
// 2t + 1 of every 8 where gemm/mma.cuh has t and t + 4.
template <int D_, int DV_, int KEYS>
struct Tf32Products {
  typedef float T;
  static constexpr int D = D_, DV = DV_, PITCH_K = D + 8, PITCH_V = DV + 4, QUERIES = 0, WEIGHTS = 0;
  uint32_t q[D / 8][4];

  SHLO_DEVICE void take(const Rows<float>& from, idx row, idx rows, char*, bool) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    SHLO_UNROLL for (int k = 0; k < D / 8; ++k) {
      SHLO_UNROLL for (int i = 0; i < 4; ++i) {
        const idx r = row + g + i % 2 * 8, c = k * 8 + 2 * t + i / 2;
        q[k][i] = to_tf32(r < rows && c < from.width ? from.at(r, c) : 0.f);
      }
    }
  }

  SHLO_DEVICE void scores(float (&s)[KEYS / 8][4], const float* tile) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    SHLO_UNROLL for (int k = 0; k < D / 8; ++k) {
      SHLO_UNROLL for (int n = 0; n < KEYS / 8; ++n) {
        const Pack<float, 2> two = pack_load<2>(tile + (n * 8 + g) * PITCH_K + k * 8 + 2 * t);
        const uint32_t b[2] = {to_tf32(two.at[0]), to_tf32(two.at[1])};
        mma_m16n8k8_tf32(s[n], q[k], b);
      }
    }
  }

  SHLO_DEVICE void add(float (&o)[DV / 8][4], const float (&p)[KEYS / 8][4], const float* tile, char*) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    SHLO_UNROLL for (int k = 0; k < KEYS / 8; ++k) {
      const uint32_t a[4] = {to_tf32(p[k][0]), to_tf32(p[k][2]), to_tf32(p[k][1]), to_tf32(p[k][3])};
      SHLO_UNROLL for (int n = 0; n < DV / 8; ++n) {
        const float* const v = tile + (k * 8 + 2 * t) * PITCH_V + n * 8 + g;
        const uint32_t b[2] = {to_tf32(v[0]), to_tf32(v[PITCH_V])};
        mma_m16n8k8_tf32(o[n], a, b);
      }
    }
  }
};

// f32 on CUDA cores. Shared memory has the queries of each 16 rows, and for each warp the weights of one block.
template <int D_, int DV_, int KEYS>
struct PlainProducts {
  typedef float T;
  static constexpr int D = D_, DV = DV_, PITCH_K = D + 4, PITCH_V = DV + 4, PITCH_P = KEYS + 4;
  static constexpr int QUERIES = 16 * PITCH_K * 4, WEIGHTS = 16 * PITCH_P * 4;

  const float* q;

  // Queries are in shared memory, written by the warp with `writes`; other warps read them after a barrier.
  SHLO_DEVICE void take(const Rows<float>& from, idx row, idx rows, char* queries, bool writes) {
    float* const mine = (float*)queries;
    q = mine;
    for (int at = threadIdx.x % 32; writes && at < 16 * D; at += 32) {
      const int r = at / D, c = at % D;
      mine[r * PITCH_K + c] = row + r < rows && c < from.width ? from.at(row + r, c) : 0.f;
    }
  }

  SHLO_DEVICE void scores(float (&s)[KEYS / 8][4], const float* tile) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int d = 0; d < D; d += 4) {
      const Pack<float, 4> x = pack_load<4>(q + g * PITCH_K + d), y = pack_load<4>(q + (g + 8) * PITCH_K + d);
      SHLO_UNROLL for (int n = 0; n < KEYS / 8; ++n) {
        SHLO_UNROLL for (int i = 0; i < 2; ++i) {
          const Pack<float, 4> k = pack_load<4>(tile + (n * 8 + 2 * t + i) * PITCH_K + d);
          SHLO_UNROLL for (int e = 0; e < 4; ++e) {
            s[n][i] += x.at[e] * k.at[e];
            s[n][2 + i] += y.at[e] * k.at[e];
          }
        }
      }
    }
  }

  SHLO_DEVICE void add(float (&o)[DV / 8][4], const float (&p)[KEYS / 8][4], const float* tile, char* own) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float* const weights = (float*)own;
    SHLO_UNROLL for (int k = 0; k < KEYS / 8; ++k) {
      SHLO_UNROLL for (int i = 0; i < 4; ++i) weights[(g + i / 2 * 8) * PITCH_P + k * 8 + 2 * t + i % 2] = p[k][i];
    }
    __syncwarp();
    for (int k = 0; k < KEYS; k += 4) {
      const Pack<float, 4> x = pack_load<4>(weights + g * PITCH_P + k);
      const Pack<float, 4> y = pack_load<4>(weights + (g + 8) * PITCH_P + k);
      SHLO_UNROLL for (int e = 0; e < 4; ++e) {
        SHLO_UNROLL for (int n = 0; n < DV / 8; ++n) {
          const Pack<float, 2> v = pack_load<2>(tile + (k + e) * PITCH_V + n * 8 + 2 * t);
          o[n][0] += x.at[e] * v.at[0];
          o[n][1] += x.at[e] * v.at[1];
          o[n][2] += y.at[e] * v.at[0];
          o[n][3] += y.at[e] * v.at[1];
        }
      }
    }
  }
};
