// Attention with online softmax (Milakov & Gimelshein 2018; FlashAttention-2, Dao 2023, section 3.1) over blocks of keys.
// (The interface: attention/attention.h.)
//
// A block of keys and its values are packed once for up to GROUP rows: keys as columns, 64 side by side, so that both
// products are register tiles of 6 rows by 4 registers. Each row has the largest score so far, the sum of
// exp(score - largest), and the sum of values with these weights; both are scaled down when the largest score grows.
//
// The semantics are those of a softmax and products that store all scores. While all scores of a row are -inf, 0 is
// subtracted instead of the largest; the final 0 / 0 is the NaN of such a row. NaN scores do not become the largest,
// but make the sum NaN. Hidden scores may be skipped where exp(score - largest) is 0 and the value is finite: 0 * inf
// is NaN.
#pragma once
#include "attention/attention.h"
#include "values/convert.h"
#include "math/elementary.h"
#include "values/tile.h"

namespace {

constexpr int64_t GROUP = SHLO_ATTENTION_GROUP, KEYS = SHLO_ATTENTION_KEYS, BLOCK = SHLO_ATTENTION_BLOCK;
constexpr int64_t STRIP = 64;  // granularity, in keys, at which a mask is tested; whole panels
constexpr int64_t VERY_FEW = 8;  // up to so many rows, keys are not transposed
constexpr int64_t FEW = 48;  // up to so many rows, values are not packed

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t whole_lines(int64_t n) { return (n + 15) / 16 * 16; }
// Distance between rows of scores: seldom a power of two, so that few rows map to the same cache sets.
constexpr int64_t pitch(int64_t count) { return whole_lines(count) + 16; }

// ---- layout ----------------------------------------------------------------------------------------------------------

// to[r * ld + c] = from[r * row + c * column] for r < rows, c < columns. Columns up to the next multiple of 16, and 15
// more rows, may be overwritten with arbitrary values.
template <class T>
void lay_out(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns, T* to, int64_t ld) {
  if (column == 1) {
    for (int64_t r = 0; r < rows; ++r, from += row, to += ld) {
      int64_t c = 0;
      for (; c + 16 <= columns; c += 16) store(to + c, load(from + c));
      if (c < columns) store(to + c, load_n(from + c, columns - c));
    }
  } else if (row == 1) {
    for (int64_t c = 0; c < columns; c += 16)
      for (int64_t r = 0; r < rows; r += 16) {
        const int64_t high = least(16, rows - r), wide = least(16, columns - c);
        load_transposed(to + r * ld + c, from + r + c * column, column, high, wide, ld);
      }
  } else {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) to[r * ld + c] = from[r * row + c * column];
  }
}

template <class T>
bool all_finite(const T* x, int64_t ld, int64_t rows, int64_t columns) {
  auto sum = splat<vector_t<T>>(0);  // x * 0 is NaN where x is not finite
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; c += 16)
      sum = sum + load_n(x + r * ld + c, least(16, columns - c)) * T(0);
  return hsum(sum) == T(0);
}

// ---- products --------------------------------------------------------------------------------------------------------

// How elements of operands are multiplied; other kinds are in attention/words.h.
template <class T>
struct Plain {
  static constexpr int parts = 1;  // of a word; each is multiplied separately
  template <int part>
  SHLO_INLINE register_t<T> load(const T* p) { return read(p); }
  template <int part>
  SHLO_INLINE register_t<T> broadcast(const T* p) { return *p - register_t<T>{}; }
  SHLO_INLINE register_t<T> add(register_t<T> sum, register_t<T> x, register_t<T> y) { return sum + x * y; }
};

// sum[M, V registers] += a[M] * b[V registers], or one part of these.
template <class T, int M, int V, class Kind, int part = 0>
SHLO_INLINE void add_products(register_t<T> (&sum)[M][V], const T* a, int64_t step, const T* b) {
  register_t<T> y[V];
#pragma GCC unroll 16
  for (int v = 0; v < V; ++v) y[v] = Kind::template load<part>(b + v * Register<T>::lanes);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    const register_t<T> x = Kind::template broadcast<part>(a + i * step);
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = Kind::add(sum[i][v], x, y[v]);
  }
}

// c[M, V registers] (+)= a[M, k] * b[k, V registers]. TURNED: `a` is stored transposed, as a[k, M].
template <class T, int M, int V, bool TURNED, class Kind>
void tile(const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t k, bool add) {
  constexpr int L = Register<T>::lanes;
  register_t<T> sum[M][V];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[i][v] = add ? read(c + i * ldc + v * L) : register_t<T>{};
  for (int64_t p = 0; p < k; ++p, a += TURNED ? lda : 1, b += ldb) {
    add_products<T, M, V, Kind>(sum, a, TURNED ? 1 : lda, b);
    if constexpr (Kind::parts == 2) add_products<T, M, V, Kind, 1>(sum, a, TURNED ? 1 : lda, b);
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) write(c + i * ldc + v * L, sum[i][v]);
}

template <class T, int V, bool TURNED, class Kind>
void tiles(const T* a, int64_t lda, int64_t rows, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t k, bool add) {
  for (int64_t i = 0, high; i < rows; i += high) {
    const int64_t parts = (rows - i + 5) / 6;  // whose heights differ by one row at most
    high = (rows - i + parts - 1) / parts;
    constexpr decltype(tile<T, 1, V, TURNED, Kind>)* of_height[] = {
        tile<T, 1, V, TURNED, Kind>, tile<T, 2, V, TURNED, Kind>, tile<T, 3, V, TURNED, Kind>,
        tile<T, 4, V, TURNED, Kind>, tile<T, 5, V, TURNED, Kind>, tile<T, 6, V, TURNED, Kind>};
    of_height[high - 1](a + (TURNED ? i : i * lda), lda, b, ldb, c + i * ldc, ldc, k, add);
  }
}

// The right operand, in panels of PANEL columns (fewer at the end). Element (p, j) of the panel at column c is
// at[c * high + (first + p) * distance + j]. high = 1: the operand is read in place, with lines ld apart (0 is legal);
// otherwise it is packed, and lines are as wide as the panel.
template <class T>
struct Panels {
  const T* at;
  int64_t high, ld, first;
  bool in_place() const { return high == 1; }
  int64_t distance(int64_t width) const { return in_place() ? ld : width; }
};
template <class T> constexpr int64_t PANEL = SHLO_TILE_VECTORS * Register<T>::lanes;
template <class T>
constexpr int64_t panel_width(int64_t c, int64_t columns) {
  return least(PANEL<T>, whole_lines(columns) - c);
}
template <class N, class T>
void lay_out_panels(const N* from, int64_t row, int64_t column, int64_t rows, int64_t columns, T* panels, int64_t high,
                    void (*one)(const N*, int64_t, int64_t, int64_t, int64_t, T*, int64_t) = lay_out<T>) {
  for (int64_t c = 0; c < columns; c += PANEL<T>)
    one(from + c * column, row, column, rows, least(PANEL<T>, columns - c), panels + c * high,
            panel_width<T>(c, columns));
}

// c[rows, columns] (+)= a[rows, k] * b[k, columns]; columns of c are written up to the next multiple of 16.
template <bool TURNED = false, template <class> class Kind = Plain, class T>
void multiply(const T* a, int64_t lda, int64_t rows, Panels<T> b, T* c, int64_t ldc, int64_t k, int64_t columns,
              bool add) {
  constexpr int L = Register<T>::lanes, V = SHLO_TILE_VECTORS;
  if (rows == 1 && b.in_place() && columns % (2 * V * L) == 0) {  // one row: wider tiles read longer runs of memory
    for (int64_t j = 0; j < columns; j += 2 * V * L)
      tile<T, 1, 2 * V, TURNED, Kind<T>>(a, lda, b.at + b.first * b.ld + j, b.ld, c + j, ldc, k, add);
    return;
  }
  for (int64_t start = 0; start < columns; start += PANEL<T>) {
    const int64_t width = panel_width<T>(start, columns), ldb = b.distance(width);
    for (int64_t j = 0, vectors; j < width; j += vectors * L) {
      const int64_t left = (width - j) / L;
      vectors = left >= V ? V : left >= 2 ? 2 : 1;
      const auto panel = vectors == V   ? tiles<T, V, TURNED, Kind<T>>
                         : vectors == 2 ? tiles<T, 2, TURNED, Kind<T>>
                                        : tiles<T, 1, TURNED, Kind<T>>;
      panel(a, lda, rows, b.at + start * b.high + b.first * ldb + j, ldb, c + start + j, ldc, k, add);
    }
  }
}

// sum[M, 4] += a[M] * b[4], elementwise over one register of each row, or one part of these.
template <class T, int M, class Kind, int part = 0>
SHLO_INLINE void add_dots(register_t<T> (&sum)[M][4], const T* a, int64_t lda, const T* const (&b)[4], int64_t p) {
  register_t<T> y[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) y[q] = Kind::template load<part>(b[q] + p);
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
    const register_t<T> x = Kind::template load<part>(a + i * lda + p);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) sum[i][q] = Kind::add(sum[i][q], x, y[q]);
  }
}

// c[M, count] = a[M, k] * b[count, k], k being whole registers; columns up to the next multiple of four are written.
template <class T, int M, class Kind = Plain<T>>
void dots(const T* a, int64_t lda, const T* b, int64_t ldb, int64_t count, T* c, int64_t ldc, int64_t k) {
  for (int64_t j = 0; j < count; j += 4) {
    register_t<T> sum[M][4] = {};
    const T* const at[4] = {b + j * ldb, b + least(j + 1, count - 1) * ldb, b + least(j + 2, count - 1) * ldb,
                            b + least(j + 3, count - 1) * ldb};
    for (int64_t p = 0; p < k; p += Register<T>::lanes) {
      add_dots<T, M, Kind>(sum, a, lda, at, p);
      if constexpr (Kind::parts == 2) add_dots<T, M, Kind, 1>(sum, a, lda, at, p);
    }
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) sum_of_four<T>(sum[i], c + i * ldc + j, 1);
  }
}

// ---- attention -------------------------------------------------------------------------------------------------------

// The elementwise maximum; `most` where x is NaN.
template <class V>
SHLO_INLINE V larger_of(V x, V most) {
  if constexpr (is_pair<V>) return V{hardware_max(x.lo, most.lo), hardware_max(x.hi, most.hi)};
  else return hardware_max(x, most);
}

// Horizontal reductions: lane k of the result is x[k] reduced by `op`.
template <class V, class Op>
SHLO_INLINE V across(V* x, Op op) {
  if constexpr (is_pair<V>) {
    elem_t<V> each[16];
    for (int k = 0; k < 16; ++k) each[k] = horizontal(x[k], [=](auto a, auto b) { return op(a, b); });
    return load(each);
  } else {
#pragma GCC unroll 4
    for (int half = 8; half > 0; half /= 2)
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k)
        x[k] = op(interleave_low(x[k], x[k + half]), interleave_high(x[k], x[k + half]));
    return x[0];
  }
}

template <class T>
struct Attention {
  static constexpr T INFINITE = __builtin_inf();
  static constexpr T VANISHED = sizeof(T) == 4 ? T(-104) : T(-746);  // exp of this is 0

  const ShloAttention& it;
  const int64_t i0, i1, j0, j1;  // rows and keys
  const int64_t deep = whole_lines(it.depth), wide = whole_lines(it.width);
  T *const keys, *const values, *const scores, *const queries, *const sums, *const greatest, *const total;

  Attention(const ShloAttention& attention, int64_t first, int64_t last, int64_t first_key, int64_t last_key, T* scratch)
      : it(attention), i0(first), i1(last), j0(first_key), j1(last_key), keys(scratch), values(keys + KEYS * deep), scores(values + KEYS * wide),
        queries(scores + pitch(KEYS) * BLOCK), sums(queries + BLOCK * deep), greatest(sums + GROUP * wide),
        total(greatest + GROUP) {}

  static const T* at(const ShloMatrix& m, int64_t i) { return (const T*)m.at + i * m.row; }

  // Very few rows are multiplied with keys in place.
  bool dots_keys() const {
    const bool adjacent = it.q.column == 1 && it.k.column == 1 && it.depth % Register<T>::lanes == 0;
    return it.rows <= VERY_FEW && adjacent;  // all rows, not i1 - i0: bits must not depend on how threads share rows
  }
  void dot(int64_t i, int64_t rows, int64_t j, int64_t count, int64_t ld) const {
    const T *const a = at(it.q, i), *const b = at(it.k, j);
    for (int64_t r = 0, high; r < rows; r += high) {
      high = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
      const auto multiply = high == 4 ? dots<T, 4> : high == 2 ? dots<T, 2> : dots<T, 1>;
      multiply(a + r * it.q.row, it.q.row, b, it.k.row, count, scores + r * ld, ld, it.depth);
    }
  }
  void take_keys(int64_t j, int64_t count) const {
    if (!dots_keys()) lay_out_panels(at(it.k, j), it.k.column, it.k.row, it.depth, count, keys, deep);
  }
  // Few rows read values in place, if these are whole registers.
  bool reads_values() const { return it.v.column == 1 && it.width % 16 == 0 && i1 - i0 <= FEW; }
  Panels<T> values_at(int64_t j, int64_t c) const {
    if (reads_values()) return {at(it.v, j), 1, it.v.row, c};
    return {values, KEYS, 0, c};
  }
  void take_values(int64_t j, int64_t count) const {
    if (!reads_values()) lay_out_panels(at(it.v, j), it.v.row, it.v.column, count, it.width, values, KEYS);
  }
  __attribute__((noinline)) bool finite_values(int64_t j, int64_t count) const {
    const Panels<T> v = values_at(j, 0);
    for (int64_t c = 0; c < it.width; c += PANEL<T>) {
      const int64_t width = panel_width<T>(c, it.width), ld = v.distance(width);
      if (!all_finite(v.at + c * v.high, ld, count, least(width, it.width - c))) return false;
    }
    return true;
  }

  // Turns up to 16 rows of scores into exponentials, and rescales the sums so far. Lanes of `greatest` and `total` are
  // rows; those of absent rows do not change.
  __attribute__((noinline)) void weigh_rows(int64_t r, T* x, int64_t ld, int64_t rows, int64_t count) const {
    typedef vector_t<T> vector;
    const int64_t last = (count - 1) / 16 * 16;
    const vector lowest = splat<vector>(-INFINITE), zero = splat<vector>(0);
    vector each[16];
    for (int64_t k = 0; k < 16; ++k) {
      each[k] = lowest;
      if (k >= rows) continue;
      T* const row = x + k * ld;
      if (count % 16 != 0) store(row + last, keep_n(load(row + last), count - last, lowest));
      vector most = lowest;
      for (int64_t j = 0; j < count; j += 16) most = larger_of(load(row + j), most);
      each[k] = most;
    }
    const vector before = load(greatest + r);
    const vector now = larger_of(across(each, [](auto a, auto b) { return larger_of(a, b); }), before);
    const vector shift = select(eq(now, lowest), zero, now);
    T shifts[16];
    store(shifts, shift);
    store(greatest + r, now);
    for (int64_t k = 0; k < 16; ++k) {
      each[k] = zero;
      if (k >= rows) continue;
      T* const row = x + k * ld;
      const vector down = splat<vector>(shifts[k]);
      vector sum = zero;
      for (int64_t j = 0; j < count; j += 16) {
        const vector e = exp_((vector)(load(row + j) - down));
        store(row + j, e);
        sum = sum + e;
      }
      each[k] = sum;
    }
    const vector sum = across(each, [](auto a, auto b) { return a + b; }), all = load(total + r);
    const maskv grown = ne(now, before);
    if (!hor(grown)) {
      store(total + r, all + sum);
      return;
    }
    const vector scale = select(grown, exp_((vector)(before - shift)), splat<vector>(1));
    store(total + r, all * scale + sum);
    T scales[16];
    store(scales, scale);
    for (int64_t k = 0; k < rows; ++k) {
      T* const o = sums + (r + k) * wide;
      if (scales[k] != 1)
        for (int64_t c = 0; c < wide; c += 16) store(o + c, load(o + c) * scales[k]);
    }
  }

  // Processes rows [i, i + rows) with `count` keys, from number c on of the block that starts at j.
  __attribute__((noinline)) void meet(int64_t i, int64_t rows, int64_t j, int64_t c, int64_t count) const {
    const int64_t ld = pitch(count);
    const Panels<T> right = {keys + c * deep, deep, 0, 0};
    if (dots_keys()) {
      dot(i, rows, j + c, count, ld);
    } else if (it.q.column == 1) {
      multiply(at(it.q, i), it.q.row, rows, right, scores, ld, it.depth, count, false);
    } else {
      lay_out(at(it.q, i), it.q.row, it.q.column, rows, it.depth, queries, deep);
      multiply(queries, deep, rows, right, scores, ld, it.depth, count, false);
    }
    it.score(it.context, scores, ld, i, rows, j + c, count);
    for (int64_t r = 0; r < rows; r += 16) weigh_rows(i - i0 + r, scores + r * ld, ld, least(16, rows - r), count);
    if (it.weigh != nullptr) it.weigh(it.context, scores, ld, i, rows, j + c, count);
    multiply(scores, ld, rows, values_at(j, c), sums + (i - i0) * wide, wide, count, it.width, true);
  }

  // Length of the run of keys from number c on of the block that are all hidden from these rows, or all not (`hides`).
  int64_t run_of(int64_t i, int64_t rows, int64_t j, int64_t c, int64_t count, bool& hides) const {
    hides = false;
    if (it.hidden == nullptr) return count - c;
    const auto hidden = [&](int64_t from) {
      return it.hidden(it.context, i, i + rows, j + from, j + least(from + STRIP, count));
    };
    hides = hidden(c);
    int64_t end = c + STRIP;
    while (end < count && hidden(end) == hides) end += STRIP;
    return least(end, count) - c;
  }

  // Processes either all hidden pairs of rows and keys or all others, except for `excused` rows. Returns whether the
  // values of all skipped keys are finite.
  bool meet_all(bool hidden, const bool* excused) const {
    const int64_t all = j1 - j0, blocks = (all + KEYS - 1) / KEYS;
    const int64_t block = blocks == 0 ? KEYS : (all + blocks * STRIP - 1) / (blocks * STRIP) * STRIP;
    bool finite = true;
    for (int64_t j = j0; j < j1; j += block) {
      const int64_t count = least(block, j1 - j);
      bool taken = false, left_out = false, hides;
      for (int64_t i = i0; i < i1; i += BLOCK) {
        const int64_t rows = least(BLOCK, i1 - i);
        if (excused != nullptr && excused[(i - i0) / BLOCK]) continue;
        for (int64_t c = 0, run; c < count; c += run) {
          run = run_of(i, rows, j, c, count, hides);
          if (hides != hidden) {
            left_out = true;
            continue;
          }
          if (!taken) {
            take_keys(j, count);
            take_values(j, count);
            taken = true;
          }
          meet(i, rows, j, c, run);
        }
      }
      if (left_out && finite) {
        if (!taken) take_values(j, count);
        finite = finite_values(j, count);
      }
    }
    return finite;
  }

  // Whether scores of at most `fill` contribute nothing to these rows.
  bool vanish(int64_t first, int64_t rows) const {
    if (it.fill == -__builtin_inf()) return true;
    for (int64_t r = first; r < first + rows; ++r)
      if (!(T(it.fill) - greatest[r] <= VANISHED)) return false;
    return true;
  }

  __attribute__((noinline)) bool any_kept(int64_t i) const {
    for (int64_t j = 0; j < it.keys; j += KEYS) {
      const int64_t count = least(KEYS, it.keys - j);
      it.kept(it.context, scores, KEYS, i, 1, j, count);
      for (int64_t c = 0; c < count; ++c)
        if (scores[c] != 0) return true;
    }
    return false;
  }

  // Where no weight of a row is kept, its sum is zero, even if the softmax is NaN.
  void divide(int64_t i) const {
    const T all = total[i - i0];
    if (it.keys == 0 || (!(all > 0) && it.kept != nullptr && !any_kept(i))) return;
    const T part = 1 / all;
    T* const o = sums + (i - i0) * wide;
    for (int64_t c = 0; c < wide; c += 16) store(o + c, load(o + c) * part);
  }

  void meet_keys() const {
    for (int64_t r = 0; r < i1 - i0; ++r) greatest[r] = -INFINITE, total[r] = 0;
    for (int64_t k = 0; k < (i1 - i0) * wide; k += 16) store(sums + k, splat<vector_t<T>>(0));
    const bool finite = meet_all(false, nullptr);
    if (it.hidden != nullptr) {
      bool excused[GROUP / BLOCK];
      bool all = true;
      for (int64_t i = i0; i < i1; i += BLOCK) {
        const bool one = finite && vanish(i - i0, least(BLOCK, i1 - i));
        excused[(i - i0) / BLOCK] = one;
        all &= one;
      }
      if (!all) meet_all(true, excused);
    }
  }
  void finish() const {
    for (int64_t i = i0; i < i1; ++i) divide(i);
    it.epilogue(it.context, sums, wide, i0, i1 - i0, 0, it.width);
  }

  // The state of a split of the keys: sums of rows, then their largest scores, and the sums of exponentials.
  int64_t state_size() const { return (i1 - i0) * wide + 2 * BLOCK; }
  void save(T* state) const {
    const int64_t count = (i1 - i0) * wide;
    for (int64_t k = 0; k < count; k += 16) store(state + k, load(sums + k));
    for (int64_t r = 0; r < i1 - i0; r += 16) {
      store(state + count + r, load(greatest + r));
      store(state + count + BLOCK + r, load(total + r));
    }
  }
  // Combines all splits, in order, each rescaled to the largest score of all.
  void join(const T* states, int64_t splits) const {
    typedef vector_t<T> vector;
    const int64_t rows = i1 - i0, count = rows * wide, size = state_size();
    const vector lowest = splat<vector>(-INFINITE), zero = splat<vector>(0);
    for (int64_t k = 0; k < count; k += 16) store(sums + k, zero);
    for (int64_t r = 0; r < rows; r += 16) {
      const T* const from = states + count + r;
      vector most = lowest, all = zero;
      for (int64_t p = 0; p < splits; ++p) most = larger_of(load(from + p * size), most);
      const vector shift = select(eq(most, lowest), zero, most);
      for (int64_t p = 0; p < splits; ++p) {
        const vector scale = exp_((vector)(load(from + p * size) - shift));
        all = all + load(from + p * size + BLOCK) * scale;
        T scales[16];
        store(scales, scale);
        for (int64_t k = r; k < least(r + 16, rows); ++k)
          for (int64_t c = k * wide; c < (k + 1) * wide; c += 16)
            store(sums + c, load(sums + c) + load(states + p * size + c) * scales[k - r]);
      }
      store(total + r, all);
    }
  }
};

}  // namespace

#define SHLO_ATTENTION(name, T)                                                                                   \
  void shlo_attention_multiply_##name(const T* a, int64_t lda, int64_t rows, const T* b, int64_t high, int64_t b_ld, \
                                      int64_t first, T* c, int64_t ldc, int64_t k, int64_t columns, bool add) {    \
    multiply(a, lda, rows, Panels<T>{b, high, b_ld, first}, c, ldc, k, columns, add);                              \
  }                                                                                                                \
  void shlo_attention_lay_out_##name(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns,    \
                                     T* to, int64_t ld) {                                                          \
    lay_out(from, row, column, rows, columns, to, ld);                                                             \
  }                                                                                                                \
  extern "C" void shlo_attention_##name(const ShloAttention* attention, int64_t i0, int64_t i1, void* scratch) {   \
    const Attention<T> all(*attention, i0, i1, 0, attention->keys, (T*)scratch);                                   \
    all.meet_keys();                                                                                               \
    all.finish();                                                                                                  \
  }                                                                                                                \
  extern "C" void shlo_attention_split_##name(const ShloAttention* attention, int64_t j0, int64_t j1, void* state, \
                                              void* scratch) {                                                     \
    const Attention<T> split(*attention, 0, attention->rows, j0, j1, (T*)scratch);                                 \
    split.meet_keys();                                                                                             \
    split.save((T*)state);                                                                                         \
  }                                                                                                                \
  extern "C" void shlo_attention_join_##name(const ShloAttention* attention, const void* states, int64_t splits,   \
                                             void* scratch) {                                                      \
    const Attention<T> all(*attention, 0, attention->rows, 0, attention->keys, (T*)scratch);                       \
    all.join((const T*)states, splits);                                                                            \
    all.finish();                                                                                                  \
  }
