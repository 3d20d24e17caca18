// Convolutions: the interface between generated kernels and conv/indirect.h.
//
// The result is cut into tasks of SHLO_CONV_ROWS output positions (batch, then the spatial dimensions, row-major) times
// SHLO_CONV_COLUMNS output features of one group. Positions vary fastest, so that consecutive tasks share weights:
//
//   position_blocks = ceil(positions / SHLO_CONV_ROWS)
//   column_blocks   = ceil(features / SHLO_CONV_COLUMNS)            features = out_features / groups
//   tasks           = groups * column_blocks * position_blocks
//   task t is position block t % position_blocks of column block t / position_blocks % column_blocks of group
//   t / position_blocks / column_blocks
//
// Narrow groups (of one output feature, or of 2, 4 or 8 and as many input features): all features are columns of one group,
// so that `groups` counts as 1. Tasks beyond the last are allowed and do nothing, so a caller may count tasks without
// checking whether groups are narrow.
#pragma once
#include <stdint.h>

#define SHLO_CONV_ROWS 48
#define SHLO_CONV_COLUMNS 64
#define SHLO_CONV_SCRATCH 1048576
#define SHLO_CONV_PADDING 16

#ifndef SHLO_EPILOGUE_DEFINED
#define SHLO_EPILOGUE_DEFINED
// Processes a finished block: rows [i0, i0 + rows) and columns [j0, j0 + columns) of the result, row-major at `tile`,
// which is 64-byte aligned; ld and the readable columns are multiples of 16. The tile may be overwritten.
typedef void (*ShloEpilogue)(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns);
#endif

extern "C" {

struct ShloConv;
// Packs the weights of `columns` output features from `feature` on, channels [c0, c0 + cn) and taps [t0, t1), converted
// to the type of the sums: [panel][tap][channel][column], `panel` features each, the last rounded up to whole
// registers.
typedef void (*ShloConvWeights)(const struct ShloConv* conv, int64_t feature, int64_t columns, int64_t panel, int64_t c0,
                                int64_t cn, int64_t t0, int64_t t1, void* to);

// Strides count elements. Entries beyond `rank` (0 to 3) are ignored. `in_features` counts all groups; the kernel has
// in_features / groups of them. The input of each group begins `in_group_stride` after that of the previous one: groups
// divide the features or the batch (then `batch` is that of one group). Low padding may be negative; the high padding
// follows from `out_sizes`.
// `transposed`: the epilogue takes transposed tiles, tile[(j - j0) * ld + i - i0] at row i, column j; these may be
// unaligned, and nothing beyond their elements is readable.
// `pack`: packs a kernel whose type differs from that of the sums, else null. Not for narrow groups.
// `packed`: the kernel as packed by shlo_conv_pack_NAME, or null. `room`: bytes of scratch memory beyond
// SHLO_CONV_SCRATCH, for the packed weights of one column block or of all.
struct ShloConv {
  const void* input;
  const void* kernel;
  ShloConvWeights pack;
  const void* packed;
  int64_t room;
  int64_t rank;
  int64_t batch, in_features, out_features;
  int64_t in_sizes[3], kernel_sizes[3], out_sizes[3];
  int64_t in_group_stride, in_batch_stride, in_feature_stride, in_strides[3];
  int64_t kernel_in_stride, kernel_out_stride, kernel_strides[3];
  int64_t window_strides[3], low_padding[3], lhs_dilation[3], rhs_dilation[3], reversal[3];
  int64_t groups, transposed;
};

// Computes the tasks [begin, end). `scratch` is SHLO_CONV_SCRATCH + room bytes of private memory, 64-byte aligned.
// Integers wrap, so that signedness does not matter; i16 operands are i32 in memory, with values that fit into 16 bits.
// i8 and u8 operands are bytes in memory, and i32 in the tile.
//
// shlo_conv_pack_NAME: packs the weights of column blocks [begin, end) of groups * column_blocks. Each group takes
// taps * in_features / groups * round_up(features, SHLO_CONV_PADDING) elements, where four features of bytes are one
// element of 32 bits; memory is 64-byte aligned. Not for narrow groups, whose weights are read in place.
#define SHLO_CONV_KERNEL(name)                                                                                        \
  void shlo_conv_##name(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue,      \
                        void* context);                                                                               \
  void shlo_conv_pack_##name(const ShloConv* conv, int64_t begin, int64_t end, void* packed);
SHLO_CONV_KERNEL(i8) SHLO_CONV_KERNEL(u8)
SHLO_CONV_KERNEL(f32) SHLO_CONV_KERNEL(f64) SHLO_CONV_KERNEL(i16) SHLO_CONV_KERNEL(i32) SHLO_CONV_KERNEL(i64)
// The same for several groups (the above: for one).
SHLO_CONV_KERNEL(groups_f32) SHLO_CONV_KERNEL(groups_f64)
SHLO_CONV_KERNEL(groups_i16) SHLO_CONV_KERNEL(groups_i32) SHLO_CONV_KERNEL(groups_i64)

// Computes tasks of convolutions whose windows are as long as the lines of the input (for the conditions see
// conv/long.h), also with several groups. False: not such a convolution; nothing is computed.
#define SHLO_LONG_CONV_KERNEL(name)                                                                                   \
  bool shlo_conv_long_##name(const ShloConv* conv, int64_t begin, int64_t end, void* scratch, ShloEpilogue epilogue, \
                             void* context);
SHLO_LONG_CONV_KERNEL(f32) SHLO_LONG_CONV_KERNEL(f64)

// Weights of other types in f32 convolutions (see ShloConvWeights).
#define SHLO_CONV_WEIGHTS(name)                                                                                       \
  void shlo_conv_weights_##name(const ShloConv* conv, int64_t feature, int64_t columns, int64_t panel, int64_t c0,   \
                                int64_t cn, int64_t t0, int64_t t1, void* to);
SHLO_CONV_WEIGHTS(bf16) SHLO_CONV_WEIGHTS(f16)

}  // extern "C"
