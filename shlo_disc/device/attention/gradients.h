// The gradients of attention, for blocks of rows with all their keys. (The interface: attention/attention.h.)
//
// All scores of a block of rows are in memory, so row sums are computed as in a program that stores scores; the whole
// score matrix is never stored. Gradients of keys and values accumulate over the blocks of rows in a fixed order, and
// threads share no matrix.
#pragma once
#include "attention/pairs.h"
#include "attention/words.h"

namespace {

// Whether no magnitude exceeds `most`, and none is NaN.
template <class N, class T>
bool moderate(const N* x, int64_t row, int64_t column, int64_t rows, int64_t columns, T most) {
  if (row == 1 && column != 1) return moderate(x, column, row, columns, rows, most);
  auto greatest = splat<vector_t<T>>(0);
  for (int64_t r = 0; r < rows; ++r, x += row) {
    for (int64_t c = 0; column == 1 && c < columns; c += 16)
      greatest = max_(greatest, abs_(load_n(x + c, least(16, columns - c))));
    for (int64_t c = 0; column != 1 && c < columns; ++c)
      if (!(abs_(value(x[c * column])) <= most)) return false;
  }
  return hmax(greatest) <= most;
}

// Functions shared with attention, compiled there: compiled here, they would be half of this code.
template <class T> struct Shared;

// Words that are single numbers.
template <class T>
struct Single {
  static constexpr int64_t step = 1;
  typedef T Number;

  static const T* left(const T* from, int64_t row, int64_t column, int64_t rows, int64_t k, T* to, int64_t ld, int64_t& to_ld) {
    if (column == 1) {
      to_ld = row;
      return from;
    }
    to_ld = ld;
    across(from, row, column, rows, k, to, ld);
    return to;
  }
  static void across(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns, T* to, int64_t ld) {
    Shared<T>::lay_out(from, row, column, rows, columns, to, ld);
  }
};
template <> struct Words<float> : Single<float> {};
template <> struct Words<double> : Single<double> {};

// Operands have elements N; values between the products have type T.
template <class N, class T = typename Words<N>::Number>
struct AttentionBackward : PairsOfRows<T, ShloAttentionBackward> {
  typedef PairsOfRows<T, ShloAttentionBackward> Base;
  typedef typename Base::Pairs Pairs;
  using Base::it, Base::raw, Base::gradient, Base::weights, Base::sums, Base::ld, Base::weights_ld, Base::each_run;
  using Base::any_hidden, Base::reduce, Base::begin_sums, Base::SEEN, Base::HIDDEN, Base::ALL;
  static constexpr int64_t MOST = 8;  // gradients
  static constexpr int64_t STEP = Words<N>::step;

  static int64_t words(int64_t n) { return (n + STEP - 1) / STEP; }
  static const N* at(const ShloMatrix& m, int64_t i) { return (const N*)m.at + i * m.row; }

  const int64_t deep = whole_lines(words(it.depth)), wide = whole_lines(words(it.width)), high = whole_lines(it.keys);
  T *const keys, *const values, *queries, *upstream;
  T *right[MOST], *sum[MOST];  // of each gradient
  T* paired;                   // weights, with pairs of adjacent rows in one word

  AttentionBackward(const ShloAttentionBackward& attention, T* scratch)
      : Base(attention), keys(scratch), values(keys + deep * high) {
    raw = values + wide * high;
    gradient = raw + ROWS * ld;
    weights = gradient + ROWS * ld;
    paired = weights + least_one(it.weight_count) * ROWS * weights_ld;
    queries = paired + (STEP == 1 ? 0 : words(ROWS) * weights_ld);
    upstream = queries + ROWS * deep;
    sums = upstream + ROWS * wide;
    T* next = sums + it.sum_count * ROWS;
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      const int64_t line = whole_lines(one.columns);
      right[n] = next;
      sum[n] = next += line * right_high(one);
      next += line * (one.by_key ? high : ROWS);
    }
  }
  static int64_t least_one(int64_t n) { return n < 1 ? 1 : n; }

  // Lines of the right operand, if it is packed.
  int64_t right_high(const ShloGradient& one) const {
    if (one.words == SHLO_NUMBERS) return one.by_key ? ROWS : high;
    return whole_lines(words(one.by_key ? ROWS : it.keys));
  }

  // Rows as products read them: in place, or packed.
  struct Lines {
    const T* at;
    int64_t ld;
  };
  static Lines lines(const ShloMatrix& m, int64_t i, int64_t rows, int64_t columns, T* to, int64_t to_ld) {
    Lines found;
    found.at = Words<N>::left(at(m, i), m.row, m.column, rows, columns, to, to_ld, found.ld);
    return found;
  }
  static void lay_out_words(const N* from, int64_t row, int64_t column, int64_t rows, int64_t columns, T* to, int64_t high) {
    lay_out_panels(from, row, column, rows, columns, to, high, Words<N>::across);
  }
  static void lay_out_right(const ShloGradient& one, const N* from, int64_t rows, T* to, int64_t high) {
    if constexpr (STEP > 1)
      if (one.words == SHLO_NUMBERS)
        return lay_out_panels(from, one.right.row, one.right.column, rows, one.columns, to, high, widen<N>);
    lay_out_words(from, one.right.row, one.right.column, rows, one.columns, to, high);
  }
  // c (+)= a b, over the words of `k` elements. TURNED: `a` is transposed, the sum is over its lines.
  template <bool TURNED>
  static void multiply_words(ShloWords are, Lines a, int64_t rows, Panels<T> b, T* c, int64_t ldc, int64_t k, int64_t columns,
                             bool add) {
    if constexpr (STEP > 1) {
      if (are == SHLO_PAIRS) return multiply<TURNED, BrainWords>(a.at, a.ld, rows, b, c, ldc, words(k), columns, add);
      if (are == SHLO_ROUNDED_PAIRS) return multiply<TURNED, BrainDots>(a.at, a.ld, rows, b, c, ldc, words(k), columns, add);
    }
    if constexpr (TURNED) multiply<true>(a.at, a.ld, rows, b, c, ldc, k, columns, add);
    else Shared<T>::multiply(a.at, a.ld, rows, b.at, b.high, b.ld, b.first, c, ldc, k, columns, add);
  }

  __attribute__((noinline)) void multiply_pairs(Lines q, Lines g, int64_t i, int64_t rows, Pairs which) const {
    each_run(i, rows, which, [&](int64_t c, int64_t count) {
      multiply_words<false>(it.raw_words, q, rows, {keys + c * deep, deep, 0, 0}, raw + c, ld, it.depth, count, false);
      multiply_words<false>(it.gradient_words, g, rows, {values + c * wide, wide, 0, 0}, gradient + c, ld, it.width, count,
                            false);
    });
  }

  // Whether pairs with scores of at most `fill` contribute nothing to these rows and to sums over rows.
  bool vanish(int64_t i, int64_t rows) const {
    if (!Base::vanish(rows)) return false;
    const T most = T(it.moderate);
    return moderate(at(it.q, i), it.q.row, it.q.column, rows, it.depth, most) &&
           moderate(at(it.g, i), it.g.row, it.g.column, rows, it.width, most);
  }

  // Evaluated only where a mask hides something, and then cached.
  bool are_moderate(Answer& keys_and_values) const {
    const T most = T(it.moderate);
    if (keys_and_values == UNKNOWN)
      keys_and_values = moderate(at(it.k, 0), it.k.row, it.k.column, it.keys, it.depth, most) &&
                                moderate(at(it.v, 0), it.v.row, it.v.column, it.keys, it.width, most)
                            ? YES
                            : NO;
    return keys_and_values == YES;
  }

  // `begins`: sums over rows are still uninitialized.
  __attribute__((noinline)) void take_rows(int64_t i, int64_t rows, Answer& moderate_keys, bool begins) const {
    begin_sums();
    const Lines q = lines(it.q, i, rows, it.depth, queries, deep), g = lines(it.g, i, rows, it.width, upstream, wide);
    Pairs which = any_hidden(i, rows) ? SEEN : ALL;
    multiply_pairs(q, g, i, rows, which);
    reduce(0, i, rows, which);
    if (which == SEEN && !(are_moderate(moderate_keys) && vanish(i, rows))) {
      multiply_pairs(q, g, i, rows, HIDDEN);
      reduce(0, i, rows, HIDDEN);
      which = ALL;
    }
    for (int64_t k = 1; k < it.sum_count; ++k) reduce(k, i, rows, which);
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (one.by_key && !reads_in_place(one))
        lay_out_right(one, at(one.right, i), rows, right[n], right_high(one));
    }
    if (begins && which != ALL) clear_sums(true);  // keys hidden from these rows are first used by later ones
    bool taken = false;
    each_run(i, rows, which, [&](int64_t c, int64_t count) {
      add_gradients(i, rows, c, count, !begins || which != ALL, taken);
      taken = true;
    });
    if (!taken) clear_sums(false);
    if (which == SEEN && it.vacant != nullptr)
      each_run(i, rows, HIDDEN, [&](int64_t c, int64_t count) { compute(it.vacant, 0, i, rows, c, count); });
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (!one.by_key) one.epilogue(it.context, sum[n], whole_lines(one.columns), i, rows, 0, one.columns);
    }
  }

  // Rows of whole registers are read in place. So are keys, if there are only a few blocks of rows.
  bool reads_in_place(const ShloGradient& one) const {
    return sizeof(N) == sizeof(T) && one.right.column == 1 && one.columns % 16 == 0 && (one.by_key || it.rows <= 2 * ROWS);
  }
  // The right operand for weights of rows from i on, or of keys from c on.
  Panels<T> right_of(int64_t n, int64_t i, int64_t c) const {
    const ShloGradient& one = it.gradients[n];
    if (reads_in_place(one)) return {(const T*)at(one.right, i), 1, one.right.row, c};
    return {right[n], right_high(one), 0, one.words == SHLO_NUMBERS ? c : c / STEP};
  }

  void compute(ShloPairs weights_of, int64_t w, int64_t i, int64_t rows, int64_t c, int64_t count) const {
    weights_of(it.context, raw + c, gradient + c, weights + w * ROWS * weights_ld, sums, ld, weights_ld, i, rows, c, count);
  }

  // `over_rows`, `over_keys`: whether to add to those sums, or to overwrite them.
  __attribute__((noinline)) void add_gradients(int64_t i, int64_t rows, int64_t c, int64_t count, bool over_rows,
                                               bool over_keys) const {
    for (int64_t w = 0; w < it.weight_count; ++w) {
      compute(it.weights[w].element, w, i, rows, c, count);
      N* const to = (N*)(weights + w * ROWS * weights_ld);
      for (int64_t r = 0; it.weights[w].narrow && count % STEP != 0 && r < rows; ++r)
        to[r * weights_ld + count] = N{};  // pads the last word of an odd number of keys
    }
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      const int64_t line = whole_lines(one.columns);
      T* const a = weights + one.number * ROWS * weights_ld;
      if (!one.by_key) {
        const int64_t a_ld = one.words == SHLO_NUMBERS ? weights_ld : weights_ld / STEP;
        multiply_words<false>(one.words, {a, a_ld}, rows, right_of(n, 0, c), sum[n], line, count, one.columns,
                              over_keys);
        continue;
      }
      const bool pairs = one.words != SHLO_NUMBERS;
      if constexpr (STEP > 1)
        if (pairs) Words<N>::across((const N*)a, weights_ld, int64_t(1), rows, count, paired, weights_ld);
      multiply_words<true>(one.words, {pairs ? paired : a, weights_ld}, count, right_of(n, i, 0), sum[n] + c * line, line, rows,
                           one.columns, over_rows);
    }
  }

  __attribute__((noinline)) void clear_sums(bool by_key) const {
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      const int64_t all = one.by_key == by_key ? (by_key ? high : ROWS) * whole_lines(one.columns) : 0;
      for (int64_t k = 0; k < all; k += 16) store(sum[n] + k, splat<vector_t<T>>(0));
    }
  }

  void run(bool first, bool last) const {
    lay_out_words(at(it.k, 0), it.k.column, it.k.row, it.depth, it.keys, keys, deep);
    lay_out_words(at(it.v, 0), it.v.column, it.v.row, it.width, it.keys, values, wide);
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (!one.by_key && !reads_in_place(one)) lay_out_right(one, at(one.right, 0), it.keys, right[n], right_high(one));
    }
    if (first && it.rows == 0) clear_sums(true);
    Answer moderate_keys = UNKNOWN;
    for (int64_t i = 0; i < it.rows; i += ROWS) take_rows(i, least(ROWS, it.rows - i), moderate_keys, first && i == 0);
    for (int64_t n = 0; last && n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (one.by_key) one.epilogue(it.context, sum[n], whole_lines(one.columns), 0, it.keys, 0, one.columns);
    }
  }
};

}  // namespace

// Defines the kernel for operands N, using the functions of attention of type `shared`, with numbers T.
#define SHLO_ATTENTION_BACKWARD(name, N, shared, T)                                                                \
  namespace {                                                                                                      \
  template <> struct Shared<T> {                                                                                   \
    static constexpr auto multiply = shlo_attention_multiply_##shared;                                             \
    static constexpr auto lay_out = shlo_attention_lay_out_##shared;                                               \
  };                                                                                                               \
  }                                                                                                                \
  extern "C" void shlo_attention_backward_##name(const ShloAttentionBackward* attention, bool first, bool last,    \
                                                 void* scratch) {                                                  \
    AttentionBackward<N>(*attention, (T*)scratch).run(first, last);                                                \
  }
