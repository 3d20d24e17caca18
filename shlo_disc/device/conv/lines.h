// Depthwise convolutions with windows as long as the lines of the input, features first: gradients of depthwise weights. Lanes
// are taps along a line. A line of the input is read once for up to three positions of up to three output lines, at
// each position's offset, under masks that are 0 in the padding: nothing is copied, even for short lines.
//
// A position's sum is accumulated in the order of channels, lines, taps, however the work is divided.
#pragma once
#include "conv/problem.h"

namespace {

// The lanes in the mask, zeros elsewhere; memory of other lanes is not read.
template <class E>
SHLO_INLINE register_t<E> read_lanes(const E* p, uint32_t mask) {
#ifdef SHLO_AVX512
  return load_masked<register_t<E>>(p, mask);
#else
  if (mask == (1u << LANES<E>) - 1) return read(p);
  register_t<E> v = {};
  for (int64_t i = 0; i < LANES<E>; ++i)
    if (mask >> i & 1) v[i] = p[i];
  return v;
#endif
}
// Elements `gap` apart; GAP is this gap, or 0 for any. If GAP > 0, the mask has a bit for each element of memory from
// the first to the last, else one for each lane.
template <int GAP, class E>
SHLO_INLINE register_t<E> read_apart(const E* p, int64_t gap, uint32_t mask) {
  constexpr int L = LANES<E>;
  if constexpr (GAP == 0) {
    register_t<E> v = {};
    for (int i = 0; i < L; ++i)
      if (mask >> i & 1) v[i] = p[i * gap];
    return v;
  } else if constexpr (GAP == 1) return read_lanes(p, mask);
  else return take_even(read_lanes(p, mask & ((1u << L) - 1)), read_lanes(p + L, mask >> L), typename AllLanes<L>::type());
}

constexpr int MOST_LINES = 3, MOST_PLACES = 3;  // output lines, and positions in each, with sums in registers

// An input line, and for each output line the line of the window that covers it, or -1.
struct Meeting {
  int64_t input, weights[MOST_LINES];
};
// Independent of the feature: the lines, and for each vector of taps the masks of the positions, then that of the
// window.
struct Meetings {
  const Meeting* lines;
  int64_t count;
  const uint32_t* masks;  // [vectors][MOST_PLACES + 1]
  int64_t vectors, gap;
  int64_t begin[MOST_PLACES];  // index in the input line
};

// Prefetches 4 KB ahead: hardware does not detect a stream in lines that are read several times at irregular distances
// (16 images of 112 x 112 with strides take 3.3 ms, 10 ms without the prefetch).
template <class E>
SHLO_INLINE void prefetch(const E* now) {
  __builtin_prefetch(now + 4096 / sizeof(E));
}

template <class E>
using AddMeetings = void (*)(const Meetings& all, const E* input, const E* weights, register_t<E>* sums);

// Adds all lines to the sums of R output lines and O positions in each.
template <class E, int R, int O, int GAP>
void add_meetings(const Meetings& all, const E* input, const E* weights, register_t<E>* sums) {
  constexpr int64_t L = LANES<E>;
  register_t<E> sum[R][O];
  UNROLL for (int r = 0; r < R; ++r)
    UNROLL for (int o = 0; o < O; ++o) sum[r][o] = sums[r * O + o];
  for (const Meeting* line = all.lines; line < all.lines + all.count; ++line) {
    const E* x = input + line->input;
    const uint32_t* mask = all.masks;
    for (int64_t v = 0; v < all.vectors; ++v, x += L * all.gap, mask += MOST_PLACES + 1) {
      register_t<E> seen[O];
      UNROLL for (int g = 0; g < GAP; ++g) prefetch(x + g * L);
      UNROLL for (int o = 0; o < O; ++o) seen[o] = read_apart<GAP>(x + all.begin[o], all.gap, mask[o]);
      UNROLL for (int r = 0; r < R; ++r) {
        if (line->weights[r] < 0) continue;
        const E* const window = weights + line->weights[r] + v * L;
        prefetch(window);
        const register_t<E> w = read_lanes(window, mask[MOST_PLACES]);
        UNROLL for (int o = 0; o < O; ++o) sum[r][o] += seen[o] * w;
      }
    }
  }
  UNROLL for (int r = 0; r < R; ++r)
    UNROLL for (int o = 0; o < O; ++o) sums[r * O + o] = sum[r][o];
}

template <class E, int R, int GAP>
AddMeetings<E> by_places(int64_t places) {
  return places == 3 ? add_meetings<E, R, 3, GAP> : places == 2 ? add_meetings<E, R, 2, GAP> : add_meetings<E, R, 1, GAP>;
}
template <class E, int GAP>
AddMeetings<E> by_lines(int64_t lines, int64_t places) {
  return lines == 3 ? by_places<E, 3, GAP>(places) : lines == 2 ? by_places<E, 2, GAP>(places) : by_places<E, 1, GAP>(places);
}

template <class E>
struct LinesMemory {
  static constexpr int64_t ROWS = 64, LINES = 8192, VECTORS = 1024;
  alignas(64) E tile[ROWS * COLUMNS];
  Meeting lines[LINES];
  uint32_t masks[VECTORS * (MOST_PLACES + 1)];
};

template <class E>
bool has_long_lines(const Problem<E>& p) {
  typedef LinesMemory<E> M;
  constexpr int64_t LEAST_TAPS = 8;
  const Axis *a = p.axis, &x = a[2];
  return p.narrow && p.members == 1 && a[0].hole == 1 && a[1].hole == 1 && x.hole == 1 && x.in_stride == 1 &&
         x.kernel_stride == 1 && x.taps >= LEAST_TAPS && x.out <= x.taps && x.taps <= M::VECTORS * LANES<E> &&
         a[0].taps * a[1].in <= M::LINES;
}

// One block of features.
template <class E>
class LinesBlock {
  typedef LinesMemory<E> M;
  static constexpr int64_t L = LANES<E>;

 public:
  LinesBlock(const Problem<E>& problem, M& memory, const E* input, const E* kernel, int64_t columns)
      : p(problem), m(memory), x_axis(problem.axis[2]), input(input), kernel(kernel), columns(columns) {}

  void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    for (; first < last; first += M::ROWS) {
      const int64_t rows = smallest(M::ROWS, last - first);
      for (int64_t row = 0; row < rows;) {
        const Segment segment = segment_at(first + row, rows - row);
        list_lines(segment);
        for (int64_t place = 0; place < segment.length; place += MOST_PLACES)
          add_places(segment, place, smallest(segment.length - place, MOST_PLACES), row);
        row += segment.lines * segment.length;
      }
      epilogue(context, m.tile, COLUMNS, first, rows, j0, columns);
    }
  }

 private:
  // Positions [x, x + length) of one or more output lines; several are whole lines.
  struct Segment {
    int64_t x, length, lines, o0, o1;
    const E* image;
  };

  Segment segment_at(int64_t position, int64_t most) const {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const int64_t x = position % x_axis.out, line = position / x_axis.out, rest = line / b.out, o1 = line % b.out;
    const int64_t length = smallest(most, x_axis.out - x);
    const int64_t lines = length < x_axis.out || x_axis.gap > 2 ? 1 : smallest(smallest(most / length, MOST_LINES), b.out - o1);
    return {x, length, lines, rest % a.out, o1, input + rest / a.out * p.batch_stride};
  }

  // Lists the input lines that the windows of a segment see.
  void list_lines(const Segment& segment) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    all.lines = m.lines;
    all.count = 0;
    for (int64_t k0 = 0; k0 < a.taps; ++k0) {
      const int64_t y0 = a.index(a.start(segment.o0) + k0 * a.gap);
      for (int64_t y1 = 0; y0 >= 0 && y1 < b.in; ++y1) {
        Meeting line = {y0 * a.in_stride + y1 * b.in_stride, {-1, -1, -1}};
        bool met = false;
        for (int64_t r = 0; r < segment.lines; ++r) {
          const int64_t behind = y1 - b.start(segment.o1 + r);
          if (behind < 0 || behind % b.gap != 0 || behind / b.gap >= b.taps) continue;
          line.weights[r] = weights_of(k0, behind / b.gap);
          met = true;
        }
        if (met) m.lines[all.count++] = line;
      }
    }
  }
  // Offset of a window line from the lowest in memory (not the first if the window is reversed).
  int64_t weights_of(int64_t k0, int64_t k1) const {
    return k0 * p.axis[0].kernel_stride + k1 * p.axis[1].kernel_stride - lowest;
  }

  void add_places(const Segment& segment, int64_t place, int64_t places, int64_t row) {
    all.vectors = ceil_div(x_axis.taps, L);
    all.gap = x_axis.gap;
    all.masks = m.masks;
    const int64_t apart = x_axis.gap <= 2 ? x_axis.gap : 1;  // bits
    for (int64_t v = 0; v < all.vectors; ++v) {
      uint32_t* const masks = m.masks + v * (MOST_PLACES + 1);
      const int64_t count = smallest(L, x_axis.taps - v * L);
      for (int64_t o = 0; o < places; ++o) {
        const int64_t start = x_axis.start(segment.x + place + o);
        const Axis::Range seen = x_axis.inside(start + v * L * x_axis.gap, count);
        all.begin[o] = start;
        masks[o] = seen.low < seen.high ? bits((seen.high - 1) * apart + 1) & ~bits(seen.low * apart) : 0;
      }
      masks[MOST_PLACES] = bits(count);
    }
    const AddMeetings<E> add =
        x_axis.gap == 1   ? by_lines<E, 1>(segment.lines, places)
        : x_axis.gap == 2 ? by_lines<E, 2>(segment.lines, places)
                          : by_places<E, 1, 0>(places);
    const int64_t sum_count = segment.lines * places;
    for (int64_t j = 0; j < columns; ++j) {
      register_t<E> sums[round_up(MOST_LINES * MOST_PLACES, 4)] = {};
      for (int64_t c = 0; c < p.channels; ++c)
        add(all, segment.image + j * p.group_stride + c * p.feature_stride,
            kernel + lowest + j * p.kernel_out_stride + c * p.kernel_in_stride, sums);
      E totals[round_up(MOST_LINES * MOST_PLACES, 4)];
      for (int64_t i = 0; i < sum_count; i += 4) sum_of_four<E>(sums + i, totals + i, 1);
      for (int64_t i = 0; i < sum_count; ++i)
        m.tile[(row + i / places * segment.length + place + i % places) * COLUMNS + j] = totals[i];
    }
  }
  static uint32_t bits(int64_t count) { return (uint32_t)((uint64_t(1) << count) - 1); }

  const Problem<E>& p;
  M& m;
  const Axis& x_axis;
  const E *input, *kernel;  // of the first feature
  int64_t columns;
  int64_t lowest = smallest(0, (p.axis[0].taps - 1) * p.axis[0].kernel_stride) +
                   smallest(0, (p.axis[1].taps - 1) * p.axis[1].kernel_stride);
  Meetings all;
};

}  // namespace
