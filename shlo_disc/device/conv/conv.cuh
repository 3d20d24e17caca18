// Convolutions as matrix products of the input, gathered at every output position, and the weights: rows are positions,
// columns features, and the depth is taps times input features ("implicit GEMM", Chetlur et al., cuDNN, 2014).
#pragma once
#include "gemm/gemm.cuh"

// The geometry of a convolution: per spatial dim, and for one group of features.
template <int RANK>
struct Window {
  idx sizes[RANK], taps[RANK], outputs[RANK];            // input, weights, output
  idx strides[RANK], low[RANK];                          // output steps in the input, padding before it
  idx spread[RANK], spacing[RANK];                       // dilation of the input and of the taps
  bool reversed[RANK];
  idx features, batch_stride, feature_stride, in_strides[RANK];
};

// Where the window of one output position begins.
template <int RANK>
struct Place {
  idx base, origin[RANK];
};

template <int RANK>
SHLO_DEVICE Place<RANK> place_of(const Window<RANK>& w, idx row) {
  Place<RANK> p;
  SHLO_UNROLL for (int d = RANK - 1; d >= 0; --d) {
    p.origin[d] = row % w.outputs[d] * w.strides[d] - w.low[d];
    row /= w.outputs[d];
  }
  p.base = row * w.batch_stride;
  return p;
}

// One step of the depth.
template <int RANK>
struct Tap {
  idx feature, number[RANK];
};

// FEATURE_INNER: features vary fastest along the depth, else taps.
template <bool FEATURE_INNER, int RANK>
SHLO_DEVICE Tap<RANK> tap_of(const Window<RANK>& w, idx k) {
  Tap<RANK> t;
  if (FEATURE_INNER) {
    t.feature = k % w.features;
    k /= w.features;
  }
  SHLO_UNROLL for (int d = RANK - 1; d >= 0; --d) {
    t.number[d] = d == 0 && FEATURE_INNER ? k : k % w.taps[d];
    k /= w.taps[d];
  }
  if (!FEATURE_INNER) t.feature = k;
  return t;
}

// Whether a tap lies inside the input; `offset` is that of its element.
template <int RANK>
SHLO_DEVICE bool reads(const Window<RANK>& w, const Place<RANK>& p, const Tap<RANK>& t, idx& offset) {
  bool inside = true;
  offset = p.base + t.feature * w.feature_stride;
  SHLO_UNROLL for (int d = 0; d < RANK; ++d) {
    const idx number = w.reversed[d] ? w.taps[d] - 1 - t.number[d] : t.number[d];
    idx at = p.origin[d] + number * w.spacing[d];
    if (w.spread[d] != 1) {
      inside &= at % w.spread[d] == 0;
      at = at < 0 ? -1 : at / w.spread[d];
    }
    inside &= at >= 0 && at < w.sizes[d];
    offset += at * w.in_strides[d];
  }
  return inside;
}

// The packs of a thread if adjacent threads are adjacent in the extent, and packs run along the depth.
template <class T_, int EXTENT_, int THREADS>
struct Across {
  typedef T_ T;
  static constexpr bool ALONG_K = true;
  static constexpr int EXTENT = EXTENT_, N = lanes_of<T>, COUNT = EXTENT * depth_of<T> / N / THREADS, ROWS = 1;
  static SHLO_DEVICE int extent_at(int) { return (int)threadIdx.x % EXTENT; }
  static SHLO_DEVICE int depth_at(int i) { return ((int)threadIdx.x / EXTENT + i * (THREADS / EXTENT)) * N; }
};

// The input at the positions and taps of a tile; packs, where possible, run along the features of one tap.
template <class P, int RANK, bool FEATURE_INNER>
struct Gathered : P {
  typedef typename P::T T;
  const T* start;
  const Window<RANK>& w;
  int left;
  bool packs;
  Place<RANK> places[P::ROWS];

  SHLO_DEVICE Gathered(const T* start_, const Window<RANK>& w_, idx first, idx left_)
      : start(start_), w(w_), left(at_most(left_, P::EXTENT)) {
    packs = P::ROWS > 1 && FEATURE_INNER && w.feature_stride == 1 && has_packs(start, w.batch_stride, w.features);
    SHLO_UNROLL for (int d = 0; d < RANK; ++d) packs &= w.in_strides[d] % P::N == 0;
    SHLO_UNROLL for (int r = 0; r < P::ROWS; ++r) places[r] = place_of(w, first + P::extent_at(r));
  }

  SHLO_DEVICE void fetch(idx k0, idx k1, Pack<T, P::N> (&out)[P::COUNT]) const {
    if (packs) {
      const idx k = k0 + P::depth_at(0);
      const Tap<RANK> tap = tap_of<FEATURE_INNER>(w, k);
      SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
        idx offset;
        const bool exists = reads(w, places[i % P::ROWS], tap, offset) && k < k1 && P::extent_at(i) < left;
        if (exists) out[i] = pack_load<P::N>(start + offset);
        else out[i] = Pack<T, P::N>{};
      }
    } else {
      SHLO_UNROLL for (int j = 0; j < P::N; ++j) {
        SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
          const idx k = k0 + P::depth_at(i) + j;
          idx offset;
          const bool exists = reads(w, places[i % P::ROWS], tap_of<FEATURE_INNER>(w, k), offset);
          out[i].at[j] = exists && k < k1 && P::extent_at(i) < left ? start[offset] : T{};
        }
      }
    }
  }
};

// Strides of weights by tap and feature: the depth has no single stride.
template <int RANK>
struct WeightStrides {
  idx feature, column, taps[RANK];
  SHLO_DEVICE idx offset(const Tap<RANK>& t) const {
    idx sum = t.feature * feature;
    SHLO_UNROLL for (int d = 0; d < RANK; ++d) sum += t.number[d] * taps[d];
    return sum;
  }
};

template <class P, int RANK, bool FEATURE_INNER>
struct Weights : P {
  typedef typename P::T T;
  const T* start;
  const Window<RANK>& w;
  const WeightStrides<RANK>& strides;
  int left;
  bool packs;

  SHLO_DEVICE Weights(const T* start_, const Window<RANK>& w_, const WeightStrides<RANK>& strides_, idx left_)
      : start(start_), w(w_), strides(strides_), left(at_most(left_, P::EXTENT)) {
    packs = P::ALONG_K ? FEATURE_INNER && strides.feature == 1 && has_packs(start, strides.column, w.features)
                       : strides.column == 1 && has_packs(start, strides.feature, left);
    SHLO_UNROLL for (int d = 0; d < RANK; ++d) packs &= strides.taps[d] % P::N == 0;
  }

  SHLO_DEVICE void fetch(idx k0, idx k1, Pack<T, P::N> (&out)[P::COUNT]) const {
    SHLO_UNROLL for (int i = 0; i < P::COUNT; ++i) {
      const idx k = k0 + P::depth_at(i);
      const int x = P::extent_at(i);
      out[i] = Pack<T, P::N>{};
      if (packs) {
        if (k < k1 && x < left) out[i] = pack_load<P::N>(start + x * strides.column + strides.offset(tap_of<FEATURE_INNER>(w, k)));
      } else {
        SHLO_UNROLL for (int j = 0; j < P::N; ++j) {
          const idx kj = P::ALONG_K ? k + j : k;
          const int xj = P::ALONG_K ? x : x + j;
          if (kj < k1 && xj < left) out[i].at[j] = start[xj * strides.column + strides.offset(tap_of<FEATURE_INNER>(w, kj))];
        }
      }
    }
  }
};

// ---- tap by tap: for groups of few features --------------------------------------------------------------------------

// The index that one tap reads along spatial dim d, and whether it is inside the input; outside, zeros are multiplied.
template <int RANK>
SHLO_DEVICE bool along(const Window<RANK>& w, const Place<RANK>& p, int d, idx tap, idx& at) {
  at = p.origin[d] + (w.reversed[d] ? w.taps[d] - 1 - tap : tap) * w.spacing[d];
  bool inside = at >= 0;
  if (w.spread[d] != 1) {
    inside &= at % w.spread[d] == 0;
    at /= w.spread[d];
  }
  return inside & (at < w.sizes[d]);
}

// Accumulates N adjacent output features, each with its own input feature if N > 1.
template <int N, int D = 0, int RANK, class T>
SHLO_DEVICE void add_taps(value_t<T> (&sums)[N], const T* input, const T* weights, const Window<RANK>& w,
                          const WeightStrides<RANK>& strides, const Place<RANK>& place, bool inside) {
  if constexpr (D == RANK) {
    for (idx f = 0; f < (N == 1 ? w.features : 1); ++f) {
      Pack<T, N> x{};
      if (inside) x = pack_load<N>(input + f * w.feature_stride);
      const Pack<T, N> y = pack_load<N>(weights + f * strides.feature);
      SHLO_UNROLL for (int k = 0; k < N; ++k) sums[k] += value(x.at[k]) * value(y.at[k]);
    }
  } else {
    for (idx tap = 0; tap < w.taps[D]; ++tap) {
      idx at;
      const bool here = inside & along(w, place, D, tap, at);
      add_taps<N, D + 1>(sums, input + at * w.in_strides[D], weights + tap * strides.taps[D], w, strides, place, here);
    }
  }
}

template <int RANK, class T>
SHLO_DEVICE value_t<T> convolve(const T* input, const T* weights, const Window<RANK>& w, const WeightStrides<RANK>& strides,
                                idx row) {
  const Place<RANK> place = place_of(w, row);
  value_t<T> sums[1] = {};
  add_taps<1>(sums, input + place.base, weights, w, strides, place, true);
  return sums[0];
}

// Groups of one feature, in packs: elements from `first` on of rows of `columns`, one pack per thread. Results go
// through shared memory to the epilogue, so that stores are coalesced.
constexpr int point_threads = 256;
template <class T> constexpr int point_bytes = point_threads * lanes_of<T> * (int)sizeof(value_t<T>);
template <int RANK, class T, class Epilogue>
SHLO_DEVICE void convolve_packs(const T* input, const T* weights, const Window<RANK>& w, const WeightStrides<RANK>& strides,
                                int64_t first, int64_t count, idx columns, char* shared, Epilogue epilogue) {
  typedef value_t<T> Sum;
  constexpr int N = lanes_of<T>;
  Sum* const s = (Sum*)shared;
  Sum sums[N] = {};
  const int64_t at = first + (int)threadIdx.x * N;
  if (at < count) {
    const Place<RANK> place = place_of(w, (idx)(at / columns));
    const idx j = (idx)(at % columns);
    add_taps<N>(sums, input + place.base + j, weights + j, w, strides, place, true);
  }
  __syncthreads();
  SHLO_UNROLL for (int k = 0; k < N; ++k) s[(int)threadIdx.x * N + k] = sums[k];
  __syncthreads();
  for (int e = threadIdx.x; e < point_threads * N; e += point_threads)
    if (first + e < count) epilogue(s[e], (idx)((first + e) / columns), (idx)((first + e) % columns));
}
