// Padding with weights that are infinite or NaN. Padding, and the holes of a dilated input, are zeros that are
// multiplied like other elements (StableHLO, convolution), so such a weight gives NaN at every position where it falls
// on padding. Kernels skip or multiply these taps, whichever is cheaper. To make results independent of that choice,
// every tile passes through here before the epilogue, and missing NaNs are added.
//
// Checking all weights would take as long as a convolution of few positions. But a position without padding multiplies
// all weights of a feature by input elements, and a finite sum has finite terms: one such position with finite results
// proves its features' weights finite. Weights are read only if a tile has padding and no such position.
#pragma once
#include "conv/problem.h"
#include "conv/weights.h"

namespace {

// Whether many numbers are all finite: an exponent of all ones carries into the sign bit of `seen`.
template <class E>
struct FiniteNumbers {
  typedef typename Pick<sizeof(E) == 4, uint32_t, uint64_t>::type Bits;
  static constexpr int MANTISSA = sizeof(E) == 4 ? 23 : 52;
  static constexpr Bits LOWEST = Bits(1) << MANTISSA, SIGN = Bits(1) << (sizeof(E) * 8 - 1), EXPONENT = SIGN - LOWEST;
  Bits seen = 0;

  void add(E x) {
    Bits bits;
    __builtin_memcpy(&bits, &x, sizeof x);
    seen |= (bits & EXPONENT) + LOWEST;
  }
  void add(const E* x, int64_t count, int64_t stride) {
    if (stride == 1)
      for (int64_t i = 0; i < count; ++i) add(x[i]);
    else
      for (int64_t i = 0; i < count; ++i) add(x[i * stride]);
  }
  bool all() const { return (seen & SIGN) == 0; }
};

template <class E>
class PaddedTiles {
  static constexpr int64_t MOST_TAPS = 512;  // with cached masks

 public:
  // Tiles of `problem` are passed on to `epilogue`.
  PaddedTiles(const Problem<E>& problem, ShloEpilogue epilogue, void* context)
      : p(problem), epilogue(epilogue), context(context) {
    for (int k = 0; k < 3; ++k) inner[k] = without_padding(p.axis[k]);
  }

  // Whether any window reaches into padding or holes.
  bool are_some() const {
    bool found = false;
    for (int k = 0; k < 3; ++k) found |= inner[k].low > 0 || inner[k].high < p.axis[k].out;
    return found && p.taps() > 0 && p.channels > 0;
  }

  // The epilogue that adds missing NaNs.
  __attribute__((noinline)) static void take(void* self, const void* tile, int64_t ld, int64_t i0, int64_t rows,
                                             int64_t j0, int64_t columns) {
    PaddedTiles& all = *static_cast<PaddedTiles*>(self);
    if (!all.are_proven(j0, columns)) {
      int64_t without = -1;  // a row whose window has no padding
      if (all.has_padding(i0, rows, without) && !all.prove((const E*)tile, ld, without < 0 ? -1 : without - i0, j0, columns))
        all.add_nans((E*)const_cast<void*>(tile), ld, i0, rows, j0, columns);
    }
    all.epilogue(all.context, tile, ld, i0, rows, j0, columns);
  }

 private:
  // Outputs of an axis, or features.
  struct Range {
    int64_t low, high;
    bool has(int64_t at) const { return low <= at && at < high; }
  };

  static Range without_padding(const Axis& a) {
    if (a.hole != 1) return {0, 0};
    const int64_t low = smallest(ceil_div(largest(a.low, 0), a.step), a.out);
    const int64_t room = a.in - 1 - (a.taps - 1) * a.gap + a.low;  // last start of an unpadded window, plus `low`
    return {low, largest(low, room < 0 ? 0 : smallest(room / a.step + 1, a.out))};
  }

  bool are_proven(int64_t j0, int64_t columns) const { return proven.low <= j0 && j0 + columns <= proven.high; }

  // Whether one of `rows` positions has padding; sets `without` to one that has none, if any.
  bool has_padding(int64_t i0, int64_t rows, int64_t& without) const {
    int64_t count = 0;
    for (int64_t i = i0, length; i < i0 + rows; i += length) {
      const int64_t x = i % p.axis[2].out, line = i / p.axis[2].out;
      length = smallest(p.axis[2].out - x, i0 + rows - i);
      if (!inner[1].has(line % p.axis[1].out) || !inner[0].has(line / p.axis[1].out % p.axis[0].out)) continue;
      const int64_t low = largest(x, inner[2].low), high = smallest(x + length, inner[2].high);
      if (low >= high) continue;
      without = i + low - x;
      count += high - low;
    }
    return count < rows;
  }

  // Whether all weights of features [j0, j0 + columns) are finite: by the results of a row without padding, or by reading them.
  bool prove(const E* tile, int64_t ld, int64_t row, int64_t j0, int64_t columns) {
    FiniteNumbers<E> results, weights;
    const bool transposed = p.conv->transposed != 0;
    if (row >= 0) results.add(transposed ? tile + row : tile + row * ld, columns, transposed ? ld : 1);
    if (row < 0 || !results.all()) {
      if (masked.low == j0 && masked.high == j0 + columns) return false;
      read_weights_of(j0, columns, weights);
      if (!weights.all()) {
        masked = {j0, j0 + columns};
        for (int64_t t = 0; t < smallest(p.taps(), MOST_TAPS); ++t) masks[t] = mask_of(t, j0, columns);
        return false;
      }
    }
    proven = {proven.high == j0 ? proven.low : j0, j0 + columns};
    return true;
  }

  void read_weights_of(int64_t j0, int64_t columns, FiniteNumbers<E>& seen) const {
    if (!p.is_foreign() && is_feature_major(p)) {
      for (int64_t j = j0; j < j0 + columns; ++j) seen.add(p.kernel + j * p.kernel_out_stride, p.channels * p.taps(), 1);
      return;
    }
    for (int64_t t = 0; t < p.taps(); ++t)
      for (int64_t c = 0; c < p.channels; ++c) {
        alignas(64) E row[COLUMNS];
        read_row(t, c, j0, columns, row);
        seen.add(row, columns, 1);
      }
  }

  // The weights of a tap and a channel.
  void read_row(int64_t t, int64_t c, int64_t j0, int64_t columns, E* to) const {
    if (p.is_foreign()) return p.conv->pack(p.conv, j0, columns, COLUMNS, c, 1, t, t + 1, to);
    const E* const from = p.kernel + j0 * p.kernel_out_stride + p.tap_offset(t) + c * p.kernel_in_stride;
    for (int64_t j = 0; j < columns; ++j) to[j] = from[j * p.kernel_out_stride];
  }

  // The features for which a weight of a tap is not finite.
  uint64_t mask_of(int64_t t, int64_t j0, int64_t columns) const {
    uint64_t mask = 0;
    for (int64_t c = 0; c < p.channels; ++c) {
      alignas(64) E row[COLUMNS];
      read_row(t, c, j0, columns, row);
      for (int64_t j = 0; j < columns; ++j) {
        FiniteNumbers<E> one;
        one.add(row[j]);
        mask |= uint64_t(!one.all()) << j;
      }
    }
    return mask;
  }

  __attribute__((noinline)) void add_nans(E* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) const {
    const int64_t row_step = p.conv->transposed ? 1 : ld, column_step = p.conv->transposed ? ld : 1;
    for (int64_t i = 0; i < rows; ++i) {
      const uint64_t mask = mask_at(i0 + i, j0, columns);
      for (int64_t j = 0; j < columns; ++j)
        if (mask >> j & 1) tile[i * row_step + j * column_step] = __builtin_nan("");
    }
  }

  // The features for which a position has such a weight in its padding.
  uint64_t mask_at(int64_t position, int64_t j0, int64_t columns) const {
    const Axis *a = p.axis, &x = a[2];
    const int64_t line = position / x.out;
    const int64_t start[] = {a[0].start(line / a[1].out % a[0].out), a[1].start(line % a[1].out), x.start(position % x.out)};
    uint64_t mask = 0;
    for (int64_t t = 0; t < p.taps(); ++t) {
      const int64_t k[] = {t / x.taps / a[1].taps, t / x.taps % a[1].taps, t % x.taps};
      bool is_inside = true;
      for (int d = 0; d < 3; ++d) is_inside &= a[d].index(start[d] + k[d] * a[d].gap) >= 0;
      if (!is_inside) mask |= t < MOST_TAPS ? masks[t] : mask_of(t, j0, columns);
    }
    return mask;
  }

  const Problem<E>& p;
  const ShloEpilogue epilogue;
  void* const context;
  Range inner[3];             // outputs whose windows have no padding
  Range proven = {0, 0};      // features whose weights are finite
  Range masked = {0, 0};      // features of the masks
  uint64_t masks[MOST_TAPS];  // by tap: features with a weight that is not finite
};

// Calls compute(epilogue, context); for floats with padding, the epilogue adds missing NaNs.
template <class E, class S, class Compute>
void with_padded_tiles(const Problem<E, S>& p, ShloEpilogue epilogue, void* context, Compute compute) {
  if constexpr (same<E, float> || same<E, double>) {
    PaddedTiles<E> padded(p, epilogue, context);
    if (padded.are_some()) return compute(PaddedTiles<E>::take, &padded);
  }
  compute(epilogue, context);
}

}  // namespace
