// Convolutions of i8 and u8 in i32: four channels at a time, by the CPU's products of bytes.
#pragma once
#include "gemm/narrow.h"
#include "conv/indirect.h"

namespace {

// Where the CPU multiplies unsigned bytes with signed ones, the input is read with its highest bits flipped: i8 are 128 more
// then, as u8, and u8 are 128 less, as i8. What that adds to sums, 128 or -128 times the sum of the weights, is their excess.
template <class S>
struct Fours : Bytes<S> {
  typedef Bytes<S> Kind;
  typedef typename Kind::vector vector;
  typedef S Memory;
  static constexpr int panel = 2;  // a register is left for the excess of each

  SHLO_INLINE vector weights(vector y) { return y; }
  SHLO_INLINE vector multiply_add(vector sum, uint32_t x, vector y) {
    const vector all = vector{} + x;
    return Kind::multiply_add(sum, y, Kind::has_excess ? all ^ Kind::HIGHEST : all);
  }
};

}  // namespace
