// The positions of a chunk, whose results are computed together, and a thread's memory for one block of columns.
#pragma once
#include "conv/narrow.h"

namespace {

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
  TransposedTile<E> transposed;
  Strip<E> strip;
  Positions<ROWS> positions, unsorted;
  int32_t slots[LINE_TAPS];        // [output line][tap across lines]: copied line, -1 for padding
  const void* sources[LINE_TAPS];  // of the copied lines
};
static_assert(Memory<double>::ROWS * COLUMNS >= NarrowBlock<double, Whole<double>>::TILE, "a tile fits");
static_assert(sizeof(Memory<float>) <= SHLO_CONV_SCRATCH && sizeof(Memory<double>) <= SHLO_CONV_SCRATCH,
              "SHLO_CONV_SCRATCH is too small");

}  // namespace
