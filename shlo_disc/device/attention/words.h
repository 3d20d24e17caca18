// Conversion of attention's operands to the words its products read. (The products: attention/online.h.)
//
// Elements of two bytes become words of four: an f16 as f32, or two bf16 adjacent in the dimension that is summed.
#pragma once
#include "attention/online.h"
#include "gemm/narrow.h"

namespace {

// Converts elements to f32; writes as lay_out does.
template <class N>
void widen(const N* from, int64_t row, int64_t column, int64_t rows, int64_t columns, float* to, int64_t ld) {
  for (int64_t r = 0; r < rows; r += 16)
    for (int64_t c = 0; c < columns; c += 16) {
      const int64_t high = least(16, rows - r), wide = least(16, columns - c);
      const N* const at = from + r * row + c * column;
      float* const put = to + r * ld + c;
      if (column == 1) {
        for (int64_t i = 0; i < high; ++i) store(put + i * ld, load_n(at + i * row, wide));
      } else if (row == 1) {
        float transposed[16 * 16];
        for (int64_t j = 0; j < wide; ++j) store(transposed + j * 16, load_n(at + j * column, high));
        load_transposed(put, transposed, int64_t(16), high, wide, ld);
      } else {
        for (int64_t i = 0; i < high; ++i)
          for (int64_t j = 0; j < wide; ++j) put[i * ld + j] = value(at[i * row + j * column]);
      }
    }
}

// A word holds `step` elements N. Number: type between the products; Weight: type of the second product's weights.
// left: rows of words along the summed dimension. across: rows are the summed dimension, word (r, c) of `to` has
// elements (step * r .., c). Missing elements are 0. `across` writes as lay_out does.
template <class N>
struct Words;

template <>
struct Words<f16> {
  static constexpr int64_t step = 1;
  typedef float Number, Weight;

  static const float* left(const f16* from, int64_t row, int64_t column, int64_t rows, int64_t k, float* to, int64_t ld,
                           int64_t& to_ld) {
    across(from, row, column, rows, k, to, ld);
    to_ld = ld;
    return to;
  }
  static void across(const f16* from, int64_t row, int64_t column, int64_t rows, int64_t columns, float* to, int64_t ld) {
    widen(from, row, column, rows, columns, to, ld);
  }
};

template <>
struct Words<bf16> {
  static constexpr int64_t step = 2;
  typedef float Number;
  typedef bf16 Weight;

  static const float* left(const bf16* from, int64_t row, int64_t column, int64_t rows, int64_t k, float* to, int64_t ld,
                           int64_t& to_ld) {
    if (column == 1 && row % 2 == 0 && k % 2 == 0) {
      to_ld = row / 2;
      return (const float*)from;
    }
    to_ld = ld;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t p = 0; p < k; p += 2) {
        const bf16* const at = from + r * row + p * column;
        put(to + r * ld + p / 2, at[0].bits, p + 1 < k ? at[column].bits : 0);
      }
    return to;
  }
  static void across(const bf16* from, int64_t row, int64_t column, int64_t rows, int64_t columns, float* to, int64_t ld) {
    if (row == 1 && rows % 2 == 0 && column % 2 == 0)
      return lay_out((const float*)from, int64_t(1), column / 2, rows / 2, columns, to, ld);
    for (int64_t r = 0; r < rows; r += 2, from += 2 * row, to += ld) {
      const bool both = r + 1 < rows;
      for (int64_t c = 0; column == 1 && c < columns; c += 16) {
        const int64_t wide = least(16, columns - c);
        const u32v low = widened(from + c, wide), high = both ? widened(from + row + c, wide) : u32v{};
        const u32v words = low | high << 16;
        __builtin_memcpy(to + c, &words, sizeof words);
      }
      for (int64_t c = 0; column != 1 && c < columns; ++c)
        put(to + c, from[c * column].bits, both ? from[row + c * column].bits : 0);
    }
  }

 private:
  static u32v widened(const bf16* p, int64_t n) { return __builtin_convertvector(load_bytes<u16v>(p, n), u32v); }
  static void put(float* to, uint32_t low, uint32_t high) {
    const uint32_t word = low | high << 16;
    __builtin_memcpy(to, &word, sizeof word);
  }
};

// Words of two bf16, multiplied by the kind K of gemm/narrow.h.
template <class T, class K>
struct Brain {
  typedef uint32_t __attribute__((may_alias)) Word;
  static constexpr int parts = K::parts;

  template <int part>
  SHLO_INLINE register_t<T> load(const T* p) {
    if constexpr (parts == 2) return K::template unpack<part>((const Word*)p);
    else return K::unpack((const Word*)p);
  }
  template <int part>
  SHLO_INLINE register_t<T> broadcast(const T* p) {
    if constexpr (parts == 2) return K::template broadcast<part>(*(const Word*)p);
    else return K::broadcast(*(const Word*)p);
  }
  SHLO_INLINE register_t<T> add(register_t<T> sum, register_t<T> x, register_t<T> y) { return K::multiply_add(sum, x, y); }
};
template <class T> using BrainWords = Brain<T, BrainPairs>;
template <class T> using BrainDots = Brain<T, BrainProducts>;

}  // namespace
