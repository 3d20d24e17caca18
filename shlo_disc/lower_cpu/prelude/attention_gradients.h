// The gradients of attention, for blocks of rows with all their keys. (The interface: attention.h.)
//
// What a row's softmax needs is found as in a program that stores scores, since all scores of a few rows are there at once;
// only products of whole matrices never are. Gradients of keys and values grow from one block of rows to the next, in one
// order, so that threads share no matrix.
#pragma once
#include "attention_pairs.h"

namespace {

// Whether all numbers are at most so large, and none is NaN.
template <class T>
bool moderate(const T* x, int64_t row, int64_t column, int64_t rows, int64_t columns, T most) {
  if (row == 1 && column != 1) return moderate(x, column, row, columns, rows, most);
  auto greatest = splat<vector_t<T>>(0);
  for (int64_t r = 0; r < rows; ++r, x += row) {
    for (int64_t c = 0; column == 1 && c < columns; c += 16)
      greatest = max_(greatest, abs_(load_n(x + c, least(16, columns - c))));
    for (int64_t c = 0; column != 1 && c < columns; ++c)
      if (!(abs_(x[c * column]) <= most)) return false;
  }
  return hmax(greatest) <= most;
}

// What attention has too is compiled with it: here it would be half of all.
template <class T> struct Shared;

template <class T>
struct AttentionBackward : PairsOfRows<T, ShloAttentionBackward> {
  typedef PairsOfRows<T, ShloAttentionBackward> Base;
  typedef typename Base::Pairs Pairs;
  using Base::it, Base::raw, Base::gradient, Base::weights, Base::sums, Base::ld, Base::weights_ld, Base::each_piece;
  using Base::any_hidden, Base::reduce, Base::begin_sums, Base::SEEN, Base::HIDDEN, Base::ALL;
  static constexpr int64_t MOST = 8;  // gradients

  const int64_t deep = whole_lines(it.depth), wide = whole_lines(it.width), high = whole_lines(it.keys);
  T *const keys, *const values, *queries, *upstream;
  T *right[MOST], *sum[MOST];  // of gradients

  AttentionBackward(const ShloAttentionBackward& attention, T* scratch)
      : Base(attention), keys(scratch), values(keys + deep * high) {
    raw = values + wide * high;
    gradient = raw + ROWS * ld;
    weights = gradient + ROWS * ld;
    queries = weights + least_one(it.weight_count) * ROWS * weights_ld;
    upstream = queries + ROWS * deep;
    sums = upstream + ROWS * wide;
    T* next = sums + it.sum_count * ROWS;
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      const int64_t line = whole_lines(one.columns);
      right[n] = next;
      sum[n] = next += line * (one.by_key ? ROWS : high);
      next += line * (one.by_key ? high : ROWS);
    }
  }
  static int64_t least_one(int64_t n) { return n < 1 ? 1 : n; }

  static const T* at(const ShloMatrix& m, int64_t i) { return (const T*)m.at + i * m.row; }

  // Rows as products read them: where they are, or laid out.
  struct Lines {
    const T* at;
    int64_t ld;
  };
  static void lay_out_all(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns, T* to, int64_t high) {
    lay_out_panels(from, row, column, rows, columns, to, high, Shared<T>::lay_out);
  }
  static void multiply_rows(Lines a, int64_t rows, Panels<T> b, T* c, int64_t ldc, int64_t k, int64_t columns, bool add) {
    Shared<T>::multiply(a.at, a.ld, rows, b.at, b.high, b.ld, b.first, c, ldc, k, columns, add);
  }
  static Lines lines(const ShloMatrix& m, int64_t i, int64_t rows, int64_t columns, T* to, int64_t to_ld) {
    if (m.column == 1) return {at(m, i), m.row};
    Shared<T>::lay_out(at(m, i), m.row, m.column, rows, columns, to, to_ld);
    return {to, to_ld};
  }

  __attribute__((noinline)) void multiply_pairs(Lines q, Lines g, int64_t i, int64_t rows, Pairs which) const {
    each_piece(i, rows, which, [&](int64_t c, int64_t count) {
      multiply_rows(q, rows, Panels<T>{keys + c * deep, deep, 0, 0}, raw + c, ld, it.depth, count, false);
      multiply_rows(g, rows, Panels<T>{values + c * wide, wide, 0, 0}, gradient + c, ld, it.width, count, false);
    });
  }

  // Whether pairs with scores of at most `fill` add nothing to these rows, nor to sums over them.
  bool vanish(Lines q, Lines g, int64_t rows) const {
    if (!Base::vanish(rows)) return false;
    const T most = T(it.moderate);
    return moderate(q.at, q.ld, int64_t(1), rows, it.depth, most) && moderate(g.at, g.ld, int64_t(1), rows, it.width, most);
  }

  // Asked only where a mask hides something, and then once.
  bool are_moderate(Answer& keys_and_values) const {
    const T most = T(it.moderate);
    if (keys_and_values == UNKNOWN)
      keys_and_values = moderate((const T*)it.k.at, it.k.row, it.k.column, it.keys, it.depth, most) &&
                                moderate((const T*)it.v.at, it.v.row, it.v.column, it.keys, it.width, most)
                            ? YES
                            : NO;
    return keys_and_values == YES;
  }

  __attribute__((noinline)) void take_rows(int64_t i, int64_t rows, Answer& moderate_keys) const {
    begin_sums();
    const Lines q = lines(it.q, i, rows, it.depth, queries, deep), g = lines(it.g, i, rows, it.width, upstream, wide);
    Pairs which = any_hidden(i, rows) ? SEEN : ALL;
    multiply_pairs(q, g, i, rows, which);
    reduce(0, i, rows, which);
    if (which == SEEN && !(are_moderate(moderate_keys) && vanish(q, g, rows))) {
      multiply_pairs(q, g, i, rows, HIDDEN);
      reduce(0, i, rows, HIDDEN);
      which = ALL;
    }
    for (int64_t k = 1; k < it.sum_count; ++k) reduce(k, i, rows, which);
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (one.by_key && !reads_in_place(one))
        lay_out_all(at(one.right, i), one.right.row, one.right.column, rows, one.columns, right[n], ROWS);
      if (!one.by_key) clear(sum[n], ROWS * whole_lines(one.columns));
    }
    each_piece(i, rows, which, [&](int64_t c, int64_t count) { add_gradients(i, rows, c, count); });
    if (which == SEEN && it.vacant != nullptr)
      each_piece(i, rows, HIDDEN, [&](int64_t c, int64_t count) { compute(it.vacant, 0, i, rows, c, count); });
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (!one.by_key) one.epilogue(it.context, sum[n], whole_lines(one.columns), i, rows, 0, one.columns);
    }
  }

  // Rows of whole registers are read where they are, and keys by a few blocks of rows.
  bool reads_in_place(const ShloGradient& one) const {
    return one.right.column == 1 && one.columns % 16 == 0 && (one.by_key || it.rows <= 2 * ROWS);
  }
  // What weights of rows from number i on, or of keys from number c on, are multiplied with.
  Panels<T> right_of(int64_t n, int64_t i, int64_t c) const {
    const ShloGradient& one = it.gradients[n];
    if (reads_in_place(one)) return {at(one.right, i), 1, one.right.row, c};
    return {right[n], one.by_key ? ROWS : high, 0, c};
  }

  void compute(ShloPairs weights_of, int64_t w, int64_t i, int64_t rows, int64_t c, int64_t count) const {
    weights_of(it.context, raw + c, gradient + c, weights + w * ROWS * weights_ld, sums, ld, weights_ld, i, rows, c, count);
  }

  __attribute__((noinline)) void add_gradients(int64_t i, int64_t rows, int64_t c, int64_t count) const {
    for (int64_t w = 0; w < it.weight_count; ++w) compute(it.weights[w], w, i, rows, c, count);
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      const int64_t line = whole_lines(one.columns);
      const T* const a = weights + one.number * ROWS * weights_ld;
      if (one.by_key)
        multiply<true>(a, weights_ld, count, right_of(n, i, 0), sum[n] + c * line, line, rows, one.columns, true);
      else
        multiply_rows({a, weights_ld}, rows, right_of(n, 0, c), sum[n], line, count, one.columns, true);
    }
  }

  static void clear(T* x, int64_t count) {
    for (int64_t k = 0; k < count; k += 16) store(x + k, splat<vector_t<T>>(0));
  }

  void run(bool first, bool last) const {
    lay_out_all((const T*)it.k.at, it.k.column, it.k.row, it.depth, it.keys, keys, deep);
    lay_out_all((const T*)it.v.at, it.v.column, it.v.row, it.width, it.keys, values, wide);
    for (int64_t n = 0; n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (one.by_key && first) clear(sum[n], high * whole_lines(one.columns));
      if (!one.by_key && !reads_in_place(one))
        lay_out_all((const T*)one.right.at, one.right.row, one.right.column, it.keys, one.columns, right[n], high);
    }
    Answer moderate_keys = UNKNOWN;
    for (int64_t i = 0; i < it.rows; i += ROWS) take_rows(i, least(ROWS, it.rows - i), moderate_keys);
    for (int64_t n = 0; last && n < it.gradient_count; ++n) {
      const ShloGradient& one = it.gradients[n];
      if (one.by_key) one.epilogue(it.context, sum[n], whole_lines(one.columns), 0, it.keys, 0, one.columns);
    }
  }
};

}  // namespace

#define SHLO_ATTENTION_BACKWARD(name, T)                                                                           \
  namespace {                                                                                                      \
  template <> struct Shared<T> {                                                                                   \
    static constexpr auto multiply = shlo_attention_multiply_##name;                                               \
    static constexpr auto lay_out = shlo_attention_lay_out_##name;                                                 \
  };                                                                                                               \
  }                                                                                                                \
  extern "C" void shlo_attention_backward_##name(const ShloAttentionBackward* attention, bool first, bool last,   \
                                                 void* scratch) {                                                   \
    AttentionBackward<T>(*attention, (T*)scratch).run(first, last);                                                \
  }
