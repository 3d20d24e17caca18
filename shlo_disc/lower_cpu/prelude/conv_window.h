// Depthwise convolutions with windows as long as the lines of the input, which have few positions: gradients of weights. So
// taps are not listed: a run of taps along a line is two pointers and their steps. Where features lie next to each other,
// lanes are features, and a few lines of the window are multiplied for all positions while they are in a near cache. Else lanes
// are taps, whose sums are added up at the end; each line of the input is copied once, with its padding.
//
// However positions are cut into pieces, a position's sum is made in one order: of channels, lines of the window, taps.
#pragma once
#include "conv_problem.h"

namespace {

// Taps next to each other along a line: from one tap to the next, from one position to the next.
template <class E>
struct Run {
  const E *input, *weights;
  int64_t count, input_step, weights_step, next;
};

// Adds a run to the sums of M positions and N vectors of features: vector v of `sums` is that of the features at[v].
template <class E, class A, int M, int N>
void add_run(const Run<E>& run, const int64_t* at, E* sums) {
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) sum[r][v] = read(sums + r * COLUMNS + v * LANES<E>);
  const E *x = run.input, *w = run.weights;
  for (int64_t k = 0; k < run.count; ++k, x += run.input_step, w += run.weights_step) {
    register_t<E> row[N];
    UNROLL for (int v = 0; v < N; ++v) row[v] = A::weights(read(w + at[v]));
    UNROLL for (int r = 0; r < M; ++r)
      UNROLL for (int v = 0; v < N; ++v) sum[r][v] = A::multiply_add(sum[r][v], read(x + r * run.next + at[v]), row[v]);
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(sums + r * COLUMNS + v * LANES<E>, sum[r][v]);
}

// Adds a line of the input, copied, and one of the window to the sums of M positions; lanes are taps.
template <class E, class A, int M>
void add_taps(const E* input, const int64_t* begin, const E* weights, int64_t step, int64_t taps, E* sums) {
  constexpr int64_t L = LANES<E>;
  register_t<E> sum[M];
  UNROLL for (int r = 0; r < M; ++r) sum[r] = read(sums + r * L);
  for (int64_t k = 0; k < taps; k += L) {
    E lanes[L] = {};
    if (step != 1)
      for (int64_t i = k; i < smallest(taps, k + L); ++i) lanes[i - k] = weights[i * step];
    const register_t<E> w =
        A::weights(step != 1 ? read(lanes) : k + L <= taps ? read(weights + k) : read_n(weights + k, taps - k));
    // Behind the window is input that no tap sees: a product with 0 would not be 0 if it is infinite.
    if (k + L <= taps) {
      UNROLL for (int r = 0; r < M; ++r) sum[r] = A::multiply_add(sum[r], read(input + begin[r] + k), w);
    } else {
      UNROLL for (int r = 0; r < M; ++r)
        sum[r] = A::multiply_add(sum[r], read_n(input + begin[r] + k, taps - k), w);
    }
  }
  UNROLL for (int r = 0; r < M; ++r) write(sums + r * L, sum[r]);
}

template <class E, class A>
class WindowBlock {
  static constexpr int64_t ROWS = 64;  // positions at a time
  static constexpr int64_t NEAR = 8;   // lines of the window that stay in a near cache
  static constexpr int64_t LEAST_TAPS = 8;
  static constexpr int64_t L = LANES<E>;

 public:
  static constexpr int64_t TILE = ROWS * COLUMNS;

  WindowBlock(const Problem<E>& problem, const E* input, const E* kernel, int64_t columns)
      : p(problem), x_axis(problem.axis[2]), input(input), weights(kernel), columns(columns),
        lines(problem.axis[0].taps * problem.axis[1].taps),
        neighbours(problem.group_stride == 1 && problem.kernel_out_stride == 1 && columns >= L) {
    for (int64_t v = 0; v * L < columns; ++v) at[v] = smallest(v * L, columns - L);  // the last may overlap the one before
  }

  // Whether this is the way; `room` elements at `memory` are its own.
  bool plan(E* memory, int64_t room) {
    if (p.members != 1 || x_axis.hole != 1 || x_axis.taps < LEAST_TAPS || x_axis.out > x_axis.taps) return false;
    sums = memory;
    copies = memory + ROWS * COLUMNS;
    if (neighbours) return room >= TILE;
    period = x_axis.gap / common_divisor(x_axis.step, x_axis.gap);
    slots = smallest(period, x_axis.out);
    slot_width = round_up(x_axis.taps + (x_axis.out - 1) / period * (period * x_axis.step / x_axis.gap), L) + L;
    return slot_width <= (room - TILE - L) / slots;
  }

  void run(int64_t first, int64_t last, int64_t j0, E* tile, ShloEpilogue epilogue, void* context) {
    for (; first < last; first += ROWS) {
      const int64_t count = smallest(ROWS, last - first);
      list_pieces(first, count);
      if (neighbours) multiply_features(count, tile);
      else multiply_taps(count, tile);
      epilogue(context, tile, COLUMNS, first, count, j0, columns);
    }
  }

 private:
  // Positions of one output line.
  struct Piece {
    int64_t row, x, length;
    const E* image;
    int64_t o0, o1;
  };

  void list_pieces(int64_t first, int64_t count) {
    piece_count = 0;
    for (int64_t row = 0; row < count;) {
      const int64_t x = (first + row) % x_axis.out, length = smallest(count - row, x_axis.out - x);
      const int64_t line = (first + row) / x_axis.out, rest = line / p.axis[1].out;
      pieces[piece_count++] = {row, x, length, input + rest / p.axis[0].out * p.batch_stride, rest % p.axis[0].out,
                               line % p.axis[1].out};
      row += length;
    }
  }

  // The taps of an output's window that lie on the line of the input.
  Axis::Range range(int64_t output) const { return x_axis.inside(x_axis.start(output), x_axis.taps); }

  // ---- lanes are features

  void multiply_features(int64_t count, E* tile) {
    __builtin_memset(sums, 0, count * COLUMNS * sizeof(E));
    for (int64_t c = 0; c < p.channels; ++c)
      for (int64_t k = 0; k < lines; k += NEAR)
        for (int64_t i = 0; i < piece_count; ++i) add_lines(pieces[i], c, k, smallest(k + NEAR, lines));
    for (int64_t row = 0; row < count; ++row)
      for (int64_t v = 0; v * L < columns; ++v) write(tile + row * COLUMNS + at[v], read(sums + row * COLUMNS + v * L));
  }

  // Lines [k, end) of the window.
  void add_lines(const Piece& piece, int64_t c, int64_t k, int64_t end) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    for (; k < end; ++k) {
      const int64_t y0 = a.index(a.start(piece.o0) + k / b.taps * a.gap);
      const int64_t y1 = b.index(b.start(piece.o1) + k % b.taps * b.gap);
      if (y0 < 0 || y1 < 0) continue;
      const E* const from = piece.image + y0 * a.in_stride + y1 * b.in_stride + c * p.feature_stride;
      const E* const by = weights + p.tap_offset(k * x_axis.taps) + c * p.kernel_in_stride;
      add_line(piece.x, piece.length, from, by, sums + piece.row * COLUMNS);
    }
  }

  // Positions [x, x + length) of a line. Taps that not all of a few positions see are added before and after the others.
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
    for (; v + 2 <= vectors; v += 2) add_run<E, A, M, 2>(run, at + v, to + v * L);
    if (v < vectors) add_run<E, A, M, 1>(run, at + v, to + v * L);
  }

  // ---- lanes are taps

  void multiply_taps(int64_t count, E* tile) {
    for (int64_t i = 0; i < piece_count; ++i)
      for (int64_t n = 0; n < pieces[i].length; ++n) {
        const int64_t x = pieces[i].x + n;
        begin[pieces[i].row + n] = x % period * slot_width + x / period * (period * x_axis.step / x_axis.gap);
      }
    for (int64_t j = 0; j < columns; ++j) {
      __builtin_memset(sums, 0, count * L * sizeof(E));
      for (int64_t c = 0; c < p.channels; ++c)
        for (int64_t y0 = 0; y0 < p.axis[0].in; ++y0)
          for (int64_t y1 = 0; y1 < p.axis[1].in; ++y1) add_input_line(j, c, y0, y1);
      for (int64_t row = 0; row < count; ++row) {
        E total = 0;
        for (int64_t i = 0; i < L; ++i) total += sums[row * L + i];
        tile[row * COLUMNS + j] = total;
      }
    }
  }

  // The tap of an output's window that sees index `y` of the input, -1 if none does.
  static int64_t tap_at(const Axis& a, int64_t o, int64_t y) {
    int64_t behind = y * a.hole - a.start(o);
    if (behind < 0) return -1;
    if (a.gap != 1) {
      if (behind % a.gap != 0) return -1;
      behind /= a.gap;
    }
    return behind < a.taps ? behind : -1;
  }

  void add_input_line(int64_t j, int64_t c, int64_t y0, int64_t y1) {
    const E* copied = nullptr;
    for (int64_t i = 0; i < piece_count; ++i) {
      const Piece& piece = pieces[i];
      const int64_t k0 = tap_at(p.axis[0], piece.o0, y0), k1 = tap_at(p.axis[1], piece.o1, y1);
      if (k0 < 0 || k1 < 0) continue;
      const E* const line = piece.image + y0 * p.axis[0].in_stride + y1 * p.axis[1].in_stride + c * p.feature_stride +
                            j * p.group_stride;
      if (line != copied)
        for (int64_t s = 0; s < slots; ++s) copy_line(line, x_axis.start(s), copies + s * slot_width);
      copied = line;
      const E* const by = weights + k0 * p.axis[0].kernel_stride + k1 * p.axis[1].kernel_stride + c * p.kernel_in_stride +
                          j * p.kernel_out_stride;
      int64_t row = piece.row;
      const int64_t end = row + piece.length, step = x_axis.kernel_stride;
      for (; row + 3 <= end; row += 3)
        add_taps<E, A, 3>(copies, begin + row, by, step, x_axis.taps, sums + row * L);
      for (; row < end; ++row) add_taps<E, A, 1>(copies, begin + row, by, step, x_axis.taps, sums + row * L);
    }
  }

  // The input at start, start + gap, ..., zeros where there is none. Ascending, in whole vectors: what is written too much is
  // overwritten by what follows.
  void copy_line(const E* line, int64_t start, E* to) const {
    const Axis::Range inside = x_axis.inside(start, slot_width);
    const int64_t step = x_axis.gap * x_axis.in_stride, count = inside.high - inside.low;
    const E* const from = line + start * x_axis.in_stride + inside.low * step;
    E* const body = to + inside.low;
    fill(to, 0, inside.low);
    int64_t i = 0;
    if (step == 1) {
      for (; i + L <= count; i += L) write(body + i, read(from + i));
      if (i < count) write(body + i, read_n(from + i, count - i));
      i = round_up(count, L);
    } else {
      if (step == 2)
        for (; i + L < count; i += L)
          write(body + i, take_even(read(from + 2 * i), read(from + 2 * i + L), typename AllLanes<L>::type()));
      for (; i < count; ++i) body[i] = from[i * step];
    }
    fill(to, inside.low + i, slot_width);
  }
  static void fill(E* to, int64_t from, int64_t end) {
    for (int64_t i = from; i < end; i += L) {
      write(to + i, register_t<E>{});
      asm volatile("" ::: "memory");  // few vectors: no call of memset
    }
  }

  const Problem<E>& p;
  const Axis& x_axis;
  const E *input, *weights;
  int64_t columns, lines;            // lines: of the window
  bool neighbours;                   // features are
  int64_t at[ceil_div(COLUMNS, L)];  // the features of vectors
  E *sums, *copies;
  // A line is copied for each place that outputs begin at, modulo the gap: that of output x is copy x % period.
  int64_t period, slots, slot_width;
  int64_t begin[ROWS];               // of the positions' windows in the copies
  Piece pieces[ROWS];
  int64_t piece_count;
};

}  // namespace
