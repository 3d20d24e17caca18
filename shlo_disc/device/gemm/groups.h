// The groups of rows of a product, whose sizes are in memory, one after the other. Both targets' kernels walk through them.
#pragma once
#ifdef SHLO_DEVICE
#define SHLO_MEMBER SHLO_DEVICE
#else
#include <stdint.h>
#define SHLO_MEMBER
#endif

// Groups follow each other from row 0 on. A size below 0 counts as 0; rows beyond `rows` do not exist. What is left of the
// rows after the last group is one more group, number `count`. A new walk begins before the first group.
template <class T>
struct ShloGroups {
  const T* sizes;
  int64_t step, count, rows;                   // group p has sizes[p * step] rows
  int64_t group = -1, first = 0, last = 0;     // the current one: its rows are [first, last)
  int64_t blocks_before = 0;                   // of rows, in the groups before it

  SHLO_MEMBER void next() {
    ++group;
    first = last;
    last = rows;
    if (group >= count) return;
    const T size = sizes[group * step];
    if (size <= 0) last = first;
    else if ((uint64_t)size < (uint64_t)(rows - first)) last = first + (int64_t)size;
  }

  SHLO_MEMBER bool is_rest() const { return group >= count; }

  // The next group that has rows; -1 if there is none.
  SHLO_MEMBER int64_t following() const {
    if (last < rows)
      for (int64_t p = group + 1; p < count; ++p)
        if (sizes[p * step] > 0) return p;
    return -1;
  }

  // Go on to a group that is not before the current one.
  SHLO_MEMBER void go_to(int64_t wanted) {
    while (group < wanted) next();
  }

  // The first row of block number `block` of all groups, each of which is cut into blocks of so many rows; -1 if there are
  // fewer blocks. Numbers increase from call to call.
  SHLO_MEMBER int64_t seek(int64_t block, int64_t block_rows) {
    if (group < 0) next();
    for (; group <= count; next()) {
      const int64_t blocks = (last - first + block_rows - 1) / block_rows;
      if (block - blocks_before < blocks) return first + (block - blocks_before) * block_rows;
      blocks_before += blocks;
    }
    return -1;
  }
};
