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
//
// block_plan.h chooses how a block is computed, block_positions.h lists positions and copies lines, block_product.h
// finds the input of a strip and multiplies it, and column_block.h runs these for all positions.
#pragma once
#include "conv/column_block.h"
#include "conv/narrow.h"
#include "conv/padding.h"
#include "conv/plane.h"

namespace {

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
  if (conv.transposed) {
    memory.transposed.epilogue = epilogue;
    memory.transposed.context = context;
    context = &memory.transposed;
    epilogue = transpose_tile<E>;
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
      typedef TransposedNarrowBlock<E, A> Transposed;
      if (p.narrow) {
        PlaneBlock<E, A> plane(p, input, kernel, columns);
        if (conv.transposed && plane.plan(memory.lines, Memory<E>::LINES, memory.tile, Memory<E>::ROWS * COLUMNS)) {
          plane.run(first, last, feature, given, given_context);
          continue;
        }
        if (!compute_narrow(NarrowBlock<E, A>(p, input, kernel, columns)) &&
            !compute_narrow(Transposed(p, input, kernel, columns, memory.lines, Memory<E>::LINES)) &&
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
