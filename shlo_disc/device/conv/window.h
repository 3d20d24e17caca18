// Depthwise convolutions with windows as long as the lines of the input, features last: gradients of depthwise weights. Taps are
// not listed: a run of taps along a line is two pointers and their steps. Lanes are features, and a few lines of the window are
// multiplied for all positions while they are in a near cache.
//
// A position's sum is accumulated in the order of channels, lines of the window, taps, however positions are divided.
#pragma once
#include "conv/problem.h"

namespace {

// Consecutive taps along a line; `*_step`: strides between taps, `next`: input stride between positions.
template <class E>
struct Run {
  const E *input, *weights;
  int64_t count, input_step, weights_step, next;
};

// Adds a run to the sums of M positions and N vectors of features: vector v of `sums` holds the features from at[v] on.
template <class E, int M, int N>
void add_run(const Run<E>& run, const int64_t* at, E* sums) {
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) sum[r][v] = read(sums + r * COLUMNS + v * LANES<E>);
  const E *x = run.input, *w = run.weights;
  for (int64_t k = 0; k < run.count; ++k, x += run.input_step, w += run.weights_step) {
    register_t<E> row[N];
    UNROLL for (int v = 0; v < N; ++v) row[v] = read(w + at[v]);
    UNROLL for (int r = 0; r < M; ++r)
      UNROLL for (int v = 0; v < N; ++v) sum[r][v] += read(x + r * run.next + at[v]) * row[v];
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(sums + r * COLUMNS + v * LANES<E>, sum[r][v]);
}

template <class E>
struct WindowMemory {
  static constexpr int64_t ROWS = 64;  // positions at a time
  alignas(64) E tile[ROWS * COLUMNS], sums[ROWS * COLUMNS];
};

template <class E>
bool has_long_windows(const Problem<E>& p) {
  constexpr int64_t LEAST_TAPS = 8;
  const Axis& x = p.axis[2];
  return p.narrow && p.members == 1 && x.hole == 1 && x.taps >= LEAST_TAPS && x.out <= x.taps && p.group_stride == 1 &&
         p.kernel_out_stride == 1 && p.features >= LANES<E>;
}

// One block of features.
template <class E>
class WindowBlock {
  typedef WindowMemory<E> M;
  static constexpr int64_t NEAR = 8;  // lines of the window at a time, to stay in a near cache
  static constexpr int64_t L = LANES<E>;

 public:
  WindowBlock(const Problem<E>& problem, M& memory, const E* input, const E* kernel, int64_t columns)
      : p(problem), x_axis(problem.axis[2]), input(input), weights(kernel), columns(columns),
        lines(problem.axis[0].taps * problem.axis[1].taps), tile(memory.tile), sums(memory.sums) {
    // The last vector may overlap the one before, also that of the previous block if this has less than a vector.
    for (int64_t v = 0; v * L < columns; ++v) at[v] = smallest(v * L, columns - L);
  }

  void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    for (; first < last; first += M::ROWS) {
      const int64_t count = smallest(M::ROWS, last - first);
      list_segments(first, count);
      multiply(count);
      epilogue(context, tile, COLUMNS, first, count, j0, columns);
    }
  }

 private:
  // Positions of one output line.
  struct Segment {
    int64_t row, x, length;
    const E* image;
    int64_t o0, o1;
  };

  void list_segments(int64_t first, int64_t count) {
    segment_count = 0;
    for (int64_t row = 0; row < count;) {
      const int64_t x = (first + row) % x_axis.out, length = smallest(count - row, x_axis.out - x);
      const int64_t line = (first + row) / x_axis.out, rest = line / p.axis[1].out;
      segments[segment_count++] = {row, x, length, input + rest / p.axis[0].out * p.batch_stride, rest % p.axis[0].out,
                                   line % p.axis[1].out};
      row += length;
    }
  }

  // The taps of an output's window that lie inside the input line.
  Axis::Range range(int64_t output) const { return x_axis.inside(x_axis.start(output), x_axis.taps); }

  void multiply(int64_t count) {
    __builtin_memset(sums, 0, count * COLUMNS * sizeof(E));
    for (int64_t c = 0; c < p.channels; ++c)
      for (int64_t k = 0; k < lines; k += NEAR)
        for (int64_t i = 0; i < segment_count; ++i) add_lines(segments[i], c, k, smallest(k + NEAR, lines));
    for (int64_t row = 0; row < count * COLUMNS; row += COLUMNS)
      for (int64_t v = 0; v * L < columns; ++v) {
        const int64_t before = largest(-at[v], 0);  // lanes of the previous block
        __builtin_memcpy(tile + row + at[v] + before, sums + row + v * L + before, (L - before) * sizeof(E));
      }
  }

  // Lines [k, end) of the window.
  void add_lines(const Segment& segment, int64_t c, int64_t k, int64_t end) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    for (; k < end; ++k) {
      const int64_t y0 = a.index(a.start(segment.o0) + k / b.taps * a.gap);
      const int64_t y1 = b.index(b.start(segment.o1) + k % b.taps * b.gap);
      if (y0 < 0 || y1 < 0) continue;
      const E* const from = segment.image + y0 * a.in_stride + y1 * b.in_stride + c * p.feature_stride;
      const E* const by = weights + p.tap_offset(k * x_axis.taps) + c * p.kernel_in_stride;
      add_line(segment.x, segment.length, from, by, sums + segment.row * COLUMNS);
    }
  }

  // Positions [x, x + length) of a line, in strips. Taps that only some positions of a strip see are added before and
  // after the common ones.
  void add_line(int64_t x, int64_t length, const E* from, const E* by, E* to) {
    for (int64_t height; length > 0; x += height, length -= height, to += height * COLUMNS) {
      height = length >= 6 ? 6 : length >= 3 ? 3 : 1;
      const int64_t low = range(x).low, high = largest(range(x + height - 1).high, low);
      const auto add = [&](int64_t first, int64_t rows, int64_t begin, int64_t end) {
        if (begin >= end) return;
        const int64_t tap = x_axis.start(x + first) + begin * x_axis.gap;
        const Run<E> run = {from + tap * x_axis.in_stride, by + begin * x_axis.kernel_stride, end - begin,
                            x_axis.gap * x_axis.in_stride, x_axis.kernel_stride, x_axis.step * x_axis.in_stride};
        if (rows == 6) add_columns<6>(run, to);
        else if (rows == 3) add_columns<3>(run, to);
        else add_columns<1>(run, to + first * COLUMNS);
      };
      for (int64_t r = 0; r < height; ++r) add(r, 1, range(x + r).low, smallest(low, range(x + r).high));
      add(0, height, low, high);
      for (int64_t r = 0; r < height; ++r) add(r, 1, largest(high, range(x + r).low), range(x + r).high);
    }
  }
  template <int M>
  void add_columns(const Run<E>& run, E* to) {
    const int64_t vectors = ceil_div(columns, L);
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) add_run<E, M, 2>(run, at + v, to + v * L);
    if (v < vectors) add_run<E, M, 1>(run, at + v, to + v * L);
  }

  const Problem<E>& p;
  const Axis& x_axis;
  const E *input, *weights;
  int64_t columns, lines;            // lines: of the window
  int64_t at[ceil_div(COLUMNS, L)];  // first feature of each vector
  E *tile, *sums;
  Segment segments[M::ROWS];
  int64_t segment_count;
};

}  // namespace
