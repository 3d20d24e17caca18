// Depthwise convolutions whose lines are contiguous in memory (features first): lanes are positions of a line. For a
// few output lines at a time, the input lines that they see are copied with their padding, one feature after the other;
// each vector of positions is then a sum over the taps, with broadcast weights and without conditions.
//
// Window strides along a line: every `advance`-th element goes to the same slot, so that lanes read contiguous
// elements. Dilated inputs: positions that see the same holes (a phase) see the same taps; their results are
// interleaved at the end. A position's sum is accumulated in the order of its taps, however positions are divided.
// Functions are not inlined into the one that chooses among all kernels, which would take longer to compile (2.0 s
// instead of 1.8).
#pragma once
#include "conv/problem.h"

namespace {

constexpr int PLANE_VECTORS = 8;  // sums at a time: enough to hide the latency of an addition

// The sums of PLANE_VECTORS vectors of positions: vector v reads at from[v] + taps[t], and is stored at to[v].
template <class E, class A>
void add_plane(const E* lines, const int64_t* taps, const E* weights, int64_t count, const int64_t* from, E* out,
               const int64_t* to) {
  constexpr int V = PLANE_VECTORS;
  register_t<E> sum[V];
  UNROLL for (int v = 0; v < V; ++v) sum[v] = register_t<E>{};
  for (int64_t t = 0; t < count; ++t) {
    const register_t<E> w = A::weights(weights[t] - register_t<E>{});
    const E* const x = lines + taps[t];
    UNROLL for (int v = 0; v < V; ++v) sum[v] = A::multiply_add(sum[v], read(x + from[v]), w);
  }
  UNROLL for (int v = 0; v < V; ++v) write(out + to[v], sum[v]);
}

template <class E, class A>
class PlaneBlock {
  static constexpr int64_t L = LANES<E>;
  static constexpr int64_t MOST_TAPS = 512, MOST_PHASES = 16, MOST_STEPS = 16, MOST_VECTORS = 1024;
  static constexpr int64_t NEAR_LINES = 24 * 1024 / sizeof(E), NEAR_TILE = 16 * 1024 / sizeof(E);  // for the L1 cache

 public:
  PlaneBlock(const Problem<E>& problem, const E* input, const E* kernel, int64_t columns)
      : p(problem), x_axis(problem.axis[2]), y_axis(problem.axis[1]), input(input), kernel(kernel), columns(columns) {}

  // Whether this kernel applies; it may use `room` elements at `memory`, and `tile_room` at `tile_`.
  __attribute__((noinline)) bool plan(E* memory, int64_t room, E* tile_, int64_t tile_room) {
    if (p.members != 1 || p.channels != 1 || x_axis.in_stride != 1 || p.taps() == 0 || p.taps() > MOST_TAPS)
      return false;
    if (x_axis.out <= 0 || y_axis.out <= 0) return false;
    lines = memory;
    tile = tile_;
    period1 = y_axis.hole / common_divisor(y_axis.step, y_axis.hole);
    period2 = x_axis.hole / common_divisor(x_axis.step, x_axis.hole);
    if (period1 * period2 > MOST_PHASES) return false;
    advance = x_axis.step * period2 / x_axis.hole;
    x_low = x_axis.place(x_axis.start(0)).index;
    const int64_t reach = x_axis.place(x_axis.start(period2 - 1) + (x_axis.taps - 1) * x_axis.gap).index - x_low;
    line_vectors = ceil_div(ceil_div(x_axis.out, period2), L);
    slot_width = round_up(reach / advance + 1, L) + line_vectors * L;
    pitch = advance * slot_width;
    if (advance > MOST_STEPS) return false;
    list_slots();
    // Output lines at a time.
    const int64_t vectors = (MOST_VECTORS - period1 * period2 * PLANE_VECTORS) / (line_vectors * period2);
    return fits(vectors, NEAR_LINES, NEAR_TILE) || fits(vectors, room, tile_room - 3 * L);
  }

  __attribute__((noinline)) void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    const int64_t width = x_axis.out;
    while (first < last) {
      const int64_t line = first / width, plane = line / y_axis.out, o1 = line % y_axis.out, before = first - line * width;
      const int64_t count = smallest(smallest(most_lines, y_axis.out - o1), ceil_div(last - line * width, width));
      const int64_t rows = smallest(last - first, count * width - before);
      list_lines(plane % p.axis[0].out, o1, count);
      const E* const image = input + plane / p.axis[0].out * p.batch_stride;
      const int64_t each = round_up(count * width, L) + 2 * L;  // surplus writes are overwritten later
      const int64_t features = largest(NEAR_TILE / each, 1);
      for (int64_t j = 0; j < columns; j += features) {
        const int64_t n = smallest(features, columns - j);
        for (int64_t k = 0; k < n; ++k) {
          copy_lines(image + (j + k) * p.group_stride);
          multiply(kernel + (j + k) * p.kernel_out_stride, tile + k * each, count);
        }
        epilogue(context, tile + before, each, first, rows, j0 + j, n);
      }
      first += rows;
    }
  }

 private:
  // The taps that the positions of a phase see, and the vectors of its positions.
  struct Phase {
    int64_t first_tap, taps, first_vector, vectors;
  };

  // Whether any output lines fit into `room` and `tile_room`; sets `most_lines`, at most `vectors`.
  bool fits(int64_t vectors, int64_t room, int64_t tile_room) {
    most_lines = smallest(smallest(vectors, y_axis.out), tile_room / x_axis.out);
    while (most_lines > 0 && room_of(most_lines) > room) most_lines -= ceil_div(most_lines, 8);
    return most_lines > 0;
  }
  // The most input lines that `count` output lines see.
  int64_t lines_for(int64_t count) const {
    return ((count - 1) * y_axis.step + (y_axis.taps - 1) * y_axis.gap) / y_axis.hole + 2;
  }
  // Elements for the input of `count` output lines and, with phases, for their results.
  int64_t room_of(int64_t count) const {
    const int64_t results = is_phased() ? count * period2 * line_vectors * L : 0;
    return p.axis[0].taps * lines_for(count) * pitch + 2 * L + results;
  }
  bool is_phased() const { return period1 * period2 > 1; }

  // Lists the input lines, taps and vectors of output lines [o1, o1 + count) of plane `o0`.
  __attribute__((noinline)) void list_lines(int64_t o0, int64_t o1, int64_t count) {
    y_low = y_axis.place(y_axis.start(o1)).index;
    y_count = y_axis.place(y_axis.start(o1 + count - 1) + (y_axis.taps - 1) * y_axis.gap).index - y_low + 1;
    plane_count = 0;
    for (int64_t k = 0; k < p.axis[0].taps; ++k) {
      const int64_t y0 = p.axis[0].index(p.axis[0].start(o0) + k * p.axis[0].gap);
      if (y0 < 0) continue;
      plane_taps[plane_count] = k;
      planes[plane_count++] = y0 * p.axis[0].in_stride;
    }
    results = lines + plane_count * y_count * pitch + L;
    __builtin_memset(lines, 0, plane_count * y_count * pitch * sizeof(E));
    tap_count = vector_count = phase_count = 0;
    for (int64_t q1 = 0; q1 < smallest(period1, count); ++q1)
      for (int64_t q2 = 0; q2 < smallest(period2, x_axis.out); ++q2) {
        Phase& phase = phases[phase_count++];
        phase.first_tap = tap_count;
        phase.first_vector = vector_count;
        list_taps(o1 + q1, q2);
        list_vectors(q1, q2, count);
        phase.taps = tap_count - phase.first_tap;
        phase.vectors = vector_count - phase.first_vector;
      }
  }

  // The taps that position (o1, o2) of a plane sees, which is the first of its phase.
  void list_taps(int64_t o1, int64_t o2) {
    for (int64_t k = 0; k < plane_count; ++k)
      for (int64_t k1 = 0; k1 < y_axis.taps; ++k1) {
        const Place y = y_axis.place(y_axis.start(o1) + k1 * y_axis.gap);
        if (y.rest != 0) continue;
        for (int64_t k2 = 0; k2 < x_axis.taps; ++k2) {
          const Place x = x_axis.place(x_axis.start(o2) + k2 * x_axis.gap);
          if (x.rest != 0) continue;
          const int64_t line = k * y_count + y.index - y_low, behind = x.index - x_low;
          taps[tap_count] = line * pitch + behind % advance * slot_width + behind / advance;
          kernel_taps[tap_count++] = p.tap_offset((plane_taps[k] * y_axis.taps + k1) * x_axis.taps + k2);
        }
      }
  }

  // Whole vectors: the last of a line may overlap the one before, or extend beyond a short line.
  void list_vectors(int64_t q1, int64_t q2, int64_t count) {
    const int64_t length = ceil_div(x_axis.out - q2, period2), down = y_axis.step * period1 / y_axis.hole * pitch;
    const int64_t first = vector_count;
    for (int64_t row = q1, input_line = 0; row < count; row += period1, input_line += down) {
      const int64_t to_line = is_phased() ? (row * period2 + q2) * line_vectors * L : row * x_axis.out;
      for (int64_t x = 0; x < length; x += L) {
        const int64_t at = smallest(x, largest(length - L, 0));
        from[vector_count] = input_line + at;
        to[vector_count++] = to_line + at;
      }
    }
    for (; (vector_count - first) % PLANE_VECTORS != 0; ++vector_count) {  // repeats the last
      from[vector_count] = from[vector_count - 1];
      to[vector_count] = to[vector_count - 1];
    }
  }

  // Elements x, x + advance, ... of a line go to begin, begin + 1, ... < end in a slot; `rest`: elements from x on.
  struct Slot {
    int64_t x, begin, end, rest;
  };

  void list_slots() {
    for (int64_t k = 0; k < advance; ++k) {
      const int64_t start = x_low + k, low = start < 0 ? ceil_div(-start, advance) : 0, x = start + low * advance;
      const int64_t begin = smallest(low, slot_width), rest = x_axis.in - x;
      slots[k] = {x, begin, rest > 0 ? smallest(begin + ceil_div(rest, advance), slot_width) : begin, rest};
    }
  }

  // Padding is zero already.
  __attribute__((noinline)) void copy_lines(const E* image) {
    const int64_t first = largest(y_low, 0), end = smallest(y_low + y_count, y_axis.in);
    for (int64_t k = 0; k < plane_count; ++k) {
      E* line = lines + (k * y_count + first - y_low) * pitch;
      for (int64_t y = first; y < end; ++y)
        for (int64_t slot = 0; slot < advance; ++slot, line += slot_width)
          copy_slot(image + planes[k] + y * y_axis.in_stride, slots[slot], line + slots[slot].begin);
    }
  }

  // Ascending: the surplus zeros of a short line lie in the padding, or are overwritten by later writes.
  void copy_slot(const E* line, const Slot& slot, E* to) const {
    const E* const source = line + slot.x;
    const int64_t count = slot.end - slot.begin;
    int64_t i = 0;
    if (advance == 1) {
      for (; i + L <= count; i += L) write(to + i, read(source + i));
      if (i == count) return;
      if (count > L) write(to + count - L, read(source + count - L));
      else write(to, read_n(source, count));
    } else if (advance == 2) {
      typename AllLanes<L>::type even;
      const int64_t end = smallest(slot.rest, 2 * count);
      for (; 2 * (i + L) <= end; i += L)
        write(to + i, take_even(read(source + 2 * i), read(source + 2 * i + L), even));
      if (i >= count) return;
      const int64_t left = end - 2 * i;
      const register_t<E> a = read_n(source + 2 * i, smallest(left, L));
      write(to + i, take_even(a, left > L ? read_n(source + 2 * i + L, left - L) : register_t<E>{}, even));
    } else {
      for (; i < count; ++i) to[i] = source[i * advance];
    }
  }

  // The results of `count` output lines of a feature.
  __attribute__((noinline)) void multiply(const E* weights, E* out, int64_t count) {
    E* const target = is_phased() ? results : out;
    for (int64_t q = 0; q < phase_count; ++q) {
      const Phase& phase = phases[q];
      const int64_t* const tap = taps + phase.first_tap;
      E of_taps[MOST_TAPS];
      for (int64_t t = 0; t < phase.taps; ++t) of_taps[t] = weights[kernel_taps[phase.first_tap + t]];
      const int64_t end = phase.first_vector + phase.vectors;
      for (int64_t v = phase.first_vector; v < end; v += PLANE_VECTORS)
        add_plane<E, A>(lines, tap, of_taps, phase.taps, from + v, target, to + v);
    }
    if (is_phased())
      for (int64_t row = 0; row < count; ++row) join_phases(results + row * period2 * line_vectors * L, out + row * x_axis.out);
  }

  // Interleaves the results of a line's phases.
  void join_phases(const E* line, E* out) const {
    const int64_t next = line_vectors * L;
    if (period2 == 1) {
      for (int64_t x = 0; x < x_axis.out; x += L) write(out + x, read(line + x));
    } else if (period2 == 2) {
      for (int64_t x = 0; 2 * x < x_axis.out; x += L) {
        const register_t<E> a = read(line + x), b = read(line + next + x);
        write(out + 2 * x, interleave_low(a, b));
        write(out + 2 * x + L, interleave_high(a, b));
      }
    } else {
      for (int64_t x = 0; x < x_axis.out; ++x) out[x] = line[x % period2 * next + x / period2];
    }
  }

  const Problem<E>& p;
  const Axis &x_axis, &y_axis;
  const E *input, *kernel;
  int64_t columns;
  E *lines, *tile, *results;
  int64_t period1, period2;             // numbers of phases
  int64_t advance, slot_width, pitch;   // of the copied lines
  int64_t x_low, line_vectors, most_lines;
  // For the current output lines.
  int64_t y_low, y_count, plane_count, tap_count, vector_count, phase_count;
  int64_t planes[MOST_TAPS], plane_taps[MOST_TAPS];
  int64_t taps[MOST_TAPS], kernel_taps[MOST_TAPS];
  int64_t from[MOST_VECTORS], to[MOST_VECTORS];
  Phase phases[MOST_PHASES];
  Slot slots[MOST_STEPS];
};

}  // namespace
