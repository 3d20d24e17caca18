// Convolutions by the indirect algorithm (M. Dukhan, The Indirect Convolution Algorithm, 2019, arXiv 1907.02129): a
// matrix product whose rows are not copied (im2col) but read through pointers, one per output position and kernel
// tap; if a tap lies in the padding, its pointer refers to a row of zeros. So the inner loop has no conditions, and
// strides, dilations, padding and batches affect only how the pointers are computed.
//
// One column block (up to 64 output features) is computed for many consecutive positions:
//   weights  packed as panels [tap][channel][columns of a panel], once if they fit into the scratch memory, else in parts
//            (ranges of taps or of channels) whose products are accumulated in the tile
//   input    read in place if its features are contiguous and numerous enough; else the input lines (rows along
//            the last spatial dimension) that a chunk of positions needs are copied to [x][feature] with their padding,
//            and the taps along the line merge into one run of `taps * features` numbers
//   strips   6 to 12 positions whose sums stay in registers; taps that are padding for a whole strip are skipped, and
//            with a dilated input the positions of a strip have the same phase, so that almost no zeros are multiplied
// Depthwise convolutions use the same scheme, with a micro-kernel whose vectors run along the features.
#pragma once
#include "conv/narrow.h"
#include "conv/padding.h"
#include "conv/plane.h"
#include "conv/problem.h"
#include "conv/quads.h"
#include "conv/weights.h"

namespace {

constexpr int64_t TILE_ROWS = SHLO_CONV_ROWS;     // positions whose sums stay in the L1 cache
constexpr int64_t CHANNELS = 16;                  // channel blocks are multiples of this
constexpr int64_t MERGE_CHANNELS = 32;            // up to this many, longer runs justify copying the input
constexpr int64_t SEGMENT = 96;                   // positions of one line that justify a separate chunk
constexpr int64_t MOST_PHASES = 144;              // with more, positions are not sorted by phase

// ---- weights ---------------------------------------------------------------------------------------------------------

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

// ---- one block of columns --------------------------------------------------------------------------------------------

// Eight positions at a time.
typedef lanes_t<int64_t, 8> eight;

SHLO_INLINE eight read_eight(const int64_t* p) {
  eight v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SHLO_INLINE void write_eight(int64_t* p, eight v) { __builtin_memcpy(p, &v, sizeof v); }
SHLO_INLINE bool any(const eight& mask) {
  lanes_t<int64_t, 4> half[2];
  __builtin_memcpy(half, &mask, sizeof mask);
  const lanes_t<int64_t, 4> both = half[0] | half[1];
  return (both[0] | both[1] | both[2] | both[3]) != 0;
}

// The positions of a chunk, padded with copies of the last. Positions whose windows begin at the same distance behind
// the preceding input element see the same holes: they have the same phase.
template <int64_t N>
struct Positions {
  int64_t image[N + 16];     // address
  int64_t index[3][N + 16];  // input index where the window begins
  int64_t phase[N + 16];
  int64_t line[N + 16];      // output line within the chunk
  int64_t row[N + 16];       // row within the chunk

  void set(int64_t to, const Positions& from, int64_t i) {
    image[to] = from.image[i];
    for (int k = 0; k < 3; ++k) index[k][to] = from.index[k][i];
    phase[to] = from.phase[i];
    line[to] = from.line[i];
    row[to] = from.row[i];
  }
  // Appends 16 copies of the last of `count` positions.
  void repeat_last(int64_t count) {
    int64_t* const all[] = {image, index[0], index[1], index[2], phase, line, row};
    for (int64_t* each : all)
      for (int64_t i = 0; i < 16; i += 8) write_eight(each + count + i, eight{} + each[count - 1]);
  }
};

template <class E>
struct Memory {
  static constexpr int64_t SIZE = sizeof(E), WEIGHTS = 448 * 1024 / SIZE, LINES = 256 * 1024 / SIZE;
  static constexpr int64_t ROWS = 96 * 1024 / SIZE / COLUMNS, ZEROS = 16 * 1024 / SIZE, LINE_TAPS = 4096;
  alignas(64) E weights[WEIGHTS];
  alignas(64) E lines[LINES + 64];
  alignas(64) E tile[(ROWS + 1) * COLUMNS];  // the last row receives surplus results
  alignas(64) E zeros[ZEROS];
  TurnedTile<E> turned;
  Strip<E> strip;
  Positions<ROWS> positions, unsorted;
  int32_t slots[LINE_TAPS];        // [output line][tap across lines]: copied line, -1 for padding
  const void* sources[LINE_TAPS];  // of the copied lines
};
static_assert(Memory<double>::ROWS * COLUMNS >= NarrowBlock<double, Whole<double>>::TILE, "a tile fits");
static_assert(sizeof(Memory<float>) <= SHLO_CONV_SCRATCH && sizeof(Memory<double>) <= SHLO_CONV_SCRATCH,
              "SHLO_CONV_SCRATCH is too small");

// Channels [c0, c0 + cn) of steps [t0, t0 + tn): a step is a tap or, with merged taps, all taps of a line.
struct Part {
  int64_t c0, cn, t0, tn;
  int64_t before;  // weights for one column in earlier parts
};

template <class E, class A, bool GROUPED>
class ColumnBlock {
  typedef Memory<E> M;
  typedef typename A::Memory S;

 public:
  // The columns of `together` groups; if there are several, they share one list of input pointers.
  ColumnBlock(const Problem<E, S>& problem, Memory<E>& memory, const S* input, int64_t feature, int64_t columns,
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

  // Whether all `count` columns are computed for each chunk of copied lines: if copying is much of the work
  // and the weights stay packed, or if no weights are read twice.
  SHLO_ONCE bool plan_columns(int64_t first, int64_t last, int64_t count) {
    const int64_t needed = taps * channels * round_up(count, LANES<E>);
    if (!copied || !near) return false;
    if (!ready && needed <= M::WEIGHTS) all_packed = m.weights;
    else if (!ready && needed <= room) all_packed = kept;
    const bool stay = ready ? taps == 1 || needed <= M::WEIGHTS : all_packed != nullptr;
    if (!stay && take_positions(first, last) < last - first) return false;
    all_columns = count;
    return true;
  }

  // Like `run`, for all columns.
  SHLO_ONCE void run_columns(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    clear_zeros();
    const E* const given = ready;
    const int64_t first_feature = feature;
    const Part whole = {0, channels, 0, steps, 0};
    const auto for_blocks = [&](auto&& function) {
      for (int64_t j = 0; j < all_columns; j += COLUMNS) {
        columns = smallest(COLUMNS, all_columns - j);
        padded = round_up(columns, LANES<E>);
        panel = panel_columns<E, A>(columns);
        full = full_strip(panel / LANES<E>, padded == panel, A::panel);
        feature = first_feature + j;
        function(j);
      }
    };
    const auto pack_to = [&](E* to) { pack_weights<A>(p, feature, columns, panel, 0, channels, 0, taps, to); };
    if (all_packed) for_blocks([&](int64_t j) { pack_to(all_packed + j * taps * channels); });
    while (first < last) {
      const int64_t rows = take_positions(first, last);
      copy_lines(whole);
      for_blocks([&](int64_t j) {
        if (!given && !all_packed) pack_to(m.weights);
        ready = given ? given + j * taps * channels : all_packed ? all_packed + j * taps * channels : m.weights;
        multiply_near(first, rows, j0 + j, epilogue, context);
      });
      first += rows;
    }
  }

  SHLO_ONCE void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    clear_zeros();
    if (!ready && kept && !unpacked && !cached && last - first > chunk) {
      pack_weights<A>(p, feature, columns, panel, 0, channels, 0, taps, kept);
      ready = kept;
    }
    if (cached && !ready) for_parts([&](const Part& part) { pack(m.weights + part.before * padded, part); });
    while (first < last) {
      const int64_t rows = take_positions(first, last);
      bool add = false;
      for_parts([&](const Part& part) {
        if (!cached && !unpacked && !ready) pack(m.weights, part);
        if (copied) copy_lines(part);
        if (!near) multiply_rows(0, rows, part, add);
        add = true;
      });
      if (near) multiply_near(first, rows, j0, epilogue, context);
      else epilogue(context, m.tile, COLUMNS, first, rows, j0, columns);
      first += rows;
    }
  }

 private:
  void clear_zeros() {
    const int64_t zeros = largest(COLUMNS, channel_block * (merged ? x_axis.taps : 1));
    __builtin_memset(m.zeros, 0, smallest(zeros, M::ZEROS) * sizeof(E));
  }

  // Computes the chunk's `rows` positions from `first` on, a tile at a time; all taps and channels are one part.
  void multiply_near(int64_t first, int64_t rows, int64_t j0, ShloEpilogue epilogue, void* context) {
    for (int64_t i = 0; i < rows; i += TILE_ROWS) {
      const int64_t count = smallest(TILE_ROWS, rows - i);
      multiply_rows(i, count, {0, channels, 0, channels > 0 ? steps : 0, 0}, false);
      epilogue(context, m.tile, COLUMNS, first + i, count, j0, columns);
    }
  }

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
  // The copied lines of the chunk of positions.
  int64_t used_slots, x_first, x_count;
};

// How many groups one block computes: their output features fill whole vectors, and their input features are adjacent
// to those of the next group. (In padding, up to 64 of these are read from the row of zeros.)
template <class E, class S>
int64_t most_together(const Problem<E, S>& p) {
  const bool neighbours = p.feature_stride == 1 && p.group_stride == p.channels;
  if (p.narrow || !neighbours || p.channels < LANES<E> || p.features % SHLO_CONV_PADDING != 0) return 1;
  return largest(COLUMNS / largest(p.features, p.channels), 1);
}

// Hands zeros to the epilogue: the sums of windows without elements.
template <class E>
void give_zeros(Memory<E>& memory, int64_t first, int64_t last, int64_t feature, int64_t columns, ShloEpilogue epilogue,
                void* context) {
  constexpr int64_t ROWS = Memory<E>::ROWS;
  __builtin_memset(memory.tile, 0, sizeof memory.tile);
  for (; first < last; first += ROWS)
    epilogue(context, memory.tile, COLUMNS, first, smallest(ROWS, last - first), feature, columns);
}

// Ungrouped convolutions are compiled separately: the kernels of narrow groups are most of the code.
template <class E, class A, bool GROUPED>
__attribute__((noinline)) void compute_tasks(const Problem<E, typename A::Memory>& p, int64_t begin, int64_t end,
                                             void* scratch, ShloEpilogue epilogue, void* context) {
  typedef typename A::Memory S;
  const ShloConv& conv = *p.conv;
  Memory<E>& memory = *(Memory<E>*)scratch;
  const ShloEpilogue given = epilogue;
  void* const given_context = context;
  if (conv.turned) {
    memory.turned.epilogue = epilogue;
    memory.turned.context = context;
    context = &memory.turned;
    epilogue = turn_tile<E>;
  }
  const int64_t position_blocks = ceil_div(p.positions, SHLO_CONV_ROWS), column_blocks = ceil_div(p.features, COLUMNS);
  end = smallest(end, p.groups * column_blocks * position_blocks);
  const bool empty = p.taps() == 0 || p.channels == 0;  // nothing is multiplied, and nothing would write the tile
  while (begin < end) {
    const int64_t block = begin / position_blocks, first = begin % position_blocks * SHLO_CONV_ROWS;
    int64_t together = 1;  // groups computed at once, if all their positions are in range
    if constexpr (GROUPED)
      if (first == 0 && !empty) together = largest(smallest(most_together<E>(p), (end - begin) / position_blocks), 1);
    const int64_t stop = smallest(end, (block + together) * position_blocks);
    const int64_t last = smallest(p.positions, first + (stop - begin) * SHLO_CONV_ROWS);
    const int64_t group = block / column_blocks, j0 = block % column_blocks * COLUMNS;
    const int64_t feature = group * p.features + j0, first_group = p.narrow ? j0 / p.members : group;
    const int64_t columns = together > 1 ? together * p.features : smallest(COLUMNS, p.features - j0);
    if (empty) {
      give_zeros(memory, first, last, feature, columns, epilogue, context);
      begin = stop;
      continue;
    }
    const S* const input = p.input + first_group * p.group_stride;
    const S* const kernel = p.kernel + feature * p.kernel_out_stride;
    const auto give_weights = [&](auto& part) {
      if (p.packed) part.use(p.packed + p.packed_offset(group, j0, A::step));
      else part.use((E*)((char*)scratch + SHLO_CONV_SCRATCH), conv.room);
    };
    const auto compute = [&](int64_t skip, int64_t count, bool depthwise, int64_t groups = 1) {
      ColumnBlock<E, A, GROUPED> part(p, memory, input + skip / p.members * p.group_stride, feature + skip, count, depthwise,
                                      groups);
      give_weights(part);
      if (!part.plan(last - first)) return false;
      part.run(first, last, feature + skip, epilogue, context);
      return true;
    };
    const int64_t blocks = smallest(column_blocks - block % column_blocks, (end - begin) / position_blocks);
    if (!p.narrow && first == 0 && blocks > 1) {
      ColumnBlock<E, A, GROUPED> part(p, memory, input, feature, COLUMNS, false, 1);
      give_weights(part);
      if (part.plan(last) && part.plan_columns(0, last, smallest(blocks * COLUMNS, p.features - j0))) {
        part.run_columns(0, last, feature, epilogue, context);
        begin += blocks * position_blocks;
        continue;
      }
    }
    begin = stop;
    if constexpr (GROUPED) {
      const auto compute_narrow = [&](auto&& part) {
        if (!part.plan(memory.weights, Memory<E>::WEIGHTS)) return false;
        part.run(first, last, feature, memory.tile, epilogue, context);
        return true;
      };
      typedef TurnedNarrowBlock<E, A> Turned;
      if (p.narrow) {
        PlaneBlock<E, A> plane(p, input, kernel, columns);
        if (conv.turned && plane.plan(memory.lines, Memory<E>::LINES, memory.tile, Memory<E>::ROWS * COLUMNS)) {
          plane.run(first, last, feature, given, given_context);
          continue;
        }
        if (!compute_narrow(NarrowBlock<E, A>(p, input, kernel, columns)) &&
            !compute_narrow(Turned(p, input, kernel, columns, memory.lines, Memory<E>::LINES)) &&
            !(p.channels == 1 && compute(0, columns, true)))
          for (int64_t j = 0; j < columns; j += p.members) compute(j, p.members, false);
        continue;
      }
    }
    const bool computed = compute(0, columns, false, together);
    if constexpr (A::step > 1)
      if (!computed) add_one_by_one(p, input, kernel, columns, first, last, feature, memory.tile, epilogue, context);
  }
}

template <class E, class A, bool GROUPED>
void convolve(const ShloConv& conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, void* context) {
  const Problem<E, typename A::Memory> p = normalize<E, typename A::Memory>(conv);
  with_padded_tiles(p, epilogue, context, [&](ShloEpilogue take, void* taker) {
    compute_tasks<E, A, GROUPED>(p, begin, end, scratch, take, taker);
  });
}

template <class E, class A>
void pack(const ShloConv& conv, int64_t begin, int64_t end, E* packed) {
  typedef typename A::Memory S;
  const Problem<E, S> p = normalize<E, S>(conv);
  const int64_t blocks = ceil_div(p.features, COLUMNS);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t group = block / blocks, j0 = block % blocks * COLUMNS, columns = smallest(COLUMNS, p.features - j0);
    pack_weights<A>(p, group * p.features + j0, columns,
                    panel_columns<E, A>(columns), 0, ceil_div(p.channels, A::step), 0, p.taps(),
                    packed + p.packed_offset(group, j0, A::step));
  }
}

}  // namespace

// NAME: ungrouped convolutions; groups_NAME: grouped ones.
#define SHLO_CONVOLUTION(name, E, A, grouped)                                                                         \
  void shlo_conv_##name(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue,      \
                        void* context) {                                                                              \
    convolve<E, A, grouped>(*conv, begin, end, scratch, epilogue, context);                                           \
  }                                                                                                                   \
  void shlo_conv_pack_##name(const ShloConv* conv, int64_t begin, int64_t end, void* packed) {                       \
    pack<E, A>(*conv, begin, end, (E*)packed);                                                                           \
  }
