// Convolutions whose windows are as long as the lines of the input, so that they have few positions: gradients of weights. A
// matrix product of positions and features, summed over all taps of all channels. The rows of a strip are the same
// position in several images (input features of the layer whose gradient it is): they see the same taps, and their
// inputs are a constant distance apart, so that the input is not copied and pointers are not listed. The weights of up
// to TAPS taps are packed, and multiplied for all positions while they are in the L1 cache.
//
// A sum is accumulated in the order of channels, lines of the window, taps, however the work is divided. Taps in the
// padding are skipped.
#pragma once
#include "conv/lines.h"
#include "conv/padding.h"
#include "conv/window.h"

namespace {

// Taps along a line: offset of the first in the input of an image, index of the first among the packed ones.
struct TapRun {
  int64_t input, weights, count;
};

// The inputs of a strip: pointer for its first row, strides between rows and between taps.
template <class E>
struct StripInput {
  const E* first;
  int64_t row_stride, tap_stride;
};

template <class E>
using AddRuns = void (*)(const TapRun* runs, int64_t count, const StripInput<E>& input, const E* weights, E* sums,
                         int64_t ld);

// Adds runs to the sums of M rows and N vectors of features.
template <class E, int M, int N>
void add_runs(const TapRun* runs, int64_t count, const StripInput<E>& input, const E* weights, E* sums, int64_t ld) {
  constexpr int64_t L = LANES<E>;
  register_t<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) sum[r][v] = read(sums + r * ld + v * L);
  for (const TapRun* run = runs; run < runs + count; ++run) {
    const E* x[M];
    UNROLL for (int r = 0; r < M; ++r) x[r] = input.first + run->input + r * input.row_stride;
    const E* w = weights + run->weights * (N * L);
    const E* const end = w + run->count * (N * L);
    for (int64_t i = 0; w < end; w += N * L, i += input.tap_stride) {
      register_t<E> row[N];
      UNROLL for (int v = 0; v < N; ++v) row[v] = read(w + v * L);
      UNROLL for (int r = 0; r < M; ++r) {
        const E each = x[r][i];
        UNROLL for (int v = 0; v < N; ++v) sum[r][v] += each * row[v];
      }
    }
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(sums + r * ld + v * L, sum[r][v]);
}

// The micro-kernel for the largest supported number of rows up to `rows`, and this number.
template <class E>
struct StripKernel {
  AddRuns<E> add;
  int64_t rows;
};
template <class E, int N>
StripKernel<E> strip_kernel(int64_t rows) {
  constexpr int FULL = N == 1 ? 8 : 6 * SHLO_TILE_VECTORS / N;  // fills the registers, or hides the latency
  if (rows >= FULL) return {add_runs<E, FULL, N>, FULL};
  if (rows >= 4) return {add_runs<E, 4, N>, 4};
  if constexpr (N > 2)  // the three features of an RGB image
    if (rows == 3) return {add_runs<E, 3, N>, 3};
  if (rows >= 2) return {add_runs<E, 2, N>, 2};
  return {add_runs<E, 1, N>, 1};
}
template <class E>
StripKernel<E> strip_kernel(int64_t rows, int64_t vectors) {
  if constexpr (SHLO_TILE_VECTORS == 4) {
    if (vectors == 4) return strip_kernel<E, 4>(rows);
    if (vectors == 3) return strip_kernel<E, 3>(rows);
  }
  return vectors == 2 ? strip_kernel<E, 2>(rows) : strip_kernel<E, 1>(rows);
}

template <class E>
struct LongMemory {
  static constexpr int64_t TAPS = 32 * 1024 / sizeof(E) / COLUMNS;    // at a time
  static constexpr int64_t ROWS = 448 * 1024 / sizeof(E) / COLUMNS;
  alignas(64) E weights[TAPS * COLUMNS];
  alignas(64) E sums[ROWS * COLUMNS];
};

// Few images, or contiguous channels, are left to the indirect algorithm: its strips span positions, its runs channels.
template <class E>
bool is_long(const Problem<E>& p) {
  constexpr int64_t LEAST_TAPS = 4, LEAST_IMAGES = 3;
  const Axis* a = p.axis;
  return !p.narrow && a[0].hole == 1 && a[1].hole == 1 && a[2].hole == 1 && a[2].taps >= LEAST_TAPS &&
         a[2].out <= a[2].taps && (p.feature_stride != 1 || p.channels == 1) &&
         p.positions >= LEAST_IMAGES * a[0].out * a[1].out * a[2].out;
}

// One block of columns.
template <class E>
class LongBlock {
  typedef LongMemory<E> M;
  static constexpr int64_t L = LANES<E>, PANEL = SHLO_TILE_VECTORS * L;

 public:
  LongBlock(const Problem<E>& problem, M& memory, const E* input, const E* kernel, int64_t columns)
      : p(problem), m(memory), x_axis(problem.axis[2]), input(input), kernel(kernel), columns(columns),
        lines(problem.axis[0].taps * problem.axis[1].taps),
        places(problem.axis[0].out * problem.axis[1].out * problem.axis[2].out) {}

  void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    const int64_t chunk = ceil_div(last - first, largest(ceil_div(last - first, M::ROWS), 1));
    for (; first < last; first += chunk) {
      const int64_t rows = smallest(chunk, last - first);
      __builtin_memset(m.sums, 0, rows * COLUMNS * sizeof(E));
      part_count = packed = 0;
      for (int64_t c = 0; c < p.channels; ++c)
        for (int64_t k = 0; k < lines; ++k)
          for (int64_t t = 0, count; t < x_axis.taps; t += count) {
            count = smallest(x_axis.taps - t, M::TAPS - packed);
            pack(c, k, t, count);
            if (packed == M::TAPS) multiply(first, rows);
          }
      multiply(first, rows);
      epilogue(context, m.sums, COLUMNS, first, rows, j0, columns);
    }
  }

 private:
  // Packed taps of a line: offset of the first from the beginning of a window, offset of the channel in the input.
  struct Part {
    int64_t behind[3], channel, weights, count;
  };

  void pack(int64_t c, int64_t k, int64_t tap, int64_t count) {
    const int64_t k0 = k / p.axis[1].taps, k1 = k % p.axis[1].taps;
    parts[part_count++] = {{k0 * p.axis[0].gap, k1 * p.axis[1].gap, tap * x_axis.gap}, c * p.feature_stride, packed, count};
    const E* const from = kernel + c * p.kernel_in_stride + p.tap_offset(k * x_axis.taps + tap);
    const int64_t step = x_axis.kernel_stride;
    for (int64_t j = 0; j < columns; j += PANEL) {
      const int64_t width = smallest(PANEL, columns - j), wide = round_up(width, L);
      E* const to = m.weights + j * M::TAPS + packed * wide;
      const E* const panel = from + j * p.kernel_out_stride;
      if (step == 1 && p.kernel_out_stride != 1)
        transpose_features(to, wide, panel, p.kernel_out_stride, count, width);
      else
        for (int64_t t = 0; t < count; ++t) copy_features(panel + t * step, width, to + t * wide);
    }
    packed += count;
  }

  // One tap, zero-padded to whole vectors.
  void copy_features(const E* from, int64_t width, E* to) const {
    if (p.kernel_out_stride == 1) {
      int64_t j = 0;
      for (; j + L <= width; j += L) write(to + j, read(from + j));
      if (j < width) write(to + j, read_n(from + j, width - j));
    } else {
      for (int64_t j = 0; j < round_up(width, L); ++j) to[j] = j < width ? from[j * p.kernel_out_stride] : E(0);
    }
  }

  // Multiplies the packed taps for the positions [first, first + rows), and clears them.
  void multiply(int64_t first, int64_t rows) {
    for (int64_t place = 0; place < places; ++place) {
      const int64_t low = ceil_div(first - place, places), high = ceil_div(first + rows - place, places);
      const int64_t count = low < high ? list_runs(place) : 0;
      if (count == 0) continue;
      for (int64_t j = 0; j < columns; j += PANEL) {
        const int64_t vectors = ceil_div(smallest(PANEL, columns - j), L);
        for (int64_t image = low; image < high;) {
          const StripKernel<E> strip = strip_kernel<E>(high - image, vectors);
          const StripInput<E> from = {input + image * p.batch_stride, p.batch_stride, x_axis.gap * x_axis.in_stride};
          strip.add(runs, count, from, m.weights + j * M::TAPS, m.sums + (image * places + place - first) * COLUMNS + j,
                    places * COLUMNS);
          image += strip.rows;
        }
      }
    }
    part_count = packed = 0;
  }

  // The packed taps that lie inside the input when the window is at `place`.
  int64_t list_runs(int64_t place) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const int64_t line = place / x_axis.out, start2 = x_axis.start(place % x_axis.out);
    const int64_t start0 = a.start(line / b.out), start1 = b.start(line % b.out);
    int64_t count = 0;
    for (const Part* part = parts; part < parts + part_count; ++part) {
      const int64_t y0 = a.index(start0 + part->behind[0]), y1 = b.index(start1 + part->behind[1]);
      if (y0 < 0 || y1 < 0) continue;
      const int64_t start = start2 + part->behind[2];
      const Axis::Range seen = x_axis.inside(start, part->count);
      if (seen.low >= seen.high) continue;
      const int64_t x = start + seen.low * x_axis.gap;
      runs[count++] = {part->channel + y0 * a.in_stride + y1 * b.in_stride + x * x_axis.in_stride,
                       part->weights + seen.low, seen.high - seen.low};
    }
    return count;
  }

  const Problem<E>& p;
  M& m;
  const Axis& x_axis;
  const E *input, *kernel;  // of the first column
  int64_t columns, lines, places;  // lines: of the window; places: positions of one image
  int64_t part_count, packed;  // packed: taps
  Part parts[M::TAPS];
  TapRun runs[M::TAPS];
};

template <class E>
union LongMemories {
  LongMemory<E> dense;
  LinesMemory<E> lines;
  WindowMemory<E> window;
};

template <class E>
__attribute__((noinline)) void compute_long_tasks(const Problem<E>& p, int64_t begin, int64_t end, void* scratch,
                                                  ShloEpilogue epilogue, void* context) {
  const bool lines = has_long_lines(p), windows = has_long_windows(p);
  struct Scratch {
    LongMemories<E> memory;
    TransposedTile<E> transposed;
  };
  static_assert(sizeof(Scratch) <= SHLO_CONV_SCRATCH, "SHLO_CONV_SCRATCH is too small");
  Scratch& own = *(Scratch*)scratch;
  if (p.conv->transposed) {
    own.transposed.epilogue = epilogue;
    own.transposed.context = context;
    context = &own.transposed;
    epilogue = transpose_tile<E>;
  }
  const int64_t position_blocks = ceil_div(p.positions, SHLO_CONV_ROWS), column_blocks = ceil_div(p.features, COLUMNS);
  end = smallest(end, p.groups * column_blocks * position_blocks);
  while (begin < end) {
    const int64_t block = begin / position_blocks, first = begin % position_blocks * SHLO_CONV_ROWS;
    const int64_t stop = smallest(end, (block + 1) * position_blocks);
    const int64_t last = smallest(p.positions, first + (stop - begin) * SHLO_CONV_ROWS);
    const int64_t group = block / column_blocks, j0 = block % column_blocks * COLUMNS;
    const int64_t feature = group * p.features + j0, columns = smallest(COLUMNS, p.features - j0);
    const E* const input = p.input + (p.narrow ? j0 : group) * p.group_stride;
    const E* const kernel = p.kernel + feature * p.kernel_out_stride;
    const auto compute = [&](auto&& part) { part.run(first, last, feature, epilogue, context); };
    if (lines) compute(LinesBlock<E>(p, own.memory.lines, input, kernel, columns));
    else if (windows) compute(WindowBlock<E>(p, own.memory.window, input, kernel, columns));
    else compute(LongBlock<E>(p, own.memory.dense, input, kernel, columns));
    begin = stop;
  }
}

template <class E>
bool convolve_long(const ShloConv& conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, void* context) {
  const Problem<E> p = normalize<E>(conv);
  if (!has_long_lines(p) && !has_long_windows(p) && !is_long(p)) return false;
  with_padded_tiles(p, epilogue, context, [&](ShloEpilogue take, void* taker) {
    compute_long_tasks(p, begin, end, scratch, take, taker);
  });
  return true;
}

}  // namespace

#define SHLO_LONG_CONVOLUTION(name, E)                                                                                \
  bool shlo_conv_long_##name(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, \
                             void* context) {                                                                         \
    return convolve_long<E>(*conv, begin, end, scratch, epilogue, context);                                          \
  }
