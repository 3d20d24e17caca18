// Convolutions by the indirect algorithm (M. Dukhan, The Indirect Convolution Algorithm, 2019, arXiv 1907.02129): a
// matrix product whose rows are not copied (im2col) but found through pointers, one for each output position and kernel
// tap; where a tap lies in the padding, its pointer shows a row of zeros. So the inner loop has no conditions, and strides,
// dilations, padding and batches differ only in how the pointers are made.
//
// One column block (up to 64 output features) is computed for many positions in a row:
//   weights  packed as panels [tap][channel][columns of a panel], once if they fit into the scratch memory, else in parts
//            (ranges of taps or of channels) whose products add up in the tile
//   input    read in place if its features are next to each other, and enough of them; else the input lines (rows along
//            the last spatial dimension) that a chunk of positions needs are copied to [x][feature] with their padding,
//            and the taps along the line merge into one run of `taps * features` numbers
//   strips   6 to 12 positions whose sums stay in registers; taps that are padding for a whole strip are left out, and
//            with a dilated input the positions of a strip have the same phase, so that almost no zeros are multiplied
// Depthwise convolutions take the same way with a kernel whose vectors run along the features.
#include "conv.h"

#include "vec.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

#if defined(__AVX512F__)
constexpr int64_t VECTOR_BYTES = 64, PANEL_VECTORS = 4;
#elif defined(__AVX__)
constexpr int64_t VECTOR_BYTES = 32, PANEL_VECTORS = 2;
#elif defined(__ARM_NEON)
constexpr int64_t VECTOR_BYTES = 16, PANEL_VECTORS = 4;
#else
constexpr int64_t VECTOR_BYTES = 16, PANEL_VECTORS = 2;
#endif
constexpr int64_t COLUMNS = SHLO_CONV_COLUMNS;  // also the leading dimension of the tile
constexpr int64_t MAX_STRIP = 12;               // positions
constexpr int64_t SHORT_RUN = 16;               // fewer numbers per pointer are worth copying the input for longer runs
constexpr int64_t SHORT_CHUNK = 2 * SHLO_CONV_ROWS;

template <class E> constexpr int64_t LANES = VECTOR_BYTES / int64_t(sizeof(E));
template <class E> using vector = lanes_t<E, LANES<E>>;

constexpr int64_t smallest(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
constexpr int64_t positive_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

template <class E>
SHLO_INLINE vector<E> read(const E* p) {
  vector<E> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class E>
SHLO_INLINE void write(E* p, vector<E> v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// ---- the problem -----------------------------------------------------------------------------------------------------

struct Axis {
  int64_t in, taps, out, step, low, hole, gap, in_stride, kernel_stride;  // hole, gap: dilation of input, window

  // The first place in the padded and dilated input that output `o` looks at.
  int64_t start(int64_t o) const { return o * step - low; }
  // The input index at a place, -1 in padding and holes.
  int64_t index(int64_t place) const {
    if (place < 0) return -1;
    if (hole != 1) {
      if (place % hole != 0) return -1;
      place /= hole;
    }
    return place < in ? place : -1;
  }
};

// Always three spatial axes; a reversed window is one with negative strides.
template <class E>
struct Problem {
  const E *input, *kernel;
  Axis axis[3];
  int64_t batch_stride, feature_stride, kernel_in_stride, kernel_out_stride;
  int64_t channels, features, groups, positions;  // channels, features: input and output features of one group
  bool depthwise;
};

// Makes one axis of three where the window is one point that visits every point, and memory allows it.
void join_axes(Axis* axis) {
  Axis all = {1, 1, 1, 1, 0, 1, 1, 0, 0};
  for (int k = 2; k >= 0; --k) {
    const Axis& a = axis[k];
    if (a.taps != 1 || a.step != 1 || a.low != 0 || a.hole != 1 || a.in != a.out) return;
    if (a.in == 1) continue;
    if (all.in == 1) all.in_stride = a.in_stride;
    else if (a.in_stride != all.in * all.in_stride) return;
    all.in = all.out = all.in * a.in;
  }
  axis[0] = axis[1] = Axis{1, 1, 1, 1, 0, 1, 1, 0, 0};
  axis[2] = all;
}

template <class E>
Problem<E> normalize(const ShloConv& conv) {
  Problem<E> p = {};
  p.input = (const E*)conv.input;
  p.kernel = (const E*)conv.kernel;
  p.batch_stride = conv.in_batch_stride;
  p.feature_stride = conv.in_feature_stride;
  p.kernel_in_stride = conv.kernel_in_stride;
  p.kernel_out_stride = conv.kernel_out_stride;
  p.depthwise = conv.groups == conv.in_features && conv.groups == conv.out_features;
  p.groups = p.depthwise ? 1 : conv.groups;
  p.channels = conv.groups > 0 ? conv.in_features / conv.groups : 0;
  p.features = p.groups > 0 ? conv.out_features / p.groups : 0;
  p.positions = conv.batch;
  for (int k = 0; k < 3; ++k) {
    const int64_t d = k - (3 - conv.rank);
    Axis& a = p.axis[k];
    a = Axis{1, 1, 1, 1, 0, 1, 1, 0, 0};
    if (d < 0) continue;
    a = Axis{conv.in_sizes[d],      conv.kernel_sizes[d], conv.out_sizes[d],  conv.window_strides[d], conv.low_padding[d],
             conv.lhs_dilation[d],  conv.rhs_dilation[d], conv.in_strides[d], conv.kernel_strides[d]};
    p.positions *= a.out;
    if (conv.reversal[d]) {
      p.kernel += (a.taps - 1) * a.kernel_stride;
      a.kernel_stride = -a.kernel_stride;
    }
  }
  join_axes(p.axis);
  return p;
}

// ---- register tiles --------------------------------------------------------------------------------------------------

// What a strip of positions multiplies: for each tap, which weights, and the input of each position.
template <class E>
struct Strip {
  static constexpr int64_t MAX_TAPS = 480;
  int64_t taps;
  int64_t weights[MAX_TAPS];
  const E* input[MAX_TAPS * MAX_STRIP];  // [tap][position]
  E* out[MAX_STRIP];
};

// Where the weights of tap t begin: data + strip.weights[t] * scale; `stride` leads from one channel to the next.
template <class E>
struct Panel {
  const E* data;
  int64_t scale, stride;
  int64_t column, last;  // the first column, that of the last vector
};

template <class E>
using Multiply = void (*)(const Strip<E>& strip, int64_t run, const Panel<E>& panel, bool add);

template <class E, int M, int N>
void multiply(const Strip<E>& strip, int64_t run, const Panel<E>& panel, bool add) {
  vector<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v)
      sum[r][v] = add ? read(strip.out[r] + panel.column + v * LANES<E>) : vector<E>{};
  for (int64_t t = 0; t < strip.taps; ++t) {
    const E* a[M];
    UNROLL for (int r = 0; r < M; ++r) a[r] = strip.input[t * M + r];
    const E* b = panel.data + strip.weights[t] * panel.scale;
    for (int64_t c = 0; c < run; ++c, b += panel.stride) {
      vector<E> row[N];
      UNROLL for (int v = 0; v < N; ++v) row[v] = read(b + v * LANES<E>);
      UNROLL for (int r = 0; r < M; ++r) {
        const E x = a[r][c];
        UNROLL for (int v = 0; v < N; ++v) sum[r][v] += x * row[v];
      }
    }
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(strip.out[r] + panel.column + v * LANES<E>, sum[r][v]);
}

// The last vector may overlap the one before it, so that nothing is read beyond the features.
template <class E, int M, int N>
void multiply_depthwise(const Strip<E>& strip, int64_t, const Panel<E>& panel, bool add) {
  int64_t at[N];
  UNROLL for (int v = 0; v < N; ++v) at[v] = panel.column + v * LANES<E>;
  at[N - 1] = panel.last;
  vector<E> sum[M][N];
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) sum[r][v] = add ? read(strip.out[r] + at[v]) : vector<E>{};
  for (int64_t t = 0; t < strip.taps; ++t) {
    const E* b = panel.data + strip.weights[t] * panel.scale;
    vector<E> row[N];
    UNROLL for (int v = 0; v < N; ++v) row[v] = read(b + at[v]);
    UNROLL for (int r = 0; r < M; ++r) {
      const E* a = strip.input[t * M + r];
      UNROLL for (int v = 0; v < N; ++v) sum[r][v] += read(a + at[v]) * row[v];
    }
  }
  UNROLL for (int r = 0; r < M; ++r)
    UNROLL for (int v = 0; v < N; ++v) write(strip.out[r] + at[v], sum[r][v]);
}

template <class E, template <int, int> class Table, int N>
Multiply<E> by_rows(int64_t m) {
  if (m == 1) return Table<1, N>::value;
  if (m == 4) return Table<4, N>::value;
  if constexpr (N == 3)
    if (m == 8) return Table<8, N>::value;
  if constexpr (N <= 2)
    if (m == 12) return Table<12, N>::value;
  return Table<6, N>::value;
}
template <class E, template <int, int> class Table>
Multiply<E> choose(int64_t m, int64_t n) {
  if (n == 1) return by_rows<E, Table, 1>(m);
  if constexpr (PANEL_VECTORS == 4) {
    if (n == 3) return by_rows<E, Table, 3>(m);
    if (n == 4) return by_rows<E, Table, 4>(m);
  }
  return by_rows<E, Table, 2>(m);
}
template <class E>
struct Kernels {
  template <int M, int N> struct Dense { static constexpr Multiply<E> value = multiply<E, M, N>; };
  template <int M, int N> struct Depthwise { static constexpr Multiply<E> value = multiply_depthwise<E, M, N>; };
};

// How many positions fill the registers with panels of `vectors` vectors, and the fewest that a kernel takes for `rows`.
int64_t full_strip(int64_t vectors, bool one_panel) {
  if (!one_panel) return 6;
  if (PANEL_VECTORS == 4 && vectors == 3) return 8;
  return vectors == 1 || (vectors == 2 && PANEL_VECTORS == 4) ? 12 : 6;
}
int64_t strip_of(int64_t rows, int64_t full) {
  if (rows >= full) return full;
  return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= 6 ? 6 : full;
}

// ---- transposition ---------------------------------------------------------------------------------------------------

template <class V>
SHLO_INLINE void interleave(V a, V b, V& low, V& high) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 16) {
    low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else {
    low = __builtin_shufflevector(a, b, 0, 2);
    high = __builtin_shufflevector(a, b, 1, 3);
  }
}

// A square of vectors: interleaving the halves log2(lanes) times transposes it.
template <class E>
SHLO_INLINE void transpose(vector<E>* v) {
  constexpr int N = LANES<E>;
  UNROLL for (int round = 1; round < N; round *= 2) {
    vector<E> next[N];
    UNROLL for (int i = 0; i < N / 2; ++i) interleave(v[i], v[i + N / 2], next[2 * i], next[2 * i + 1]);
    UNROLL for (int i = 0; i < N; ++i) v[i] = next[i];
  }
}

template <class E>
SHLO_INLINE vector<E> read_some(const E* p, int64_t n) {
  if (n >= LANES<E>) return read(p);
  vector<E> v = {};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

// to[x * to_stride + f] = from[x + f * from_stride]: whole vectors are written, features last to first, x ascending, so
// that what is written too much is overwritten by what follows; up to a vector beyond the last is touched.
template <class E>
void transpose_features(E* to, int64_t to_stride, const E* from, int64_t from_stride, int64_t width, int64_t features) {
  constexpr int64_t N = LANES<E>;
  for (int64_t f = (features - 1) / N * N; f >= 0; f -= N)
    for (int64_t x = 0; x < width; x += N) {
      vector<E> square[N];
      const int64_t nx = smallest(N, width - x), nf = smallest(N, features - f);
      if (nx == N && nf == N) {
        UNROLL for (int i = 0; i < N; ++i) square[i] = read(from + x + (f + i) * from_stride);
      } else {
        for (int64_t i = 0; i < N; ++i)
          square[i] = i < nf ? read_some(from + x + (f + i) * from_stride, nx) : vector<E>{};
      }
      transpose<E>(square);
      if (nx == N) {
        UNROLL for (int i = 0; i < N; ++i) write(to + (x + i) * to_stride + f, square[i]);
      } else {
        for (int64_t i = 0; i < nx; ++i) write(to + (x + i) * to_stride + f, square[i]);
      }
    }
}

// ---- one block of columns --------------------------------------------------------------------------------------------

template <class E>
struct Row {
  const E* batch;    // the image of this position
  int64_t place[3];  // where its window begins
  int64_t line;      // which output line of the chunk it belongs to
};

template <class E>
struct Memory {
  static constexpr int64_t SIZE = sizeof(E), WEIGHTS = 448 * 1024 / SIZE, LINES = 256 * 1024 / SIZE;
  static constexpr int64_t ROWS = 96 * 1024 / SIZE / COLUMNS, ZEROS = 16 * 1024 / SIZE, LINE_TAPS = 4096;
  alignas(64) E weights[WEIGHTS];
  alignas(64) E lines[LINES + 64];
  alignas(64) E tile[(ROWS + 1) * COLUMNS];  // the last row takes what nobody wants
  alignas(64) E zeros[ZEROS];
  Strip<E> strip;
  Row<E> rows[ROWS];
  int32_t order[ROWS];
  int32_t slots[LINE_TAPS];     // [output line][tap across lines]: which copied line, -1 for padding
  const E* sources[LINE_TAPS];  // of the copied lines
};
static_assert(sizeof(Memory<float>) <= SHLO_CONV_SCRATCH && sizeof(Memory<double>) <= SHLO_CONV_SCRATCH,
              "SHLO_CONV_SCRATCH is too small");

template <class E>
class ColumnBlock {
  typedef Memory<E> M;

 public:
  ColumnBlock(const Problem<E>& problem, Memory<E>& memory, const E* input, const E* kernel, int64_t columns,
              bool depthwise)
      : p(problem), m(memory), x_axis(problem.axis[2]), input(input), kernel(kernel), columns(columns),
        padded(round_up(columns, LANES<E>)), depthwise(depthwise), channels(depthwise ? 1 : problem.channels),
        lines_per_output(problem.axis[0].taps * problem.axis[1].taps) {}

  // Decides how to compute `rows` positions. False: there is no way (a depthwise window larger than the scratch memory).
  bool plan(int64_t rows) {
    panel = depthwise ? padded : smallest(padded, PANEL_VECTORS * LANES<E>);
    full = full_strip(ceil_div(panel, LANES<E>), depthwise ? false : padded == panel);
    taps = lines_per_output * x_axis.taps;
    capacity = M::WEIGHTS / padded;
    const bool contiguous = p.feature_stride == 1 || channels == 1;
    const bool mergeable = !depthwise && x_axis.hole == 1 && x_axis.gap == 1 && x_axis.taps > 1;
    const bool in_place = depthwise ? p.feature_stride == 1 && columns >= LANES<E>
                                    : contiguous && !(mergeable && channels < SHORT_RUN);
    if (!in_place && plan_lines(mergeable, rows)) return true;
    if (!in_place && depthwise) return false;
    copied = merged = false;
    x_taps = x_axis.taps;
    pixel = x_axis.in_stride;
    // Without copied lines channels that are not next to each other are taken one by one.
    channel_block = contiguous || depthwise ? smallest(channels, smallest(capacity, M::ZEROS)) : 1;
    unpacked = !depthwise && p.kernel_out_stride == 1 && columns == padded && channels == channel_block &&
               (p.kernel_in_stride == columns || rows <= full);
    tap_block = unpacked ? taps : smallest(taps, capacity / largest(channel_block, 1));
    tap_block = largest(smallest(tap_block, Strip<E>::MAX_TAPS), 1);
    if (depthwise) unpacked = false;
    finish();
    return true;
  }

  void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    __builtin_memset(m.zeros, 0, smallest(M::ZEROS, largest(longest_run, COLUMNS)) * sizeof(E));
    if (cached) for_blocks([&](int64_t c0, int64_t cn, int64_t t0, int64_t tn, int64_t done) {
      pack(m.weights + done * padded, c0, cn, t0, tn);
    });
    while (first < last) {
      const int64_t rows = take_rows(first, last);
      sort_rows(rows);
      bool add = false;
      for_blocks([&](int64_t c0, int64_t cn, int64_t t0, int64_t tn, int64_t done) {
        const E* weights = m.weights;
        if (cached) weights += done * padded;
        else if (!unpacked) pack(m.weights, c0, cn, t0, tn);
        if (copied) copy_lines(c0, cn);
        multiply_rows(weights, rows, c0, cn, t0, tn, add);
        add = true;
      });
      if (!add) __builtin_memset(m.tile, 0, rows * COLUMNS * sizeof(E));
      epilogue(context, m.tile, COLUMNS, first, rows, j0, columns);
      first += rows;
    }
  }

 private:
  // Whether copying lines is possible; chooses how many features and how much of the lines are copied at a time.
  bool plan_lines(bool mergeable, int64_t rows) {
    if (taps == 0 || channels == 0 || lines_per_output > M::LINE_TAPS) return false;
    merged = mergeable;
    const int64_t reach = (x_axis.taps - 1) * x_axis.gap + 1;
    line_width = largest(merged ? x_axis.start(x_axis.out - 1) + x_axis.low + reach : x_axis.in, 1);
    // Enough for a chunk, if that is possible with a vector of channels.
    const int64_t output_lines = smallest(rows, M::ROWS) / largest(x_axis.out, 1) + 2;
    const int64_t wanted = p.axis[0].taps * ((output_lines - 1) * p.axis[1].step + p.axis[1].taps);
    channel_block = channels;
    const auto room = [&] { return M::LINES / (depthwise ? padded : channel_block); };  // pixels
    const auto fits = [&] {
      return taps * channel_block <= capacity && x_axis.taps * channel_block <= M::ZEROS &&
             room() >= wanted * line_width;
    };
    while (!fits() && channel_block > SHORT_RUN && !depthwise)
      channel_block = largest(round_up(channel_block / 2, SHORT_RUN), SHORT_RUN);
    if (taps * channel_block > capacity || x_axis.taps * channel_block > M::ZEROS) return false;
    slot_count = smallest(room() / line_width, M::LINE_TAPS);
    segment = 0;
    if (slot_count < lines_per_output) {  // a part of one output line at a time
      const int64_t width = room() / lines_per_output;
      if (width < reach) return false;
      segment = (width - reach) / x_axis.step + 1;
      slot_count = lines_per_output;
    }
    copied = true;
    unpacked = false;
    x_taps = merged ? 1 : x_axis.taps;
    pixel = depthwise ? padded : channel_block;
    tap_block = lines_per_output * x_taps;
    if (tap_block > Strip<E>::MAX_TAPS) return false;
    finish();
    return true;
  }

  void finish() {
    steps = lines_per_output * x_taps;
    longest_run = channel_block * (merged ? x_axis.taps : 1);
    cached = !unpacked && taps * channels <= capacity;
    // Parts that are packed again for each chunk, or lines copied, want long chunks; else the tile should stay near.
    const bool whole = (cached || unpacked) && tap_block >= steps && channel_block >= channels;
    chunk = whole && !copied ? smallest(SHORT_CHUNK, M::ROWS) : M::ROWS;
  }

  // Calls part(first channel, channels, first step, steps, channels x taps before): a step is a tap, or with merged taps
  // a line of them.
  template <class Part>
  __attribute__((always_inline)) void for_blocks(Part part) {
    int64_t done = 0;
    for (int64_t c0 = 0; c0 < channels; c0 += channel_block)
      for (int64_t t0 = 0; t0 < steps; t0 += tap_block) {
        const int64_t cn = smallest(channel_block, channels - c0), tn = smallest(tap_block, steps - t0);
        part(c0, cn, t0, tn, done);
        done += cn * tn * (merged ? x_axis.taps : 1);
      }
  }

  // The weights of steps [t0, t0 + tn) and channels [c0, c0 + cn): [panel][tap][channel][column], rounded up to vectors.
  void pack(E* to, int64_t c0, int64_t cn, int64_t t0, int64_t tn) {
    const int64_t each = merged ? x_axis.taps : 1;
    for (int64_t j = 0; j < columns; j += panel) {
      const int64_t width = smallest(panel, columns - j), wide = round_up(width, LANES<E>);
      for (int64_t t = t0 * each; t < (t0 + tn) * each; ++t) {
        const E* from = kernel + tap_offset(t) + c0 * p.kernel_in_stride + j * p.kernel_out_stride;
        for (int64_t c = 0; c < cn; ++c, from += p.kernel_in_stride, to += wide) {
          if (p.kernel_out_stride == 1) __builtin_memcpy(to, from, width * sizeof(E));
          else
            for (int64_t i = 0; i < width; ++i) to[i] = from[i * p.kernel_out_stride];
          for (int64_t i = width; i < wide; ++i) to[i] = 0;
        }
      }
    }
  }

  int64_t tap_offset(int64_t t) const {
    const int64_t k1 = t / x_axis.taps, k2 = t % x_axis.taps;
    return k1 / p.axis[1].taps * p.axis[0].kernel_stride + k1 % p.axis[1].taps * p.axis[1].kernel_stride +
           k2 * x_axis.kernel_stride;
  }

  // Fills `rows` with positions from `first`, as many as the scratch memory has room for.
  int64_t take_rows(int64_t first, int64_t last) {
    int64_t limit = smallest(last - first, chunk);
    if (copied && segment > 0) limit = smallest(limit, segment);
    int64_t at[4], rest = first;  // batch and output position
    for (int k = 3; k > 0; --k) {
      at[k] = rest % p.axis[k - 1].out;
      rest /= p.axis[k - 1].out;
    }
    at[0] = rest;
    int64_t line = -1, n = 0;
    used_slots = 0;
    for (; n < limit; ++n) {
      const E* batch = input + at[0] * p.batch_stride;
      if (n == 0 || at[3] == 0) {
        if (copied && segment > 0 && n > 0) break;
        if (copied && !take_line(++line, batch, at)) break;
      }
      m.rows[n] = {batch, {p.axis[0].start(at[1]), p.axis[1].start(at[2]), x_axis.start(at[3])}, line};
      for (int k = 3; k >= 0; --k) {
        ++at[k];
        if (k == 0 || at[k] < p.axis[k - 1].out) break;
        at[k] = 0;
      }
    }
    if (copied) place_lines(n);
    return n;
  }

  // Notes the input lines that an output line needs, those that the line before it needs too only once.
  bool take_line(int64_t line, const E* batch, const int64_t* at) {
    const int64_t count = lines_per_output, before = used_slots;
    if ((line + 1) * count > M::LINE_TAPS) return false;
    int32_t* slots = m.slots + line * count;
    for (int64_t k = 0; k < count; ++k) {
      const Axis &a = p.axis[0], &b = p.axis[1];
      const int64_t y0 = a.index(a.start(at[1]) + k / b.taps * a.gap), y1 = b.index(b.start(at[2]) + k % b.taps * b.gap);
      slots[k] = -1;
      if (y0 < 0 || y1 < 0) continue;
      const E* source = batch + y0 * a.in_stride + y1 * b.in_stride;
      for (int64_t i = 1; i <= count && line > 0 && slots[k] < 0; ++i)
        if (slots[-i] >= 0 && m.sources[slots[-i]] == source) slots[k] = slots[-i];
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

  // Which part of the lines is copied for `rows` positions.
  void place_lines(int64_t rows) {
    x_first = merged ? -x_axis.low : 0;
    x_count = line_width;
    if (segment == 0) return;
    const int64_t from = m.rows[0].place[2], to = m.rows[rows - 1].place[2] + (x_axis.taps - 1) * x_axis.gap;
    x_first = merged ? from : largest(from, 0) / x_axis.hole;
    x_count = merged ? to - from + 1 : largest(smallest(to / x_axis.hole, x_axis.in - 1) - x_first + 1, 0);
  }

  // Copies the noted lines to [line][x][feature], zeros where there is no input. In ascending order: see above.
  void copy_lines(int64_t c0, int64_t cn) {
    const int64_t features = depthwise ? columns : cn;
    const int64_t begin = smallest(largest(-x_first, 0), x_count);
    const int64_t end = largest(begin, smallest(x_count, x_axis.in - x_first));
    if (!depthwise) pixel = cn;
    for (int64_t slot = 0; slot < used_slots; ++slot) {
      E* const line = m.lines + slot * x_count * pixel;
      E* const to = line + begin * pixel;
      const E* const from = m.sources[slot] + c0 * p.feature_stride + (x_first + begin) * x_axis.in_stride;
      __builtin_memset(line, 0, begin * pixel * sizeof(E));
      if (p.feature_stride == 1 && x_axis.in_stride == pixel && features == pixel) {
        __builtin_memcpy(to, from, (end - begin) * pixel * sizeof(E));
      } else if (x_axis.in_stride == 1 && features > 1) {
        transpose_features(to, pixel, from, p.feature_stride, end - begin, features);
      } else {
        for (int64_t x = 0; x < end - begin; ++x)
          for (int64_t f = 0; f < features; ++f)
            to[x * pixel + f] = from[x * x_axis.in_stride + f * p.feature_stride];
      }
      __builtin_memset(line + end * pixel, 0, (x_count - end) * pixel * sizeof(E));
    }
  }

  // Positions in the same phase of a dilated input come together.
  void sort_rows(int64_t rows) {
    const Axis* a = p.axis;
    const int64_t phases = a[0].hole * a[1].hole * a[2].hole;
    if (phases == 1 || phases > MAX_STRIP * MAX_STRIP) {
      for (int64_t i = 0; i < rows; ++i) m.order[i] = (int32_t)i;
      return;
    }
    int64_t n = 0;
    for (int64_t phase = 0; phase < phases; ++phase)
      for (int64_t i = 0; i < rows; ++i) {
        int64_t of_row = 0;
        for (int k = 0; k < 3; ++k) of_row = of_row * a[k].hole + positive_mod(m.rows[i].place[k], a[k].hole);
        if (of_row == phase) m.order[n++] = (int32_t)i;
      }
  }

  void multiply_rows(const E* weights, int64_t rows, int64_t c0, int64_t cn, int64_t t0, int64_t tn, bool add) {
    const int64_t run = cn * (merged ? x_axis.taps : 1);
    for (int64_t i = 0; i < rows;) {
      const int64_t height = strip_of(rows - i, full), count = smallest(height, rows - i);
      find_inputs(i, count, height, c0, t0, tn, run);
      for (int64_t j = 0; j < columns; j += PANEL_VECTORS * LANES<E>) {
        const int64_t width = smallest(PANEL_VECTORS * LANES<E>, columns - j), wide = round_up(width, LANES<E>);
        if (depthwise) {
          const bool overlap = width < wide && !copied;
          choose<E, Kernels<E>::template Depthwise>(height, wide / LANES<E>)(
              m.strip, run, {weights, padded, 0, j, j + (overlap ? width : wide) - LANES<E>}, add);
        } else {
          const Panel<E> part = unpacked ? Panel<E>{kernel + j, 1, p.kernel_in_stride, j, 0}
                                         : Panel<E>{weights + j * tn * run, wide, wide, j, 0};
          choose<E, Kernels<E>::template Dense>(height, wide / LANES<E>)(m.strip, run, part, add);
        }
      }
      i += count;
    }
  }

  // The pointers of a strip; rows beyond `count` repeat the last and are thrown away.
  void find_inputs(int64_t first, int64_t count, int64_t height, int64_t c0, int64_t t0, int64_t tn, int64_t run) {
    Strip<E>& s = m.strip;
    bool padding = false;
    for (int64_t r = 0; r < height; ++r) {
      const int64_t index = m.order[first + smallest(r, count - 1)];
      s.out[r] = m.tile + (r < count ? index : M::ROWS) * COLUMNS;
      padding |= find_row(m.rows[index], s.input + r, height, c0, t0, tn);
    }
    s.taps = 0;
    for (int64_t t = 0; t < tn; ++t) {
      bool used = !padding;
      for (int64_t r = 0; r < height && !used; ++r) used = s.input[t * height + r] != m.zeros;
      if (!used) continue;
      s.weights[s.taps] = unpacked ? tap_offset(t0 + t) : t * run;
      if (s.taps != t)
        for (int64_t r = 0; r < height; ++r) s.input[s.taps * height + r] = s.input[t * height + r];
      ++s.taps;
    }
  }

  // The inputs of one position for steps [t0, t0 + tn), `stride` apart. Whether some are padding.
  bool find_row(const Row<E>& row, const E** to, int64_t stride, int64_t c0, int64_t t0, int64_t tn) {
    const Axis &a = p.axis[0], &b = p.axis[1];
    const E* const data = copied ? m.lines : row.batch + c0 * p.feature_stride;
    bool padding = false;
    int64_t k = t0 / x_taps, k2 = t0 % x_taps;
    for (int64_t done = 0; done < tn; ++k, k2 = 0) {
      const int64_t stop = smallest(x_taps, k2 + tn - done);
      bool inside;
      int64_t line = 0;
      if (copied) {
        const int64_t slot = m.slots[row.line * lines_per_output + k];
        inside = slot >= 0;
        line = (slot * x_count - x_first) * pixel;
      } else {
        const int64_t y0 = a.index(row.place[0] + k / b.taps * a.gap), y1 = b.index(row.place[1] + k % b.taps * b.gap);
        inside = y0 >= 0 && y1 >= 0;
        line = y0 * a.in_stride + y1 * b.in_stride;
      }
      done += stop - k2;
      for (; k2 < stop; ++k2, to += stride) {
        const int64_t x = merged ? row.place[2] : x_axis.index(row.place[2] + k2 * x_axis.gap);
        const bool found = inside && (merged || x >= 0);
        *to = found ? data + line + x * pixel : m.zeros;
        padding |= !found;
      }
    }
    return padding;
  }

  const Problem<E>& p;
  Memory<E>& m;
  const Axis& x_axis;
  const E *input, *kernel;  // of the first channel, of the first column
  int64_t columns, padded;
  bool depthwise;
  int64_t channels, lines_per_output;
  // The plan.
  bool copied = false, merged = false;  // lines are copied; the taps along a line are one run
  bool unpacked = false, cached = false;  // weights are read in place; are packed once
  int64_t panel, full, taps, capacity, channel_block, tap_block, x_taps, steps, longest_run, chunk;
  int64_t pixel;                               // from one x to the next
  int64_t slot_count, line_width, segment = 0;  // copied lines; positions at a time if lines are too long, else 0
  // The chunk of positions.
  int64_t used_slots = 0, x_first = 0, x_count = 0;
};

template <class E>
void convolve(const ShloConv& conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, void* context) {
  const Problem<E> p = normalize<E>(conv);
  Memory<E>& memory = *(Memory<E>*)scratch;
  const int64_t position_blocks = ceil_div(p.positions, SHLO_CONV_ROWS), column_blocks = ceil_div(p.features, COLUMNS);
  end = smallest(end, p.groups * column_blocks * position_blocks);
  while (begin < end) {
    const int64_t block = begin / position_blocks, stop = smallest(end, (block + 1) * position_blocks);
    const int64_t first = begin % position_blocks * SHLO_CONV_ROWS;
    const int64_t last = smallest(p.positions, first + (stop - begin) * SHLO_CONV_ROWS);
    const int64_t group = block / column_blocks, j0 = block % column_blocks * COLUMNS;
    const int64_t columns = smallest(COLUMNS, p.features - j0), feature = group * p.features + j0;
    const int64_t channel = p.depthwise ? j0 : group * p.channels;
    const auto compute = [&](int64_t skip, int64_t count, bool depthwise) {
      ColumnBlock<E> part(p, memory, p.input + (channel + skip) * p.feature_stride,
                          p.kernel + (feature + skip) * p.kernel_out_stride, count, depthwise);
      if (!part.plan(last - first)) return false;
      part.run(first, last, feature + skip, epilogue, context);
      return true;
    };
    if (!compute(0, columns, p.depthwise))
      for (int64_t j = 0; j < columns; ++j) compute(j, 1, false);
    begin = stop;
  }
}

}  // namespace

void shlo_conv_f32(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, void* context) {
  convolve<float>(*conv, begin, end, scratch, epilogue, context);
}
void shlo_conv_f64(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, void* context) {
  convolve<double>(*conv, begin, end, scratch, epilogue, context);
}
