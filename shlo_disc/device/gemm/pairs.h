// Integers of at most 16 bits, two depths at a time. (What a kind is: gemm/kinds.h.)
#pragma once
#include "gemm/kinds.h"

namespace {

// A packed element is a pair of i16 in 32 bits, the lower depth in the lower half.
template <class S>
struct Pairs : Real<uint32_t, uint32_t> {
  typedef S Storage;
  typedef Real<S, uint32_t> Single;
  typedef Pairs Left;
  static constexpr int step = 2;
  static constexpr bool in_place = false, is_raw = same<S, int16_t>;
  typedef lanes_t<S, 2 * lanes> Line;

  SHLO_INLINE vector read(const S* p) { return Single::read(p) & 0xffffu; }
  SHLO_INLINE vector join(vector x, vector y, int) { return x | y << 16; }
  SHLO_INLINE vector pairs(Line x) { return (vector)__builtin_convertvector(x, lanes_t<int16_t, 2 * lanes>); }
  SHLO_INLINE vector along(const S* p) { return pairs(read_as<Line>(p)); }

  SHLO_INLINE vector multiply_add(vector sum, vector x, vector y) { return add_products_of_pairs(sum, x, y); }
};

}  // namespace
