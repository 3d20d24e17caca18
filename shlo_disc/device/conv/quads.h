// Operands of bytes, with four adjacent channels as one 32-bit element: copying, packing, and a scalar fallback.
// Weights are zero-padded to a multiple of four channels.
#pragma once
#include "conv/problem.h"

namespace {

// The first n bytes of a vector widened to elements, then zeros.
template <class A, class S>
SHLO_INLINE typename A::vector read_bytes(const S* p, int64_t n) {
  S bytes[LANES<uint32_t>] = {};
  if (n >= LANES<uint32_t>) return A::read(p);
  if (n > 0) __builtin_memcpy(bytes, p, n);
  return A::read(bytes);
}

// `lanes` adjacent bytes of each of up to four channels.
template <class A, class S>
SHLO_INLINE typename A::vector read_quads(const S* from, int64_t stride, int64_t channels, int64_t lanes) {
  typename A::vector quads = read_bytes<A>(from, channels > 0 ? lanes : 0);
  UNROLL for (int k = 1; k < A::step; ++k)
    if (k < channels) quads = A::join(quads, read_bytes<A>(from + k * stride, lanes), k);
  return quads;
}

// Byte k of to(x)[q] = from[x + (4 q + k) * stride], k < 4; see transpose_features.
template <class A, class S, class To>
SHLO_INLINE void transpose_quads(To to, const S* from, int64_t stride, int64_t width, int64_t channels) {
  constexpr int64_t N = LANES<uint32_t>;
  for (int64_t q = (ceil_div(channels, A::step) - 1) / N * N; q >= 0; q -= N)
    for (int64_t x = 0; x < width; x += N) {
      register_t<uint32_t> square[N];
      for (int64_t i = 0; i < N; ++i) {
        const int64_t channel = (q + i) * A::step;
        square[i] = channel < channels ? read_quads<A>(from + x + channel * stride, stride, channels - channel, width - x)
                                       : register_t<uint32_t>{};
      }
      transpose<uint32_t>(square);
      for (int64_t i = 0; i < smallest(N, width - x); ++i) write(to(x + i) + q, square[i]);
    }
}

// Like pack_weights; channels [c0, c0 + cn) count groups of four.
template <class A, class E, class S>
void pack_quads(const Problem<E, S>& p, const S* kernel, int64_t columns, int64_t panel, int64_t c0, int64_t cn,
                int64_t t0, int64_t t1, E* to) {
  for (int64_t j = 0; j < columns; j += panel) {
    const int64_t width = smallest(panel, columns - j), wide = round_up(width, LANES<E>);
    for (int64_t t = t0; t < t1; ++t)
      for (int64_t c = c0; c < c0 + cn; ++c, to += wide) {
        const S* const from =
            kernel + p.tap_offset(t) + c * A::step * p.kernel_in_stride + j * p.kernel_out_stride;
        const int64_t channels = smallest(A::step, p.channels - c * A::step);
        if (p.kernel_out_stride == 1) {
          for (int64_t i = 0; i < wide; i += LANES<E>)
            write(to + i, read_quads<A>(from + i, p.kernel_in_stride, channels, width - i));
        } else {
          for (int64_t i = 0; i < wide; ++i) {
            S bytes[A::step] = {};
            for (int64_t k = 0; k < channels && i < width; ++k)
              bytes[k] = from[i * p.kernel_out_stride + k * p.kernel_in_stride];
            __builtin_memcpy(to + i, bytes, sizeof bytes);
          }
        }
      }
  }
}

// Positions [first, last) of a column block, for any sizes: a window may be too large for the scratch memory.
template <class E, class S>
void add_one_by_one(const Problem<E, S>& p, const S* input, const S* kernel, int64_t columns, int64_t first, int64_t last,
                    int64_t j0, E* tile, ShloEpilogue epilogue, void* context) {
  const Axis &a = p.axis[0], &b = p.axis[1], &c = p.axis[2];
  for (int64_t row = first; row < last; ++row) {
    const int64_t line = row / c.out, image = line / b.out / a.out;
    __builtin_memset(tile, 0, COLUMNS * sizeof(E));
    for (int64_t t = 0; t < p.taps(); ++t) {
      const int64_t k = t / c.taps, y0 = a.index(a.start(line / b.out % a.out) + k / b.taps * a.gap);
      const int64_t y1 = b.index(b.start(line % b.out) + k % b.taps * b.gap);
      const int64_t x = c.index(c.start(row % c.out) + t % c.taps * c.gap);
      if (y0 < 0 || y1 < 0 || x < 0) continue;
      const S* const from = input + image * p.batch_stride + y0 * a.in_stride + y1 * b.in_stride + x * c.in_stride;
      const S* const by = kernel + p.tap_offset(t);
      for (int64_t f = 0; f < p.channels; ++f)
        for (int64_t j = 0; j < columns; ++j)
          tile[j] += (E)from[f * p.feature_stride] * (E)by[f * p.kernel_in_stride + j * p.kernel_out_stride];
    }
    epilogue(context, tile, COLUMNS, row, 1, j0, columns);
  }
}

}  // namespace
