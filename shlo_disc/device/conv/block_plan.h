// How one block of columns is computed: whether its input is copied, whether its weights are packed, and how many
// positions, channels and taps are taken at a time.
#pragma once
#include "conv/positions.h"
#include "conv/problem.h"
#include "conv/quads.h"
#include "conv/weights.h"

namespace {

constexpr int64_t TILE_ROWS = SHLO_CONV_ROWS;     // positions whose sums stay in the L1 cache
constexpr int64_t CHANNELS = 16;                  // channel blocks are multiples of this
constexpr int64_t MERGE_CHANNELS = 32;            // up to this many, longer runs justify copying the input
constexpr int64_t SEGMENT = 96;                   // positions of one line that justify a separate chunk

// Like pack_numbers, for the features from `feature` on.
template <class A, class E, class S>
void pack_weights(const Problem<E, S>& p, int64_t feature, int64_t columns, int64_t panel, int64_t c0, int64_t cn,
                  int64_t t0, int64_t t1, E* to) {
  const S* const kernel = p.kernel + feature * p.kernel_out_stride;
  if constexpr (A::step > 1) pack_quads<A>(p, kernel, columns, panel, c0, cn, t0, t1, to);
  else if (p.is_foreign()) p.conv->pack(p.conv, feature, columns, panel, c0, cn, t0, t1, to);
  else pack_numbers(p, kernel, columns, panel, c0, cn, t0, t1, to);
}

template <class E, class A>
int64_t panel_columns(int64_t columns) {
  return smallest(round_up(columns, LANES<E>), A::panel * LANES<E>);
}

// Channels [c0, c0 + cn) of steps [t0, t0 + tn): a step is a tap or, with merged taps, all taps of a line.
struct Part {
  int64_t c0, cn, t0, tn;
  int64_t before;  // weights for one column in earlier parts
};

template <class E, class A>
class BlockPlan {
 protected:
  typedef Memory<E> M;
  typedef typename A::Memory S;

 public:
  // The columns of `together` groups; if there are several, they share one list of input pointers.
  BlockPlan(const Problem<E, S>& problem, Memory<E>& memory, const S* input, int64_t feature, int64_t columns,
              bool depthwise, int64_t together)
      : p(problem), m(memory), x_axis(problem.axis[2]), input(input), feature(feature), columns(columns),
        padded(round_up(columns, LANES<E>)), depthwise(depthwise),
        channels(depthwise ? 1 : ceil_div(problem.channels, A::step)),
        lines_per_output(problem.axis[0].taps * problem.axis[1].taps), taps(lines_per_output * x_axis.taps),
        capacity(M::WEIGHTS / padded), together(together) {}

  // Sets the packed weights of the whole block, or `bytes` of memory that may hold them for all positions.
  void use(const E* packed) { ready = packed; }
  void use(E* memory, int64_t bytes) {
    room = bytes / M::SIZE;
    if (taps * channels * padded <= room) kept = memory;
  }

  // Chooses how to compute `rows` positions. False if impossible: a window larger than the memory, if depthwise or of
  // bytes that have to be copied.
  SHLO_ONCE bool plan(int64_t rows) {
    panel = depthwise ? padded : panel_columns<E, A>(columns / together);
    full = full_strip(panel / LANES<E>, !depthwise && padded == panel * together, A::panel);
    const bool contiguous = A::step == 1 ? p.feature_stride == 1 || channels == 1
                                         : p.feature_stride == 1 && p.channels % A::step == 0;
    const bool mergeable = !depthwise && x_axis.hole == 1 && x_axis.gap == 1 && x_axis.taps > 1;
    const bool in_place = depthwise ? p.feature_stride == 1 && columns >= LANES<E>
                                    : contiguous && (together > 1 || !(mergeable && channels <= MERGE_CHANNELS));
    if (in_place || !plan_lines(mergeable)) {
      if (!in_place && (depthwise || (A::step > 1 && !contiguous))) return false;
      plan_in_place(rows, contiguous || depthwise);
    } else if (ready && merged && channel_block < channels && !plan_lines(false)) {
      plan_lines(mergeable);  // merged runs of part of the channels do not match the packed layout
    }
    steps = lines_per_output * x_taps;
    if (depthwise || (merged && channel_block < channels)) ready = kept = nullptr;
    if (ready) unpacked = false;
    cached = !unpacked && taps * channels <= capacity;
    dilated = p.axis[0].hole * p.axis[1].hole * p.axis[2].hole != 1;
    for (int k = 0; k < 3; ++k) gaps[k] = p.axis[k].place(p.axis[k].gap);
    near = channel_block >= channels && tap_block >= steps && !dilated;
    chunk = near && !copied ? TILE_ROWS : M::ROWS;
    if (segment > 0) chunk = smallest(chunk, segment);
    else chunk = smallest(chunk, round_up(ceil_div(rows, ceil_div(largest(rows, 1), chunk)), full));
    return true;
  }

 protected:
  void plan_in_place(int64_t rows, bool contiguous) {
    copied = merged = false;
    segment = 0;
    x_taps = x_axis.taps;
    pixel = x_axis.in_stride;
    // Non-contiguous channels are processed one by one.
    channel_block = contiguous ? smallest(channels, smallest(capacity, M::ZEROS)) : 1;
    // Packing the weights of a panel pays if they are scattered and used more than once.
    unpacked = A::step == 1 && !depthwise && !p.is_foreign() && p.kernel_out_stride == 1 && columns == padded &&
               channels == channel_block && (p.kernel_in_stride == columns || rows <= full);
    tap_block = unpacked ? taps : capacity / largest(channel_block, 1);
    tap_block = largest(smallest(smallest(tap_block, taps), Strip<E>::MAX_TAPS), 1);
  }

  // Whether lines can be copied; chooses how many channels and how much of the lines to copy at a time.
  bool plan_lines(bool mergeable) {
    merged = mergeable;
    x_taps = merged ? 1 : x_axis.taps;
    tap_block = lines_per_output * x_taps;
    if (taps == 0 || channels == 0 || lines_per_output > M::LINE_TAPS || tap_block > Strip<E>::MAX_TAPS) return false;
    const int64_t reach = (x_axis.taps - 1) * x_axis.gap + 1;
    line_width = largest(merged ? x_axis.start(x_axis.out - 1) + x_axis.low + reach : x_axis.in, 1);
    const int64_t output_lines = smallest(p.positions, M::ROWS) / x_axis.out + 2;
    const int64_t chunk_lines = p.axis[0].taps * ((output_lines - 1) * p.axis[1].step + p.axis[1].taps);
    const bool lines_shared = p.axis[0].step < p.axis[0].taps || p.axis[1].step < p.axis[1].taps;
    int64_t room = 0;  // pixels
    for (channel_block = channels;; channel_block = round_up(channel_block / 2, CHANNELS)) {
      room = M::LINES / (depthwise ? padded : channel_block);
      segment = (room / lines_per_output - reach) / x_axis.step + 1;  // positions in a line
      const bool last = channel_block <= CHANNELS;
      if (taps * channel_block > capacity || reach * channel_block > M::ZEROS) {
        if (last) return false;
        continue;
      }
      if (last || chunk_lines * line_width <= room) break;
      if (!lines_shared && segment >= smallest(SEGMENT, x_axis.out)) break;
    }
    slot_count = smallest(room / line_width, M::LINE_TAPS);
    const bool are_short = x_axis.out <= SEGMENT;
    if (slot_count >= lines_per_output && (lines_shared || are_short || slot_count >= chunk_lines)) segment = 0;
    else if (room / lines_per_output < reach) return false;
    else slot_count = lines_per_output;
    copied = true;
    unpacked = false;
    pixel = depthwise ? padded : channel_block;
    return true;
  }

  template <class Function>
  __attribute__((always_inline)) void for_parts(Function function) {
    int64_t before = 0;
    for (int64_t c0 = 0; c0 < channels; c0 += channel_block)
      for (int64_t t0 = 0; t0 < steps; t0 += tap_block) {
        const Part part = {c0, smallest(channel_block, channels - c0), t0, smallest(tap_block, steps - t0), before};
        function(part);
        before += part.tn * run_length(part);
      }
  }

  void pack(E* to, const Part& part) {
    const int64_t each = merged ? x_axis.taps : 1;
    pack_weights<A>(p, feature, columns, panel, part.c0, part.cn, part.t0 * each, (part.t0 + part.tn) * each, to);
  }

  int64_t run_length(const Part& part) const { return part.cn * (merged ? x_axis.taps : 1); }

  const Problem<E, S>& p;
  Memory<E>& m;
  const Axis& x_axis;
  const S* input;  // of the first channel
  int64_t feature, columns, padded;
  bool depthwise;
  // `A::step` channels count as one. `capacity`: weights per column that fit.
  int64_t channels, lines_per_output, taps, capacity, together;
  // The plan.
  bool copied, merged;         // lines are copied; the taps along a line form one run
  bool unpacked, cached;       // weights are read in place; weights are packed once
  const E* ready = nullptr;    // all weights, packed for all positions
  E* kept = nullptr;           // memory for them
  int64_t room = 0;            // its elements
  int64_t all_columns = 0;     // columns computed for each chunk
  E* all_packed = nullptr;     // their weights, if this block packs them
  bool dilated, near;          // holes in the input; a single part, so that the tile can be small
  Place gaps[3];               // from one tap to the next
  int64_t panel, full;         // columns and positions of a register tile
  int64_t channel_block, tap_block, x_taps, steps;
  int64_t chunk, segment;      // positions at a time; those of one line if lines are copied in parts, else 0
  int64_t slot_count, line_width;
  int64_t pixel;               // from one x to the next
};

}  // namespace
