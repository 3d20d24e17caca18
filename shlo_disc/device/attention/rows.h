// Attention of 2-byte types, for blocks of rows with all their keys. (The interface: attention/attention.h.)
//
// Weights are rounded after division by their sum, so all scores of a block of rows are computed first and stay in
// private memory.
#pragma once
#include "attention/pairs.h"
#include "attention/words.h"

namespace {

// `First` and `Second`: kinds of multiplication of the two products.
template <class N, template <class> class First, template <class> class Second>
struct AttentionRows : PairsOfRows<float, ShloAttentionRows> {
  static constexpr int64_t STEP = Words<N>::step;
  typedef typename Words<N>::Weight Weight;

  static int64_t words(int64_t n) { return (n + STEP - 1) / STEP; }
  static const N* at(const ShloMatrix& m, int64_t i) { return (const N*)m.at + i * m.row; }

  const int64_t deep = whole_lines(words(it.depth)), wide = whole_lines(it.width);
  const bool is_one_block;  // then each chunk is used once or twice, and need not be kept
  const int64_t key_lines = whole_lines(it.keys), value_lines = whole_lines(words(is_one_block ? least(CHUNK, it.keys) : it.keys));
  float *const keys, *const values, *const queries, *const result;
  int64_t keys_taken = 0, values_taken = 0;  // packed so far; with one block only their last chunk is in memory
  Answer finite = UNKNOWN;                   // whether all values are finite

  AttentionRows(const ShloAttentionRows& attention, int64_t rows, float* scratch)
      : PairsOfRows(attention), is_one_block(rows <= ROWS), keys(scratch), values(keys + deep * key_lines), queries(values + wide * value_lines),
        result(queries + ROWS * deep) {
    raw = result + ROWS * wide;
    weights = raw + ROWS * ld;
    sums = weights + ROWS * weights_ld;
  }

  // Very few rows are multiplied with keys in place.
  bool dots_keys() const {
    const bool adjacent = it.q.column == 1 && it.k.column == 1 && it.q.row % STEP == 0 && it.k.row % STEP == 0;
    return sizeof(N) * STEP == sizeof(float) && it.rows <= VERY_FEW && adjacent &&
           it.depth % (STEP * Register<float>::lanes) == 0;
  }
  // Packs the chunks of `count` keys from number c on: calls lay(first key of a chunk, its place) where needed.
  template <class F>
  void take(int64_t& taken, int64_t c, int64_t count, F lay) const {
    const int64_t chunk = c / CHUNK * CHUNK;
    if (is_one_block && taken != chunk + CHUNK) lay(chunk, int64_t(0));
    if (is_one_block) taken = chunk + CHUNK;
    for (; taken < c + count; taken += CHUNK) lay(taken, taken);
  }
  int64_t place(int64_t c) const { return is_one_block ? c % CHUNK : c; }
  void take_keys(int64_t c, int64_t count) {
    take(keys_taken, c, count, [&](int64_t from, int64_t to) {
      const int64_t most = least(CHUNK, it.keys - from);
      for (int64_t k = 0; k < most; k += PANEL<float>)
        Words<N>::across(at(it.k, from + k), it.k.column, it.k.row, it.depth, least(PANEL<float>, most - k),
                         keys + (to + k) * deep, panel_width<float>(k, most));
    });
  }
  void take_values(int64_t c, int64_t count) {
    take(values_taken, c, count, [&](int64_t from, int64_t to) {
      for (int64_t k = 0; k < it.width; k += PANEL<float>) {
        const int64_t line = panel_width<float>(k, it.width);
        Words<N>::across(at(it.v, from) + k * it.v.column, it.v.row, it.v.column, least(CHUNK, it.keys - from),
                         least(PANEL<float>, it.width - k), values + k * value_lines + to / STEP * line, line);
      }
    });
  }
  bool are_finite() {
    if (finite != UNKNOWN) return finite == YES;
    const bool by_rows = it.v.column == 1;  // else by columns, as vectors or one by one
    const int64_t lines = by_rows ? it.keys : it.width, count = by_rows ? it.width : it.keys;
    const int64_t line = by_rows ? it.v.row : it.v.column, next = by_rows ? 1 : it.v.row;
    auto sum = splat<f32v>(0);  // x * 0 is NaN where x is not finite
    float one_by_one = 0;
    for (int64_t r = 0; r < lines; ++r) {
      const N* const x = (const N*)it.v.at + r * line;
      for (int64_t c = 0; next == 1 && c < count; c += 16) sum = sum + load_n(x + c, least(16, count - c)) * 0.0f;
      for (int64_t c = 0; next != 1 && c < count; ++c) one_by_one += value(x[c * next]) * 0.0f;
    }
    finite = hsum(sum) + one_by_one == 0 ? YES : NO;
    return finite == YES;
  }

  void multiply_keys(const float* q, int64_t q_ld, int64_t i, int64_t rows, Pairs which) {
    each_run(i, rows, which, [&](int64_t c, int64_t count) {
      if (dots_keys()) {
        for (int64_t r = 0, high; r < rows; r += high) {
          high = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
          typedef First<float> K;
          const auto dot = high == 4 ? dots<float, 4, K> : high == 2 ? dots<float, 2, K> : dots<float, 1, K>;
          dot(q + r * q_ld, q_ld, (const float*)at(it.k, c), it.k.row / STEP, count, raw + r * ld + c, ld, words(it.depth));
        }
        return;
      }
      take_keys(c, count);
      multiply<false, First>(q, q_ld, rows, Panels<float>{keys + place(c) * deep, deep, 0, 0}, raw + c, ld, words(it.depth), count,
                            false);
    });
  }

  // Very few rows are multiplied with values in place: packing them is not reused.
  bool reads_values() const { return it.rows <= VERY_FEW && it.v.column == 1; }

  // Adds the products of a chunk's weights, for R rows from number r on, to columns [d, d + columns) of the result.
  template <int R>
  void add_values(int64_t c, int64_t count, int64_t r, int64_t weights_pitch, int64_t d, int64_t columns) {
    constexpr int VECTORS = 4;
    f32v sums_of[R][VECTORS];
    for (int k = 0; k < R; ++k)
      for (int v = 0; v < VECTORS; ++v)
        if (v * 16 < columns) sums_of[k][v] = load(result + (r + k) * wide + d + v * 16);
    for (int64_t j = 0; j < count; ++j) {
      const N* const line = at(it.v, c + j) + d;
      f32v values_of[VECTORS];
      for (int v = 0; v < VECTORS; ++v)
        if (v * 16 < columns) values_of[v] = columns - v * 16 >= 16 ? load(line + v * 16) : load_n(line + v * 16, columns - v * 16);
      for (int k = 0; k < R; ++k) {
        const f32v weight = splat<f32v>(value(((const Weight*)weights)[(r + k) * weights_pitch + j]));
        for (int v = 0; v < VECTORS; ++v)
          if (v * 16 < columns) sums_of[k][v] = sums_of[k][v] + weight * values_of[v];
      }
    }
    for (int k = 0; k < R; ++k)
      for (int v = 0; v < VECTORS; ++v)
        if (v * 16 < columns) store(result + (r + k) * wide + d + v * 16, sums_of[k][v]);
  }
  void add_values(int64_t c, int64_t count, int64_t rows, int64_t weights_pitch) {
    for (int64_t r = 0, high; r < rows; r += high) {
      high = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
      for (int64_t d = 0; d < it.width; d += 64) {
        const int64_t columns = least(64, it.width - d);
        if (high == 4) add_values<4>(c, count, r, weights_pitch, d, columns);
        else if (high == 2) add_values<2>(c, count, r, weights_pitch, d, columns);
        else add_values<1>(c, count, r, weights_pitch, d, columns);
      }
    }
  }

  void take_rows(int64_t i, int64_t rows) {
    begin_sums();
    int64_t q_ld;
    const float* const q =
        Words<N>::left(at(it.q, i), it.q.row, it.q.column, rows, it.depth, queries, deep, q_ld);
    Pairs which = any_hidden(i, rows) ? SEEN : ALL;
    multiply_keys(q, q_ld, i, rows, which);
    reduce(0, i, rows, which);
    if (which == SEEN && !(vanish(rows) && are_finite())) {
      multiply_keys(q, q_ld, i, rows, HIDDEN);
      reduce(0, i, rows, HIDDEN);
      which = ALL;
    }
    for (int64_t k = 1; k < it.sum_count; ++k) reduce(k, i, rows, which);
    for (int64_t k = 0; k < ROWS * wide; k += 16) store(result + k, splat<f32v>(0));
    each_run(i, rows, which, [&](int64_t c, int64_t count) {
      const int64_t to_ld = weights_ld * (sizeof(float) / sizeof(Weight));
      it.weights(it.context, raw + c, nullptr, weights, sums, ld, to_ld, i, rows, c, count);
      if (reads_values()) return add_values(c, count, rows, to_ld);
      for (int64_t r = 0; count % STEP != 0 && r < rows; ++r) ((Weight*)weights)[r * to_ld + count] = Weight{};
      take_values(c, count);
      multiply<false, Second>(weights, weights_ld, rows, Panels<float>{values, value_lines, 0, place(c) / STEP}, result, wide,
                            words(count), it.width, true);
    });
    it.epilogue(it.context, result, wide, i, rows, 0, it.width);
  }
};

}  // namespace

#define SHLO_ATTENTION_OF_ROWS(name, N, First, Second)                                                                     \
  extern "C" void shlo_attention_rows_##name(const ShloAttentionRows* attention, int64_t i0, int64_t i1, void* scratch) {   \
    AttentionRows<N, First, Second> all(*attention, i1 - i0, (float*)scratch);                                              \
    for (int64_t i = i0; i < i1; i += ROWS) all.take_rows(i, least(ROWS, i1 - i));                                          \
  }
