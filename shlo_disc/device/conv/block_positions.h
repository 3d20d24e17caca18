// The positions that one block of columns computes at a time, and copies of the input lines that they read.
#pragma once
#include "conv/block_plan.h"

namespace {

constexpr int64_t MOST_PHASES = 144;  // with more, positions are not sorted by phase

template <class E, class A>
class BlockPositions : public BlockPlan<E, A> {
 protected:
  typedef BlockPlan<E, A> Base;
  typedef Memory<E> M;
  typedef typename A::Memory S;
  using Base::p, Base::m, Base::x_axis, Base::input, Base::columns, Base::padded, Base::depthwise,
      Base::lines_per_output, Base::copied, Base::merged, Base::dilated, Base::chunk, Base::segment, Base::slot_count,
      Base::line_width, Base::pixel;

  using Base::Base;

  // Lists positions from `first`, as many as fit into the scratch memory.
  SHLO_ONCE int64_t take_positions(int64_t first, int64_t last) {
    const int64_t limit = smallest(last - first, chunk);
    int64_t at[4], rest = first;  // batch and output position
    for (int k = 3; k > 0; --k) {
      at[k] = rest % p.axis[k - 1].out;
      rest /= p.axis[k - 1].out;
    }
    at[0] = rest;
    Place begin[3], now[3], by[3];
    for (int k = 0; k < 3; ++k) {
      begin[k] = p.axis[k].place(p.axis[k].start(0));
      now[k] = p.axis[k].place(p.axis[k].start(at[k + 1]));
      by[k] = p.axis[k].place(p.axis[k].step);
    }
    int64_t line = -1, n = 0;
    used_slots = 0;
    while (n < limit) {
      const S* image = input + at[0] * p.batch_stride;
      if (copied && (n == 0 || at[3] == 0)) {
        if (segment > 0 && n > 0) break;
        if (!take_line(++line, image, at)) break;
      }
      const int64_t count = smallest(limit - n, x_axis.out - at[3]);
      list_line(n, count, (int64_t)image, now, by[2], line);
      n += count;
      at[3] = 0;
      now[2] = begin[2];
      for (int k = 2; k >= 0; --k) {
        ++at[k];
        if (k > 0) now[k - 1] = p.axis[k - 1].behind(now[k - 1], by[k - 1]);
        if (k == 0 || at[k] < p.axis[k - 1].out) break;
        at[k] = 0;
        now[k - 1] = begin[k - 1];
      }
    }
    if (copied) place_lines(n);
    if (dilated) sort_positions(n);
    m.positions.repeat_last(n);
    return n;
  }

  // Lists `count` positions of an output line from row n on, and up to seven more that are overwritten later. They
  // differ only along the line, by `by` from one to the next.
  void list_line(int64_t n, int64_t count, int64_t image, const Place (&begin)[3], Place by, int64_t line) {
    Positions<M::ROWS>& to = m.positions;
    Place x = begin[2];
    const int64_t phase = (begin[0].rest * p.axis[1].hole + begin[1].rest) * x_axis.hole;
    const eight each = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int64_t i = n; i < n + count; i += 8) {
      write_eight(to.image + i, eight{} + image);
      write_eight(to.index[0] + i, eight{} + begin[0].index);
      write_eight(to.index[1] + i, eight{} + begin[1].index);
      write_eight(to.index[2] + i, (each + (i - n)) * by.index + x.index);
      write_eight(to.phase + i, eight{} + phase);
      write_eight(to.line + i, eight{} + line);
      write_eight(to.row + i, each + i);
    }
    for (int64_t i = n; x_axis.hole != 1 && i < n + count; ++i, x = x_axis.behind(x, by)) {
      to.index[2][i] = x.index;
      to.phase[i] += x.rest;
    }
  }

  // Lists the input lines that an output line needs; lines shared with the previous output line are listed once.
  SHLO_ONCE bool take_line(int64_t line, const S* image, const int64_t* at) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const int64_t count = lines_per_output, before = used_slots;
    if ((line + 1) * count > M::LINE_TAPS) return false;
    int32_t* const slots = m.slots + line * count;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t y0 = a.index(a.start(at[1]) + k / b.taps * a.gap);
      const int64_t y1 = b.index(b.start(at[2]) + k % b.taps * b.gap);
      slots[k] = -1;
      if (y0 < 0 || y1 < 0) continue;
      const S* const source = image + y0 * a.in_stride + y1 * b.in_stride;
      for (int64_t i = 1; i <= count && line > 0 && slots[k] < 0; ++i) {
        const int32_t known = m.slots[line * count - i];
        if (known >= 0 && m.sources[known] == source) slots[k] = known;
      }
      if (slots[k] >= 0) continue;
      if (used_slots == slot_count) {
        used_slots = before;
        return false;
      }
      m.sources[used_slots] = source;
      slots[k] = (int32_t)used_slots++;
    }
    return true;
  }

  // Which part of the lines is copied for `rows` positions: for a single output line, only what its windows cover.
  void place_lines(int64_t rows) {
    x_first = merged ? -x_axis.low : 0;
    x_count = line_width;
    if (m.positions.line[0] != m.positions.line[rows - 1]) return;
    const int64_t from = m.positions.index[2][0], last = m.positions.index[2][rows - 1];
    const int64_t reach = (x_axis.taps - 1) * x_axis.gap + m.positions.phase[rows - 1] % x_axis.hole;
    const int64_t to = last + reach / x_axis.hole;
    x_first = merged ? from : largest(from, 0);
    x_count = merged ? to - from + 1 : largest(smallest(to, x_axis.in - 1) - x_first + 1, 0);
  }

  // Stable counting sort of the positions by phase.
  SHLO_ONCE void sort_positions(int64_t rows) {
    const int64_t phases = p.axis[0].hole * p.axis[1].hole * p.axis[2].hole;
    if (phases > MOST_PHASES) return;
    int64_t begin[MOST_PHASES + 1] = {};
    for (int64_t i = 0; i < rows; ++i) ++begin[m.positions.phase[i] + 1];
    for (int64_t k = 0; k < phases; ++k) begin[k + 1] += begin[k];
    m.unsorted = m.positions;
    for (int64_t i = 0; i < rows; ++i) m.positions.set(begin[m.unsorted.phase[i]]++, m.unsorted, i);
  }

  // How many consecutive positions from `first` on have its phase, at most `most`: they see the same holes.
  int64_t alike(int64_t first, int64_t most) const {
    if (!dilated) return most;
    int64_t n = 1;
    while (n < most && m.positions.phase[first + n] == m.positions.phase[first]) ++n;
    return n;
  }

  // Copies the listed lines to [line][x][feature], with zeros where there is no input. In ascending order, because
  // the transposition writes past the end.
  SHLO_ONCE void copy_lines(const Part& part) {
    const int64_t from_channel = part.c0 * A::step, width = depthwise ? padded : part.cn;
    const int64_t features = depthwise ? columns : smallest(part.cn * A::step, p.channels - from_channel);
    const int64_t begin = smallest(largest(-x_first, 0), x_count);
    const int64_t count = largest(smallest(x_count, x_axis.in - x_first) - begin, 0), end = begin + count;
    pixel = width;
    for (int64_t slot = 0; slot < used_slots; ++slot) {
      E* const line = m.lines + slot * x_count * width;
      E* const to = line + begin * width;
      const S* const from =
          (const S*)m.sources[slot] + from_channel * p.feature_stride + (x_first + begin) * x_axis.in_stride;
      __builtin_memset(line, 0, begin * width * sizeof(E));
      if ((p.feature_stride == 1 || features == 1) && x_axis.in_stride == features && features == width * A::step) {
        __builtin_memcpy(to, from, count * width * sizeof(E));
      } else if (x_axis.in_stride == 1 && features > 1) {
        if constexpr (A::step == 1) transpose_features(to, width, from, p.feature_stride, count, features);
        else transpose_quads<A>([=](int64_t x) { return to + x * width; }, from, p.feature_stride, count, features);
      } else if (A::step == 1 && x_axis.in_stride == 2 && features > 1) {
        transpose_features(to, width, (const E*)from, p.feature_stride, count, features, 2);
      } else {
        if (features < width * A::step && !depthwise) __builtin_memset(to, 0, count * width * sizeof(E));
        for (int64_t x = 0; x < count; ++x)
          for (int64_t f = 0; f < features; ++f)
            ((S*)(to + x * width))[f] = from[x * x_axis.in_stride + f * p.feature_stride];
      }
      __builtin_memset(line + end * width, 0, (x_count - end) * width * sizeof(E));
    }
  }

  // The copied lines of the chunk of positions.
  int64_t used_slots, x_first, x_count;
};

}  // namespace
