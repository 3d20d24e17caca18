// The products of one block of columns: finds the input of a strip of positions, and multiplies it by the weights.
#pragma once
#include "conv/block_positions.h"

namespace {

template <class E, class A, bool GROUPED>
class BlockProduct : public BlockPositions<E, A> {
 protected:
  typedef BlockPositions<E, A> Base;
  typedef Memory<E> M;
  typedef typename A::Memory S;
  using Base::p, Base::m, Base::x_axis, Base::feature, Base::columns, Base::padded, Base::depthwise, Base::channels,
      Base::lines_per_output, Base::taps, Base::together, Base::copied, Base::merged, Base::unpacked, Base::cached,
      Base::ready, Base::dilated, Base::gaps, Base::panel, Base::full, Base::x_taps, Base::pixel, Base::run_length,
      Base::x_first, Base::x_count, Base::alike;

  using Base::Base;

  // Multiplies `rows` positions of the chunk; unless positions are sorted, `first` goes to the first row of the tile.
  void multiply_rows(int64_t first, int64_t rows, const Part& part, bool add) {
    const int64_t run = run_length(part);
    const E* const weights = cached ? m.weights + part.before * padded : m.weights;
    for (int64_t i = 0; i < rows;) {
      const int64_t left = alike(first + i, smallest(rows - i, full));
      const int64_t height = strip_of(left, full), count = smallest(height, left);
      if (!dilated && count == height) {
        const eight each = {0, 1, 2, 3, 4, 5, 6, 7};
        const eight out = each * (COLUMNS * M::SIZE) + (int64_t)(m.tile + i * COLUMNS);
        __builtin_memcpy(m.strip.out, &out, sizeof out);
        const eight more = out + 8 * COLUMNS * M::SIZE;
        __builtin_memcpy(m.strip.out + 8, &more, sizeof more);
      } else {
        for (int64_t r = 0; r < height; ++r)
          m.strip.out[r] = m.tile + (r < count ? m.positions.row[first + i + r] - first : M::ROWS) * COLUMNS;
      }
      m.strip.next = 0;
      const int64_t line = m.positions.line[first + i];
      if (merged && count == height && m.positions.line[first + i + count - 1] == line) find_runs(first + i, line, part);
      else if (height > 8) find_inputs<2>(first + i, height, count, part);
      else find_inputs<1>(first + i, height, count, part);
      const int64_t most = together > 1 ? panel : A::panel * LANES<E>;
      for (int64_t j = 0; j < columns; j += most) {
        const int64_t width = smallest(most, columns - j), wide = round_up(width, LANES<E>);
        if constexpr (GROUPED)
          if (depthwise) {
            const int64_t last = j + (copied ? wide : width) - LANES<E>;
            const Panel<E> panel = {weights, padded, 0, j, last};
            choose<E, Kernels<E, A>::template Depthwise>(height, wide / LANES<E>)(m.strip, run, panel, add);
            continue;
          }
        const int64_t step = channels * (merged ? x_axis.taps : 1);
        const E* const kernel = (const E*)p.kernel + feature * p.kernel_out_stride;
        Panel<E> panel = unpacked ? Panel<E>{kernel + j, 1, p.kernel_in_stride, j, 0}
                         : ready  ? Panel<E>{ready + j * taps * channels + (part.t0 * step + part.c0) * wide,
                                             step * wide, wide, j, 0}
                                  : Panel<E>{weights + j * part.tn * run, run * wide, wide, j, 0};
        if (together > 1) panel.input = j / p.features * p.group_stride;
        choose<E, Kernels<E, A>::template Dense, A::panel>(height, wide / LANES<E>)(m.strip, run, panel, add);
      }
      i += count;
    }
  }

  // The runs of merged taps for positions of one output line: pointers for the first, and the step to the next.
  void find_runs(int64_t first, int64_t line, const Part& part) {
    Strip<E>& s = m.strip;
    const int32_t* const slots = m.slots + line * lines_per_output;
    const E* const begin = m.lines + (m.positions.index[2][first] - x_first) * pixel;
    const int64_t size = x_count * pixel;
    int64_t n = 0;
    for (int64_t t = part.t0; t < part.t0 + part.tn; ++t) {
      s.input[n] = begin + slots[t] * size;
      s.weights[n] = t - part.t0;
      n += slots[t] >= 0;
    }
    s.taps = n;
    s.next = x_axis.step * pixel;
  }

  // The input pointers of positions [first, first + height), of which `count` are needed. Eight or sixteen are
  // written for each tap; the next tap overwrites the surplus, or everything if the tap is only padding. Taps in
  // holes are skipped.
  template <int HALVES>
  void find_inputs(int64_t first, int64_t height, int64_t count, const Part& part) {
    Strip<E>& s = m.strip;
    const int64_t scale = pixel * (copied ? M::SIZE : sizeof(S)), end = part.t0 + part.tn;
    const eight nothing = eight{} + (int64_t)m.zeros;
    const E** to = s.input;
    s.taps = 0;
    int64_t k = part.t0 > 0 ? part.t0 / x_taps : 0, k0 = k > 0 ? k / p.axis[1].taps : 0, k1 = k - k0 * p.axis[1].taps;
    const uint32_t phase = dilated ? (uint32_t)m.positions.phase[first] : 0;
    const uint32_t hole1 = (uint32_t)p.axis[1].hole, hole2 = (uint32_t)x_axis.hole;
    int64_t rest[3] = {};
    if (dilated) {
      rest[0] = phase / hole2 / hole1;
      rest[1] = phase / hole2 % hole1;
      rest[2] = phase % hole2;
    }
    // If all positions are of one output line, copied lines are looked up once.
    const int64_t output_line = m.positions.line[first];
    const bool is_one_line = copied && m.positions.line[first + count - 1] == output_line;
    eight index[HALVES], along[HALVES];
    UNROLL for (int h = 0; h < HALVES; ++h) {
      index[h] = read_eight(m.positions.index[2] + first + 8 * h);
      along[h] = index[h] * scale;
    }
    // Offsets from the beginning of a window to the tap, by axis.
    const Place begin1 = {0, rest[1]}, begin2 = {0, rest[2]};
    Place to0 = tap_of(0, k0, rest[0]), to1 = tap_of(1, k1, rest[1]), to2 = tap_of(2, part.t0 - k * x_taps, rest[2]);
    for (int64_t t = part.t0; t < end; ++k) {
      const int64_t stop = smallest(end, (k + 1) * x_taps);
      const Place line_to[2] = {to0, to1};
      to1 = p.axis[1].behind(to1, gaps[1]);
      if (++k1 == p.axis[1].taps) {
        k1 = 0;
        to1 = begin1;
        to0 = p.axis[0].behind(to0, gaps[0]);
      }
      Place x = to2;
      to2 = begin2;
      if (line_to[0].rest != 0 || line_to[1].rest != 0) {
        t = stop;
        continue;
      }
      eight line[HALVES], inside[HALVES];
      bool is_any;
      if (is_one_line) {
        const int64_t slot = m.slots[output_line * lines_per_output + k];
        is_any = slot >= 0;
        UNROLL for (int h = 0; h < HALVES; ++h) {
          line[h] = along[h] + ((slot * x_count - x_first) * scale + (int64_t)m.lines);
          inside[h] = ~eight{};
        }
      } else {
        UNROLL for (int h = 0; h < HALVES; ++h) {
          if (copied) find_copied_line(first + 8 * h, k, line[h], inside[h]);
          else find_line(first + 8 * h, line_to[0].index, line_to[1].index, part.c0, line[h], inside[h]);
          line[h] += along[h];
        }
        is_any = any(inside[0] | inside[HALVES - 1]);
      }
      if (!is_any) {
        t = stop;
        continue;
      }
      for (; t < stop; ++t, x = x_axis.behind(x, gaps[2])) {
        if (x.rest != 0) continue;
        const int64_t step = x.index;
        eight found = {};
        UNROLL for (int h = 0; h < HALVES; ++h) {
          eight valid = inside[h], address = line[h] + step * scale;
          if (!merged) valid &= (index[h] >= -step) & (index[h] < x_axis.in - step);
          address = valid ? address : nothing;
          __builtin_memcpy(to + 8 * h, &address, sizeof address);
          found |= valid;
        }
        if (dilated && !any(found)) continue;
        s.weights[s.taps++] = unpacked ? p.tap_offset(t) : t - part.t0;
        to += height;
      }
    }
  }

  // Offset from the beginning of a window, `rest` behind an input index, to a tap.
  Place tap_of(int axis, int64_t tap, int64_t rest) const {
    return tap == 0 ? Place{0, rest} : p.axis[axis].place(tap * p.axis[axis].gap + rest);
  }

  // Addresses of the input lines `step0`, `step1` behind the windows of eight positions, and whether they exist.
  __attribute__((always_inline)) void find_line(int64_t first, int64_t step0, int64_t step1, int64_t c0, eight& line,
                                                eight& inside) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const eight y0 = read_eight(m.positions.index[0] + first) + step0;
    const eight y1 = read_eight(m.positions.index[1] + first) + step1;
    inside = (y0 >= 0) & (y0 < a.in) & (y1 >= 0) & (y1 < b.in);
    constexpr int64_t SIZE = sizeof(S);
    line = read_eight(m.positions.image + first) + y0 * (a.in_stride * SIZE) + y1 * (b.in_stride * SIZE) +
           c0 * A::step * p.feature_stride * SIZE;
  }
  __attribute__((always_inline)) void find_copied_line(int64_t first, int64_t k, eight& line, eight& inside) {
    const int64_t* const lines = m.positions.line + first;
    for (int i = 0; i < 8; ++i) line[i] = m.slots[lines[i] * lines_per_output + k];
    inside = line >= 0;
    line = (line * x_count - x_first) * (pixel * M::SIZE) + (int64_t)m.lines;
  }
};

}  // namespace
