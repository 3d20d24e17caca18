// The normalized form of a convolution, common to all kernels: three spatial axes, blocks of features.
#pragma once
#include "conv/conv.h"
#include "conv/tile.h"

namespace {

constexpr int64_t COLUMNS = SHLO_CONV_COLUMNS;    // also the leading dimension of the tile

constexpr int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// A place in the padded and dilated input: the last input index at or before it, and the distance from there.
struct Place {
  int64_t index, rest;
};

struct Axis {
  int64_t in, taps, out, step, low, hole, gap, in_stride, kernel_stride;  // hole, gap: dilation of input, window

  Place place(int64_t at) const {
    const int64_t rest = hole == 1 ? 0 : positive_mod(at, hole);
    return {hole == 1 ? at : (at - rest) / hole, rest};
  }
  // The place at distance `by` after `from`.
  Place behind(Place from, Place by) const {
    Place to = {from.index + by.index, from.rest + by.rest};
    if (to.rest >= hole) to = {to.index + 1, to.rest - hole};
    return to;
  }

  // The first place in the padded and dilated input that output `o` reads.
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

  // Of `count` taps from the place `first` on, `gap` apart, those [low, high) inside an input without holes.
  struct Range {
    int64_t low, high;
  };
  Range inside(int64_t first, int64_t count) const {
    const auto taps_in = [&](int64_t length) { return gap == 1 ? length : ceil_div(length, gap); };
    const int64_t begin = first < 0 ? smallest(taps_in(-first), count) : 0;
    const int64_t end = first < in ? smallest(taps_in(in - first), count) : 0;
    return {begin, largest(begin, end)};
  }
};

// Always three spatial axes; a reversed window has negative strides. Elements are S in memory, sums E.
template <class E, class S = E>
struct Problem {
  const S *input, *kernel;
  const E* packed;
  Axis axis[3];
  int64_t group_stride, batch_stride, feature_stride, kernel_in_stride, kernel_out_stride;
  int64_t members;  // output features of a group
  int64_t channels, features, groups, positions;  // channels, features: input and output features of one group
  const ShloConv* conv;
  bool narrow;  // narrow groups: all features count as those of one group

  // Whether weights have another type, so that only `conv->pack` can read them.
  bool is_foreign() const { return conv->pack != nullptr; }
  int64_t taps() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  // Offset of a column block in the packed weights, with `step` channels per element.
  int64_t packed_offset(int64_t group, int64_t column, int64_t step) const {
    return (group * round_up(features, SHLO_CONV_PADDING) + column) * taps() * ceil_div(channels, step);
  }

  // Offset of the weights of a tap; taps of the last axis vary fastest.
  int64_t tap_offset(int64_t t) const {
    const int64_t k1 = t / axis[2].taps, k2 = t % axis[2].taps;
    return k1 / axis[1].taps * axis[0].kernel_stride + k1 % axis[1].taps * axis[1].kernel_stride +
           k2 * axis[2].kernel_stride;
  }
};

// Collapses the axes into one if the window is a single point that visits every point, and strides permit.
void join_axes(Axis* axis) {
  Axis all = {1, 1, 1, 1, 0, 1, 1, 0, 0};
#pragma GCC unroll 1
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

// Folds the step of an axis with one tap into the input stride: skipped elements are never read. Returns the offset of
// the first element that is read.
int64_t leave_out_steps(Axis& a) {
  if (a.taps != 1 || a.hole != 1 || a.step == 1) return 0;
  const int64_t first = positive_mod(-a.low, a.step);
  a.in = largest(ceil_div(a.in - first, a.step), 0);
  a.low = (a.low + first) / a.step;
  const int64_t behind = a.in > 0 ? first * a.in_stride : 0;
  a.in_stride *= a.step;
  a.step = 1;
  return behind;
}

template <class E, class S = E>
Problem<E, S> normalize(const ShloConv& conv) {
  Problem<E, S> p = {};
  p.conv = &conv;
  p.input = (const S*)conv.input;
  p.kernel = (const S*)conv.kernel;
  p.packed = (const E*)conv.packed;
  p.group_stride = conv.in_group_stride;
  p.batch_stride = conv.in_batch_stride;
  p.feature_stride = conv.in_feature_stride;
  p.kernel_in_stride = conv.kernel_in_stride;
  p.kernel_out_stride = conv.kernel_out_stride;
  p.channels = conv.groups > 0 ? conv.in_features / conv.groups : 0;
  if (p.channels == 1) p.feature_stride = p.group_stride;  // the only stride that leads to another feature
  p.members = conv.groups > 0 ? conv.out_features / conv.groups : 0;
  p.narrow = conv.groups > 1 && (p.members == 1 || (p.members == p.channels &&
                                                    (p.members == 2 || p.members == 4 || p.members == 8)));
  p.groups = p.narrow ? 1 : conv.groups;
  p.features = p.groups > 0 ? conv.out_features / p.groups : 0;
  p.positions = conv.batch;
#pragma GCC unroll 1
  for (int k = 0; k < 3; ++k) {
    const int64_t d = k - (3 - conv.rank);
    Axis& a = p.axis[k];
    a = Axis{1, 1, 1, 1, 0, 1, 1, 0, 0};
    if (d < 0) continue;
    a = {conv.in_sizes[d],     conv.kernel_sizes[d], conv.out_sizes[d],    conv.window_strides[d], conv.low_padding[d],
         conv.lhs_dilation[d], conv.rhs_dilation[d], conv.in_strides[d], conv.kernel_strides[d]};
    p.positions *= a.out;
    if (conv.reversal[d]) {
      p.kernel += (a.taps - 1) * a.kernel_stride;
      a.kernel_stride = -a.kernel_stride;
    }
    if (!p.narrow && sizeof(S) == sizeof(E)) p.input += leave_out_steps(a);
  }
  join_axes(p.axis);
  return p;
}

}  // namespace
