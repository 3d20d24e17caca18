// Attention with online softmax: FlashAttention-2 (Dao 2023, section 3.1). A warp has 16 queries. It iterates over
// blocks of keys, and keeps per query the largest score so far, the sum of exp(score - largest), and the values summed
// with these weights; when the largest score grows, the sums are scaled down.
//
// Scores and sums are in registers in the layout of D in gemm/mma.cuh: a lane has queries g and g + 8, and of every 8
// keys (or columns of the values) numbers 2t and 2t + 1. A score is -inf where there is no key, so it adds nothing.
// While all scores of a query are -inf, 0 is subtracted instead of the largest; the final 0 / 0 is the NaN that softmax
// gives for such a row.
#pragma once
#include "attention/products.cuh"
#include "values/shuffle.cuh"

// Tag: the weights of the values are the exponentials themselves.
struct Whole {};

SHLO_DEVICE float quad_max(float x) {
  x = max_(x, shuffle_xor(x, 1));
  return max_(x, shuffle_xor(x, 2));
}
SHLO_DEVICE float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}
SHLO_DEVICE bool quad_any(bool x) {
  x |= shuffle_xor(x, 1);
  return x | shuffle_xor(x, 2);
}
// The number that is subtracted from scores whose largest is `greatest`.
SHLO_DEVICE float shift_of(float greatest) { return greatest == -inf_f32() ? 0.f : greatest; }
// A finished element. Where no weight of a row is kept, its sum is zero, even if the softmax is NaN.
SHLO_DEVICE float divided(float sum, float total, bool kept) { return kept ? sum / total : sum; }

// Either ROW_WARPS warps with 16 queries each share blocks of KEYS keys; or KEY_WARPS warps have the same queries but
// separate blocks of keys, and their results are combined in a fixed order.
template <class Products, int KEYS, int ROW_WARPS, int KEY_WARPS>
struct Attention {
  static_assert(ROW_WARPS == 1 || KEY_WARPS == 1, "warps share either keys or queries");
  typedef typename Products::T T;
  static constexpr int DV = Products::DV, WARPS = ROW_WARPS * KEY_WARPS, ROWS = 16 * ROW_WARPS;
  static constexpr int TILE_K = KEYS * Products::PITCH_K, TILE_V = KEYS * Products::PITCH_V;
  static constexpr int TILES = KEY_WARPS * (TILE_K + TILE_V) * (int)sizeof(T);
  static constexpr int COMBINED = KEY_WARPS > 1 ? KEY_WARPS * 16 * (DV + 3) * 4 : 0;
  static constexpr int QUERIES_AT = TILES > COMBINED ? TILES : COMBINED;
  static constexpr int WEIGHTS_AT = QUERIES_AT + ROW_WARPS * Products::QUERIES;
  static constexpr int BYTES = WEIGHTS_AT + WARPS * Products::WEIGHTS;
  static_assert(BYTES <= 48 * 1024, "a block has at most 48 KiB of static shared memory");

  // The threads that share a tile of keys.
  static SHLO_DEVICE void sync() {
    if constexpr (ROW_WARPS > 1) __syncthreads();
    else __syncwarp();
  }

  // A lane's state of its queries.
  struct State {
    float o[DV / 8][4], greatest[2], total[2];
    bool any[2];  // whether a weight was kept
  };

  // score(sum, i, j): the softmax's input; weight(e, i, j): the factor of V's row; kept(i, j): whether the weight may
  // be other than 0; store(sum, i, c): stores a finished element.
  template <class Score, class Weight, class Kept, class Store>
  static SHLO_DEVICE void run(const Rows<T>& q, const Rows<T>& k, const Rows<T>& v, idx first, idx rows, idx keys,
                              const Score& score, const Weight& weight, const Kept& kept, const Store& store) {
    SHLO_SHARED(char, memory, BYTES);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    State state;
    gather(memory, state, q, k, v, first, rows, 0, keys, score, weight, kept);
    if constexpr (KEY_WARPS == 1) {
      SHLO_UNROLL for (int n = 0; n < DV / 8; ++n) {
        SHLO_UNROLL for (int e = 0; e < 4; ++e) {
          const idx i = first + warp * 16 + g + e / 2 * 8, c = n * 8 + 2 * t + e % 2;
          const float sum = divided(state.o[n][e], state.total[e / 2], state.any[e / 2]);
          if (i < rows && c < v.width) store(keys == 0 ? 0.f : sum, i, c);
        }
      }
    } else {
      lay_out((float*)memory, state);
      finish((const float*)memory, WARPS, v.width, first, rows, keys, store);
    }
  }

  // The same for keys [from, to): writes the input of `finish` to `part`, which has PART numbers.
  template <class Score, class Weight, class Kept>
  static SHLO_DEVICE void run_part(const Rows<T>& q, const Rows<T>& k, const Rows<T>& v, idx first, idx rows, idx from,
                                   idx to, float* part, const Score& score, const Weight& weight, const Kept& kept) {
    SHLO_SHARED(char, memory, BYTES);
    State state;
    gather(memory, state, q, k, v, first, rows, from, to, score, weight, kept);
    lay_out((float*)memory, state);
    for (int at = threadIdx.x; at < SUMS; at += 32 * WARPS) {
      const Joined one = join((const float*)memory, WARPS, at);
      part[at] = one.sum;
      if (at % DV == 0) put_row(part + SUMS + at / DV, one.greatest, one.total, one.kept);
    }
  }

  // Combine the parts of `count` warps or blocks for 16 queries, and store the elements.
  template <class Store>
  static SHLO_DEVICE void finish(const float* parts, int count, idx width, idx first, idx rows, idx keys,
                                 const Store& store) {
    for (int at = threadIdx.x; at < SUMS; at += 32 * WARPS) {
      const int r = at / DV, c = at % DV;
      if (first + r >= rows || c >= width) continue;
      const Joined one = join(parts, count, at);
      store(keys == 0 ? 0.f : divided(one.sum, one.total, one.kept), first + r, (idx)c);
    }
  }

 private:
  template <class Score, class Weight, class Kept>
  static SHLO_DEVICE void gather(char* memory, State& state, const Rows<T>& q, const Rows<T>& k, const Rows<T>& v,
                                 idx first, idx rows, idx from, idx to, const Score& score, const Weight& weight,
                                 const Kept& kept) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int part = KEY_WARPS > 1 ? warp : 0, thread = KEY_WARPS > 1 ? lane : (int)threadIdx.x;
    T* const tile_k = (T*)memory + part * (TILE_K + TILE_V);
    T* const tile_v = tile_k + TILE_K;
    char* const queries = memory + QUERIES_AT + (KEY_WARPS > 1 ? 0 : warp) * Products::QUERIES;
    char* const weights = memory + WEIGHTS_AT + warp * Products::WEIGHTS;
    const idx row = first + (KEY_WARPS > 1 ? 0 : warp * 16);
    constexpr int THREADS = 32 * ROW_WARPS, STEP = KEYS * KEY_WARPS;

    Products products;
    products.take(q, row, rows, queries, part == 0);
    if constexpr (KEY_WARPS > 1) __syncthreads();  // queries are written; the previous task no longer reads the tiles
    state = State{{}, {-inf_f32(), -inf_f32()}, {}, {same<Kept, Whole>, same<Kept, Whole>}};
    idx start = from + part * KEYS;
    if (start < to) k.template fetch<KEYS, Products::D, Products::PITCH_K, THREADS>(tile_k, start, to, thread);
    for (; start < to; start += STEP) {
      copies_wait<0>();
      sync();
      v.template fetch<KEYS, DV, Products::PITCH_V, THREADS>(tile_v, start, to, thread);
      float s[KEYS / 8][4] = {};
      products.scores(s, tile_k);
      copies_wait<0>();
      sync();
      if (to - start > STEP)
        k.template fetch<KEYS, Products::D, Products::PITCH_K, THREADS>(tile_k, start + STEP, to, thread);
      update(state, s, row, rows, start, to, score, weight, kept);
      products.add(state.o, s, tile_v, weights);
    }
    SHLO_UNROLL for (int h = 0; h < 2; ++h) state.total[h] = quad_sum(state.total[h]);
  }

  // Turns the products of one block into weights.
  template <class Score, class Weight, class Kept>
  static SHLO_DEVICE void update(State& state, float (&s)[KEYS / 8][4], idx row, idx rows, idx start, idx to,
                                 const Score& score, const Weight& weight, const Kept& kept) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float top[2] = {state.greatest[0], state.greatest[1]}, shift[2], scale[2];
    SHLO_UNROLL for (int n = 0; n < KEYS / 8; ++n) {
      SHLO_UNROLL for (int e = 0; e < 4; ++e) {
        const idx i = row + g + e / 2 * 8, j = start + n * 8 + 2 * t + e % 2;
        s[n][e] = i < rows && j < to ? score(s[n][e], i, j) : -inf_f32();
        top[e / 2] = max_(top[e / 2], s[n][e]);
      }
    }
    SHLO_UNROLL for (int h = 0; h < 2; ++h) {
      top[h] = quad_max(top[h]);
      shift[h] = shift_of(top[h]);
      scale[h] = exp_(state.greatest[h] - shift[h]);
      state.greatest[h] = top[h];
      state.total[h] *= scale[h];
      if (!state.any[h]) scale[h] = 1.f;  // keeps a zero sum at zero even if the scale is NaN
    }
    SHLO_UNROLL for (int n = 0; n < DV / 8; ++n) {
      SHLO_UNROLL for (int e = 0; e < 4; ++e) state.o[n][e] *= scale[e / 2];
    }
    SHLO_UNROLL for (int n = 0; n < KEYS / 8; ++n) {
      SHLO_UNROLL for (int e = 0; e < 4; ++e) {
        s[n][e] = exp_(s[n][e] - shift[e / 2]);
        state.total[e / 2] += s[n][e];
        if constexpr (!same<Weight, Whole>) {
          const idx i = row + g + e / 2 * 8, j = start + n * 8 + 2 * t + e % 2;
          const bool present = i < rows && j < to;
          s[n][e] = present ? weight(s[n][e], i, j) : 0.f;
          if constexpr (!same<Kept, Whole>) state.any[e / 2] |= present && kept(i, j);
        }
      }
    }
    if constexpr (!same<Kept, Whole>) {
      SHLO_UNROLL for (int h = 0; h < 2; ++h) state.any[h] = quad_any(state.any[h]);
    }
  }

  // The part of one warp or block: sums of 16 x DV, then the largest score, the total and `kept` of 16 queries.
  static constexpr int SUMS = 16 * DV;

 public:
  static constexpr int PART = SUMS + 48;

 private:
  static SHLO_DEVICE void put_row(float* of_row, float greatest, float total, bool kept) {
    of_row[0] = greatest;
    of_row[16] = total;
    of_row[32] = kept ? 1.f : 0.f;
  }

  static SHLO_DEVICE void lay_out(float* memory, const State& state) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    __syncthreads();
    float* const mine = memory + threadIdx.x / 32 * PART;
    SHLO_UNROLL for (int n = 0; n < DV / 8; ++n) {
      SHLO_UNROLL for (int e = 0; e < 4; ++e) mine[(g + e / 2 * 8) * DV + n * 8 + 2 * t + e % 2] = state.o[n][e];
    }
    SHLO_UNROLL for (int h = 0; h < 2; ++h)
      if (t == 0) put_row(mine + SUMS + g + h * 8, state.greatest[h], state.total[h], state.any[h]);
    __syncthreads();
  }

  struct Joined {
    float sum, greatest, total;
    bool kept;
  };

  // Sum number `at` of several parts, each rescaled to the largest score of all.
  static SHLO_DEVICE Joined join(const float* parts, int count, int at) {
    const float* const of_row = parts + SUMS + at / DV;
    Joined all = {0, -inf_f32(), 0, false};
    for (int w = 0; w < count; ++w) all.greatest = max_(all.greatest, of_row[w * PART]);
    for (int w = 0; w < count; ++w) {
      const float scale = exp_(of_row[w * PART] - shift_of(all.greatest));
      const bool kept = of_row[w * PART + 32] != 0;
      all.sum += (kept ? scale : 1.f) * parts[w * PART + at];
      all.total += scale * of_row[w * PART + 16];
      all.kept |= kept;
    }
    return all;
  }
};
