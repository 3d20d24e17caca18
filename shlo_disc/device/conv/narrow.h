// Convolutions with narrow groups: each has one output feature, or 2, 4 or 8 and as many input features, so that a
// register of features holds whole groups. Lanes are output features: a vector of input features, whose lanes are
// broadcast within their groups, is multiplied by a row of weights. Features (or, with one output feature each, groups)
// are contiguous in memory, and nothing is copied.
//
// Positions of a line whose windows see the same holes of a dilated input (a phase) differ only in where their input
// begins, at a constant distance. So the taps are listed once for each phase of a line or, with one phase, once for all
// consecutive lines that see the same taps. Where windows reach into the padding, they are listed again for each
// position.
#pragma once
#include "conv/problem.h"

namespace {

// Broadcasts member C of each group of F lanes to the group.
template <int F, int C, class V, int... I>
SHLO_INLINE V spread(V x, Lanes<I...>) {
  return __builtin_shufflevector(x, x, (I / F * F + C)...);
}
template <int F, int C, class E>
SHLO_INLINE register_t<E> spread(register_t<E> x) {
  if constexpr (F == 1) return x;
  else return spread<F, C>(x, typename AllLanes<LANES<E>>::type());
}

struct NarrowTap {
  int64_t input, weights;  // offsets; that of the input is relative to the beginning of the window's first line
  int64_t index;           // input index along the line, at the first position of the phase
};

template <class E>
struct NarrowStrip {
  const NarrowTap* taps;
  int64_t count;
  const E *input, *weights;
  int64_t next;                 // input stride between positions
  int64_t row;                  // weights stride between input features of a group
  E* out;
  int64_t out_next;
  bool add;                     // accumulate into `out`
};

// Accumulates one tap for M positions and N vectors of features: input features C to F of each group.
template <class E, class A, int F, int C, int M, int N>
SHLO_INLINE void add_members(const NarrowStrip<E>& strip, register_t<E> (&sum)[M][N], const E* x, const E* w,
                             const int64_t (&at)[N]) {
  register_t<E> row[N];
  UNROLL for (int v = 0; v < N; ++v) row[v] = A::weights(read(w + C * strip.row + at[v]));
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v)
      sum[r][v] = A::multiply_add(sum[r][v], spread<F, C, E>(read(x + r * strip.next + at[v])), row[v]);
  if constexpr (C + 1 < F) add_members<E, A, F, C + 1>(strip, sum, x, w, at);
}

// Sums of M positions and N vectors of features, the first vector at `column`, the last at `last`.
template <class E, class A, int F, int M, int N>
void multiply_narrow(const NarrowStrip<E>& strip, int64_t column, int64_t last) {
  int64_t at[N];
  UNROLL for (int v = 0; v < N; ++v) at[v] = column + v * LANES<E>;
  at[N - 1] = last;
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v)
      sum[r][v] = strip.add ? read(strip.out + r * strip.out_next + at[v]) : register_t<E>{};
  for (int64_t t = 0; t < strip.count; ++t) {
    const E* const x = strip.input + strip.taps[t].input;
    const E* const w = strip.weights + strip.taps[t].weights;
    add_members<E, A, F, 0>(strip, sum, x, w, at);
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(strip.out + r * strip.out_next + at[v], sum[r][v]);
}

template <class E, class A>
class NarrowBlock {
  static constexpr int64_t ROWS = 64;  // most positions of a line at a time; a tile has twice as many
  static constexpr int64_t MOST_TAPS = 512;

 public:
  static constexpr int64_t TILE = 2 * ROWS * COLUMNS;

  NarrowBlock(const Problem<E>& problem, const E* input, const E* kernel, int64_t columns)
      : p(problem), x_axis(problem.axis[2]), input(input), weights(kernel), columns(columns),
        taps(problem.axis[0].taps * problem.axis[1].taps * x_axis.taps),
        period(x_axis.hole / common_divisor(x_axis.step, x_axis.hole)), advance(x_axis.step * period / x_axis.hole),
        has_line_holes(problem.axis[0].hole * problem.axis[1].hole != 1) {}

  // Whether this kernel applies: features are contiguous, and so are weights, or they fit into `room` elements at
  // `copy`.
  bool plan(E* copy, int64_t room) {
    const bool neighbours = p.group_stride == p.members && (p.members == 1 || p.feature_stride == 1);
    if (!neighbours || columns < LANES<E> || p.members > LANES<E>) return false;
    // The last vector may overlap the one before; with several lists of taps, it would add to the same sums twice.
    const int64_t each = p.members == 1 ? p.channels : 1;
    if (taps * each > MOST_TAPS && columns % LANES<E> != 0) return false;
    if (p.kernel_out_stride == 1) return true;
    if (taps * p.channels * COLUMNS > room) return false;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t c = 0; c < p.channels; ++c)
        for (int64_t j = 0; j < columns; ++j)
          copy[(t * p.channels + c) * COLUMNS + j] =
              weights[p.tap_offset(t) + c * p.kernel_in_stride + j * p.kernel_out_stride];
    weights = copy;
    packed = true;
    return true;
  }

  void read_from(const E* image) { input = image; }

  void run(int64_t first, int64_t last, int64_t j0, E* tile, ShloEpilogue epilogue, void* context) {
    while (first < last) {
      int64_t end = first;
      while (end < last && end - first < ROWS)
        end = take_line(end, smallest(last, end + ROWS), tile + (end - first) * COLUMNS);
      epilogue(context, tile, COLUMNS, first, end - first, j0, columns);
      first = end;
    }
  }

 private:
  // Computes positions of the line of `begin`, up to `end`; returns where it stops.
  int64_t take_line(int64_t begin, int64_t end, E* out) {
    const int64_t x0 = begin % x_axis.out, x1 = smallest(x0 + end - begin, x_axis.out);
    int64_t rest = begin / x_axis.out;
    const int64_t o1 = rest % p.axis[1].out;
    rest /= p.axis[1].out;
    const E* const image = input + rest / p.axis[0].out * p.batch_stride;
    for (int64_t phase = 0; phase < period; ++phase)
      take_phase(phase, image, rest % p.axis[0].out, o1, x0, x1, out - x0 * COLUMNS);
    return begin + x1 - x0;
  }

  // The taps [low, high) of an axis without holes that lie inside the input for an output.
  struct Inside {
    int64_t low, high;
    bool operator==(const Inside& other) const { return low == other.low && high == other.high; }
  };
  static Inside inside(const Axis& a, int64_t output) {
    const int64_t start = a.start(output), low = start < 0 ? ceil_div(-start, a.gap) : 0;
    const int64_t end = start < a.in ? ceil_div(a.in - start, a.gap) : 0;
    return {smallest(low, a.taps), largest(smallest(end, a.taps), smallest(low, a.taps))};
  }

  // Offset of the first line of a window in an image (possibly outside of it); 0 if there are holes across lines.
  int64_t window_start(int64_t o0, int64_t o1) const {
    return has_line_holes ? 0 : p.axis[0].start(o0) * p.axis[0].in_stride + p.axis[1].start(o1) * p.axis[1].in_stride;
  }

  // Lists the taps that positions phase, phase + period, ... see, ignoring the padding along the line; calls `take`
  // whenever the list is full, and at the end. In groups of one output feature, each input feature counts as a tap.
  template <class Take>
  __attribute__((always_inline)) void list_taps(int64_t phase, int64_t o0, int64_t o1, Take take) {
    const Axis &a = p.axis[0], &b = p.axis[1], &c = x_axis;
    const int64_t channels = p.members == 1 ? p.channels : 1, start = window_start(o0, o1);
    int64_t count = 0;
    for (int64_t k0 = 0; k0 < a.taps; ++k0) {
      const int64_t y0 = a.index(a.start(o0) + k0 * a.gap);
      if (y0 < 0) continue;
      for (int64_t k1 = 0; k1 < b.taps; ++k1) {
        const int64_t y1 = b.index(b.start(o1) + k1 * b.gap);
        if (y1 < 0) continue;
        for (int64_t k2 = 0; k2 < c.taps; ++k2) {
          const int64_t place = c.start(phase) + k2 * c.gap;
          if (positive_mod(place, c.hole) != 0) continue;
          const int64_t index = (place - positive_mod(place, c.hole)) / c.hole, t = (k0 * b.taps + k1) * c.taps + k2;
          const int64_t from = y0 * a.in_stride + y1 * b.in_stride + index * c.in_stride - start;
          const int64_t of = packed ? t * p.channels * COLUMNS : p.tap_offset(t);
          for (int64_t k = 0; k < channels; ++k) {
            if (count == MOST_TAPS) {
              take(count, false);
              count = 0;
            }
            list[count++] = {from + k * p.feature_stride, of + k * (packed ? COLUMNS : p.kernel_in_stride), index};
          }
        }
      }
    }
    take(count, true);
  }

  void take_phase(int64_t phase, const E* image, int64_t o0, int64_t o1, int64_t x0, int64_t x1, E* out) {
    if (phase >= x1) return;
    const int64_t begin = x0 > phase ? ceil_div(x0 - phase, period) : 0, end = ceil_div(x1 - phase, period);
    const E* const window = image + window_start(o0, o1);
    const bool is_kept = period == 1 && !has_line_holes;
    const Inside inside0 = is_kept ? inside(p.axis[0], o0) : Inside{}, inside1 = is_kept ? inside(p.axis[1], o1) : Inside{};
    if (is_kept && is_listed && inside0 == listed[0] && inside1 == listed[1])
      return multiply_positions(phase, window, begin, end, list_count, false, out);
    bool add = false;
    list_taps(phase, o0, o1, [&](int64_t count, bool is_last) {
      is_listed = is_kept && is_last && !add;
      list_count = count;
      find_whole(count);
      multiply_positions(phase, window, begin, end, count, add, out);
      add = true;
    });
    listed[0] = inside0;
    listed[1] = inside1;
  }

  // The range of positions of a phase for which all listed taps lie inside the input.
  void find_whole(int64_t count) {
    whole = {0, INT64_MAX};
    for (int64_t t = 0; t < count; ++t) {
      const int64_t index = list[t].index;
      whole.low = largest(whole.low, ceil_div(largest(-index, 0), advance));
      whole.high = smallest(whole.high, index < x_axis.in ? (x_axis.in - 1 - index) / advance + 1 : 0);
    }
  }

  // Multiplies the listed taps for positions phase + i * period, begin <= i < end.
  void multiply_positions(int64_t phase, const E* image, int64_t begin, int64_t end, int64_t count, bool add, E* out) {
    const int64_t low = smallest(largest(whole.low, begin), end), high = largest(smallest(whole.high, end), low);
    NarrowStrip<E> strip = {list, count, image, weights, advance * x_axis.in_stride,
                            packed ? COLUMNS : p.kernel_in_stride, out, period * COLUMNS, add};
    const auto at = [&](int64_t i) {
      strip.input = image + i * strip.next;
      strip.out = out + (phase + i * period) * COLUMNS;
    };
    const int64_t most = high - low >= 6 ? 6 : high - low >= 3 ? 3 : 1;
    for (int64_t i = low; i < high;) {
      const int64_t left = high - i, height = left >= most ? most : !add ? most : left >= 3 ? 3 : 1;
      at(smallest(i, high - height));  // the last strip may overlap the one before, unless it adds
      multiply(strip, height);
      i += height;
    }
    strip.taps = few;
    const auto at_edge = [&](int64_t i) {
      at(i);
      strip.count = 0;
      for (int64_t t = 0; t < count; ++t) {
        const int64_t index = list[t].index + i * advance;
        if (index >= 0 && index < x_axis.in) few[strip.count++] = list[t];
      }
      multiply(strip, 1);
    };
    for (int64_t i = begin; i < low; ++i) at_edge(i);
    for (int64_t i = high; i < end; ++i) at_edge(i);
  }

  void multiply(const NarrowStrip<E>& strip, int64_t height) {
    switch (p.members) {
      case 1: return multiply_rows<1>(strip, height);
      case 2: return multiply_rows<2>(strip, height);
      case 4: return multiply_rows<(LANES<E> >= 4 ? 4 : 1)>(strip, height);
      default: return multiply_rows<(LANES<E> >= 8 ? 8 : 1)>(strip, height);
    }
  }
  template <int F>
  void multiply_rows(const NarrowStrip<E>& strip, int64_t height) {
    if (height == 6) multiply_columns<F, 6>(strip);
    else if (height == 3) multiply_columns<F, 3>(strip);
    else multiply_columns<F, 1>(strip);
  }
  template <int F, int ROWS_>
  void multiply_columns(const NarrowStrip<E>& strip) {
    constexpr int N = F == 1 ? 2 : 1;
    constexpr int64_t L = LANES<E>;
    const int64_t last = columns - L;
    int64_t j = 0;
    for (; N == 2 && j + L < columns; j += 2 * L) multiply_narrow<E, A, F, ROWS_, N>(strip, j, smallest(j + L, last));
    for (; j < columns; j += L) multiply_narrow<E, A, F, ROWS_, 1>(strip, 0, smallest(j, last));
  }

  const Problem<E>& p;
  const Axis& x_axis;
  const E *input, *weights;
  int64_t columns, taps;
  int64_t period, advance;  // number of phases; input step between positions of a phase
  bool packed = false, has_line_holes;
  // Whether the list holds all taps of a line, and for which range of taps across lines.
  bool is_listed = false;
  Inside listed[2] = {}, whole = {};
  int64_t list_count = 0;
  NarrowTap list[MOST_TAPS], few[MOST_TAPS];
};

// Groups whose positions, not features, are contiguous: the input lines that a few output lines see are transposed,
// features last.
template <class E, class A>
class TransposedNarrowBlock {
 public:
  // `memory` holds up to `room` elements of lines.
  TransposedNarrowBlock(const Problem<E>& problem, const E* input, const E* kernel, int64_t columns, E* memory, int64_t room)
      : p(problem), input(input), columns(columns), lines(memory), copies(copied(problem, room)),
        block(copies, memory, kernel, columns) {}

  bool plan(E* copy, int64_t room) {
    const bool neighbours = p.axis[2].in_stride == 1 && p.group_stride == p.channels * p.feature_stride;
    return p.members > 1 && neighbours && band > 0 && block.plan(copy, room);
  }

  void run(int64_t first, int64_t last, int64_t j0, E* tile, ShloEpilogue epilogue, void* context) {
    const Axis &a = p.axis[0], &b = p.axis[1], &x = p.axis[2];
    while (first < last) {
      const int64_t line = first / x.out, o1 = line % b.out, o0 = line / b.out % a.out;
      const int64_t count = smallest(band, b.out - o1), end = smallest(last, (line + count) * x.out);
      copy_lines(input + line / b.out / a.out * p.batch_stride, seen(a, o0, 1), seen(b, o1, count));
      block.run(first, end, j0, tile, epilogue, context);
      first = end;
    }
  }

 private:
  // Indices [low, high) of an input.
  struct Seen {
    int64_t low, high;
  };
  // The indices that `count` outputs see.
  static Seen seen(const Axis& a, int64_t output, int64_t count) {
    const int64_t end = a.start(output + count - 1) + (a.taps - 1) * a.gap;
    const int64_t low = ceil_div(largest(a.start(output), 0), a.hole);
    return {low, end < 0 ? low : largest(low, smallest(a.in, end / a.hole + 1))};
  }
  static int64_t most_seen(const Axis& a, int64_t count) {
    return smallest(a.in, ((count - 1) * a.step + (a.taps - 1) * a.gap) / a.hole + 1);
  }

  // The problem on the copies; also chooses `band`.
  Problem<E> copied(const Problem<E>& problem, int64_t room) {
    Problem<E> q = problem;
    const Axis* const axis = problem.axis;
    const int64_t width = axis[2].in * COLUMNS, planes = most_seen(axis[0], 1);
    band = largest(axis[1].out, 1);
    while (band > 0 && planes * most_seen(axis[1], band) * width > room) band /= 2;
    q.batch_stride = 0;
    q.feature_stride = 1;
    q.group_stride = q.members;
    q.axis[2].in_stride = COLUMNS;
    q.axis[1].in_stride = width;
    q.axis[0].in_stride = most_seen(axis[1], largest(band, 1)) * width;
    return q;
  }

  void copy_lines(const E* image, Seen y0, Seen y1) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const Axis* const to = copies.axis;
    for (int64_t i = y0.low; i < y0.high; ++i)
      for (int64_t k = y1.low; k < y1.high; ++k) {
        E* const line = lines + (i - y0.low) * to[0].in_stride + (k - y1.low) * to[1].in_stride;
        transpose_features(line, COLUMNS, image + i * a.in_stride + k * b.in_stride, p.feature_stride, p.axis[2].in,
                           columns);
      }
    block.read_from(lines - y0.low * to[0].in_stride - y1.low * to[1].in_stride);
  }

  const Problem<E>& p;
  const E* input;
  int64_t columns, band;  // band: output lines at a time
  E* lines;
  const Problem<E> copies;
  NarrowBlock<E, A> block;
};

}  // namespace
