// Packing of the weights of a block of features: of the type of the sums, or bf16 and f16 converted to f32.
#pragma once
#include "conv/problem.h"
#include "gemm/kinds.h"

namespace {

// Up to a vector of weights, then zeros.
template <class E, class S>
SHLO_INLINE register_t<E> read_weights(const S* p, int64_t n) {
  typedef Real<S, E> Kind;
  return n >= LANES<E> ? Kind::read(p) : Kind::read_n(p, n);
}

// Whether the weights of an output feature are contiguous in memory, taps fastest.
template <class E, class S>
bool is_feature_major(const Problem<E, S>& p) {
  const Axis* a = p.axis;
  return p.kernel_out_stride != 1 && p.kernel_in_stride == p.taps() && (a[2].taps == 1 || a[2].kernel_stride == 1) &&
         (a[1].taps == 1 || a[1].kernel_stride == a[2].taps) &&
         (a[0].taps == 1 || a[0].kernel_stride == a[1].taps * a[2].taps);
}

// A panel of feature-major weights (taps fastest): square blocks are transposed, and their rows scattered.
template <class E, class S>
void pack_transposed(const S* from, int64_t stride, int64_t features, int64_t channels, int64_t taps, E* to, int64_t wide) {
  constexpr int64_t N = LANES<E>;
  alignas(64) E square[N * N], lines[N * N];
  for (int64_t j = 0; j < wide; j += N) {
    int64_t tap = 0;
    E* row = to + j;  // of this tap and channel
    for (int64_t x = 0; x < channels * taps; x += N) {
      const int64_t count = smallest(N, channels * taps - x), height = smallest(N, features - j);
      const S* const corner = from + x + j * stride;
      if constexpr (same<E, S>) {
        transpose_block(corner, stride, count, height, square, N, 1);
      } else {
#pragma GCC unroll 1
        for (int64_t f = 0; f < height; ++f) write(lines + f * N, read_weights<E>(corner + f * stride, count));
        transpose_block<E>(lines, N, N, height, square, N, 1);
      }
#pragma GCC unroll 1
      for (int64_t i = 0; i < count; ++i) {
        write(row, read(square + i * N));
        row += channels * wide;
        if (++tap == taps) {
          tap = 0;
          row -= (channels * taps - 1) * wide;
        }
      }
    }
  }
}

// `wide` weights of a tap and channel, zeros after the first `width`.
template <class E, class S>
SHLO_INLINE void pack_row(const S* from, int64_t stride, int64_t width, int64_t wide, E* to) {
  for (int64_t i = 0; i < wide; i += LANES<E>) {
    const int64_t n = smallest(width - i, LANES<E>);
    if (stride == 1) {
      write(to + i, read_weights<E>(from + i, n));
    } else {
      S lanes[LANES<E>] = {};
      for (int64_t k = 0; k < n; ++k) lanes[k] = from[(i + k) * stride];
      write(to + i, read_weights<E>(lanes, LANES<E>));
    }
  }
}

// Channels [c0, c0 + cn) of taps [t0, t1), for `columns` features from `kernel` on: [panel][tap][channel][column], columns
// rounded up to vectors.
template <class E, class S>
void pack_numbers(const Problem<E, S>& p, const S* kernel, int64_t columns, int64_t panel, int64_t c0, int64_t cn,
                  int64_t t0, int64_t t1, E* to) {
  const bool is_transposed = t1 - t0 == p.taps() && is_feature_major(p);
  for (int64_t j = 0; j < columns; j += panel) {
    const int64_t width = smallest(panel, columns - j), wide = round_up(width, LANES<E>);
    const S* const from = kernel + c0 * p.kernel_in_stride + j * p.kernel_out_stride;
    if (is_transposed) {
      pack_transposed(from, p.kernel_out_stride, width, cn, p.taps(), to, wide);
      to += cn * p.taps() * wide;
      continue;
    }
    for (int64_t t = t0; t < t1; ++t)
      for (int64_t c = 0; c < cn; ++c, to += wide)
        pack_row(from + p.tap_offset(t) + c * p.kernel_in_stride, p.kernel_out_stride, width, wide, to);
  }
}

}  // namespace

// NAME: the type of weights.
#define SHLO_CONVOLUTION_WEIGHTS(name, S)                                                                             \
  void shlo_conv_weights_##name(const ShloConv* conv, int64_t feature, int64_t columns, int64_t panel, int64_t c0,   \
                                int64_t cn, int64_t t0, int64_t t1, void* to) {                                      \
    const Problem<float, S> p = normalize<float, S>(*conv);                                                          \
    pack_numbers(p, p.kernel + feature * p.kernel_out_stride, columns, panel, c0, cn, t0, t1, (float*)to);           \
  }
