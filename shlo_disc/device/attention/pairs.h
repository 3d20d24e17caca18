// Blocks of rows with all their keys: row sums by the program's own formulas, and iteration over the key ranges that a
// mask hides or not. (The interface: attention/attention.h.)
#pragma once
#include "attention/online.h"

namespace {

constexpr int64_t ROWS = SHLO_BACKWARD_ROWS, CHUNK = SHLO_BACKWARD_KEYS;

enum Answer { UNKNOWN, NO, YES };

// The elementwise maximum; NaN propagates.
template <class V>
SHLO_INLINE V largest(V a, V b) {
  if constexpr (is_pair<V>) return V{larger(a.lo, b.lo), larger(a.hi, b.hi)};
  else return larger(a, b);
}

// `It` describes the computation: its `sums`, `keys` and `hidden`.
template <class T, class It>
struct PairsOfRows {
  static constexpr T INFINITE = __builtin_inf();
  static constexpr T VANISHED = sizeof(T) == 4 ? T(-104) : T(-746);  // exp of this is 0
  enum Pairs { SEEN, HIDDEN, ALL };

  const It& it;
  const int64_t ld = pitch(it.keys), weights_ld = pitch(CHUNK);
  T *raw = nullptr, *gradient = nullptr, *weights = nullptr, *sums = nullptr;

  explicit PairsOfRows(const It& what) : it(what) {}

  // Calls take(c, count) with runs of at most CHUNK keys from `c` on, all hidden from these rows or all not.
  template <class F>
  void each_run(int64_t i, int64_t rows, Pairs which, F take) const {
    for (int64_t c = 0, end; c < it.keys; c = end) {
      const int64_t most = least(c / CHUNK * CHUNK + CHUNK, it.keys);
      end = most;
      if (which != ALL) {
        const auto hides = [&](int64_t from) {
          return it.hidden != nullptr && it.hidden(it.context, i, i + rows, from, least(from + STRIP, it.keys));
        };
        const bool hidden = hides(c);
        end = c + STRIP;
        while (end < most && hides(end) == hidden) end += STRIP;
        end = least(end, most);
        if (hidden != (which == HIDDEN)) continue;
      }
      take(c, end - c);
    }
  }

  bool any_hidden(int64_t i, int64_t rows) const {
    if (it.hidden == nullptr) return false;
    for (int64_t c = 0; c < it.keys; c += STRIP)
      if (it.hidden(it.context, i, i + rows, c, least(c + STRIP, it.keys))) return true;
    return false;
  }

  void begin_sums() const {
    for (int64_t k = 0; k < it.sum_count; ++k)
      for (int64_t r = 0; r < ROWS; ++r) sums[k * ROWS + r] = it.sums[k].greatest ? -INFINITE : T(0);
  }

  // Whether the exponentials of scores of at most `fill` are 0 in these rows.
  bool vanish(int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r)
      if (!(T(it.fill) - sums[r] <= VANISHED && sums[r] < INFINITE)) return false;
    return true;
  }

  // Reduces rows of `x` into their sums, 16 of which are the lanes of one vector.
  template <class Op>
  void add_to_sums(T* sums_of_rows, T nothing, const T* x, int64_t x_ld, int64_t rows, int64_t count, Op op) const {
    typedef vector_t<T> vector;
    const vector none = splat<vector>(nothing);
    for (int64_t r = 0; r < rows; r += 16) {
      vector each[16];
      for (int64_t k = 0; k < 16; ++k) {
        each[k] = none;
        if (r + k >= rows) continue;
        const T* const row = x + (r + k) * x_ld;
        int64_t j = 0;
        for (; j + 16 <= count; j += 16) each[k] = op(each[k], load(row + j));
        if (j < count) each[k] = op(each[k], keep_n(load_n(row + j, count - j), count - j, none));
      }
      store(sums_of_rows + r, op(load(sums_of_rows + r), across(each, op)));
    }
  }

  void reduce(int64_t k, int64_t i, int64_t rows, Pairs which) const {
    const ShloRowSum& one = it.sums[k];
    each_run(i, rows, which, [&](int64_t c, int64_t count) {
      T* const to = one.kept ? raw + c : weights;
      const int64_t to_ld = one.kept ? ld : weights_ld;
      one.element(it.context, raw + c, gradient + c, to, sums, ld, to_ld, i, rows, c, count);
      T* const all = sums + k * ROWS;
      if (one.greatest) add_to_sums(all, -INFINITE, to, to_ld, rows, count, [](auto a, auto b) { return largest(a, b); });
      else add_to_sums(all, T(0), to, to_ld, rows, count, [](auto a, auto b) { return a + b; });
    });
  }
};

}  // namespace
