// Convolutions of i8 and u8 with i32 sums: four channels at a time, by byte dot-product instructions.
#pragma once
#include "gemm/narrow.h"
#include "conv/indirect.h"

namespace {

// If the CPU multiplies unsigned by signed bytes, the highest bits of the input are flipped: i8 becomes u8 with 128
// added, u8 becomes i8 with 128 subtracted. The resulting error of sums, 128 or -128 times the sum of the weights, is
// the excess.
template <class S>
struct Fours : Bytes<S> {
  typedef Bytes<S> Kind;
  typedef typename Kind::vector vector;
  typedef S Memory;
  static constexpr int panel = 2;  // leaves a register per vector for the excess

  SHLO_INLINE vector weights(vector y) { return y; }
  SHLO_INLINE vector multiply_add(vector sum, uint32_t x, vector y) {
    const vector all = vector{} + x;
    return Kind::multiply_add(sum, y, Kind::has_excess ? all ^ Kind::HIGHEST : all);
  }
};

}  // namespace
