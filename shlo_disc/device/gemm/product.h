// Matrix products of one kind of elements. (The interface, and what strides mean: gemm/gemm.h; kinds: gemm/kinds.h.)
//
// The result is made in blocks of sums that lie in scratch memory and go to the epilogue when finished; a block of few rows has
// as many columns as the first-level cache likes, so that it often holds whole rows. There are four ways:
//   blocks  B is packed, 64 columns at a time, or was packed before. Register tiles run over k, load rows of packed B and
//           broadcast elements of A, from where they are or packed.
//   slabs   The same where rows of A are packed too, a part of k at a time.
//   stream  Few rows, or little depth, columns of B adjacent: tiles on B where it is.
//   dot     Few rows, B adjacent along k: dot products.
// A product with few columns is computed as the transposed product with few rows. What is packed is converted on the way.
#pragma once
#include "call/caches.h"
#include "gemm/gemm.h"
#include "gemm/dot.h"
#include "gemm/pack.h"
#include "gemm/tiles.h"
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses a call

SHLO_DECLARE_CACHES

namespace {

constexpr int64_t ROWS = SHLO_GEMM_ROWS;        // at most, of a block
constexpr int64_t PANEL = SHLO_GEMM_PANEL;      // columns of a block
constexpr int64_t COLUMNS = SHLO_GEMM_COLUMNS;  // at most, of a block with few rows
constexpr int64_t THIN_ROWS = 12;    // at most, for blocks as wide as packed B allows
constexpr int64_t STREAM_ROWS = 192;  // at most, to read B where it is, unconverted. Measured on Zen 5: packing gains nothing below,
constexpr int64_t NEAR_ROWS = 768;    // and where B is near, even here
constexpr int64_t SHALLOW_DEPTH = 48;     // at most, to do so for any number of rows: the results, long rows of them, are
constexpr int64_t SHALLOW_COLUMNS = 128;  // most of what moves, and rows of blocks of 64 columns make worse use of the caches
constexpr int64_t DOT_ROWS = 8;      // at most, for dot products

// Rows of B that are streamed at a time. Of a B that is larger than a core's share of the caches, the next block of rows and
// columns is fetched meanwhile; for few rows of A its rows are long and few, as more of the time goes into fetching.
// A lone row does nothing but wait for B: if that comes from memory, so few rows that each is read along.
constexpr int64_t STREAM_DEPTH = 256, FAR_DEPTH = 64, LONE_DEPTH = 16;
inline int64_t near_bytes() { return 4 * shlo_cache_bytes[1]; }
inline int64_t far_bytes() { return shlo_cache_bytes[1] / 8 * 3; }  // of a block of such a B
inline int64_t thin_far_bytes() { return shlo_cache_bytes[1] / 4; }

// Blocks that stay in the first-level cache: those finished in one go, and those with few rows.
inline int64_t chunk_bytes() { return shlo_cache_bytes[0] / 4 * 3; }
constexpr int64_t STREAM_MOST = 49152;  // what blocks of all kinds hold
inline int64_t stream_bytes() { return min(shlo_cache_bytes[0] / 2, STREAM_MOST); }

// Scratch memory: packed B (or A, for dot products), the block, the block transposed, and packed A.
template <class K>
struct Scratch {
  static constexpr int64_t SIZE = largest(8, sizeof(typename K::Element));
  static constexpr int64_t PACKED = K::in_place ? 262144 : 131072;
  static constexpr int64_t BLOCK = K::in_place ? 196608 : ROWS * COLUMNS * sizeof(typename K::Element);
  static constexpr int64_t BLOCK_ROWS = BLOCK / (PANEL * (int64_t)sizeof(typename K::Element));
  static constexpr int64_t TURNED = COLUMNS * 16 * SIZE;
  static constexpr int64_t LEFT = K::in_place ? 196608 : 393216;
  static constexpr int64_t EXCESS = K::has_excess ? (ROWS + 16) * sizeof(typename K::Element) : 0;
  static constexpr int64_t ALL = PACKED + BLOCK + TURNED + LEFT + EXCESS;
  static_assert(BLOCK >= THIN_ROWS * COLUMNS * SIZE && BLOCK >= STREAM_MOST, "blocks of all kinds fit");
  static_assert(ALL <= (K::in_place && SIZE == 8 ? SHLO_GEMM_SCRATCH : SHLO_GEMM_WIDE_SCRATCH), "all parts fit");

  // Depth of packed B: if all of k fits, so do rows of packed A.
  static constexpr int64_t UNIT = sizeof(typename K::Left::Packed);
  static constexpr int64_t RIGHT_DEPTH = PACKED / (PANEL * (int64_t)sizeof(typename K::Packed)) * K::step;
  static constexpr int64_t DEPTH = K::in_place ? RIGHT_DEPTH : min(RIGHT_DEPTH, LEFT / (ROWS * UNIT) * K::step);
  static constexpr int64_t SLAB_ROWS = min(ROWS, BLOCK / (COLUMNS * (int64_t)sizeof(typename K::Element)));
  static constexpr int64_t SLAB_DEPTH = min(DEPTH, LEFT / (SLAB_ROWS * UNIT) * K::step);
  static constexpr int64_t THIN_DEPTH = LEFT / (THIN_ROWS + 4) / UNIT * K::step;  // of A with few rows
};

// The epilogue of a transposed product: takes a block, transposes it and calls the epilogue proper.
template <class T>
struct TransposedEpilogue {
  ShloEpilogue epilogue;
  void* context;
  T* block;  // [COLUMNS, 16]

  static void take(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
    const TransposedEpilogue& it = *(const TransposedEpilogue*)context;
    for (int64_t start = 0; start < columns; start += COLUMNS) {
      const int64_t some = min(COLUMNS, columns - start);
      for (int64_t j = 0; j < some; ++j)
        for (int64_t i = 0; i < rows; ++i) it.block[j * 16 + i] = ((const T*)tile)[i * ld + start + j];
      it.epilogue(it.context, it.block, 16, j0 + start, some, i0, rows);
    }
  }
};

// As many columns as leave the rows' block in half of the first-level cache, at least COLUMNS.
template <class T>
inline int64_t stream_columns(int64_t rows) {
  const int64_t columns = stream_bytes() / (rows * (int64_t)sizeof(T)) / PANEL * PANEL;
  return columns < COLUMNS ? COLUMNS : columns;
}

// `wanted`, or else `otherwise`, but no more than `most`; a multiple of `step`.
constexpr int64_t limited(int64_t wanted, int64_t otherwise, int64_t most, int64_t step) {
  const int64_t found = min(wanted > 0 ? wanted : otherwise, most) / step * step;
  return found < step ? step : found;
}

template <class S>
struct Operands {
  const S *a, *b;
  int64_t a_row, a_k, b_k, b_col;
  int64_t k, i0, i1, j0, j1;
  char* scratch;
  ShloEpilogue epilogue;
  void* context;
  const void* packed_right;  // all of B, or null
  ShloSchedule how;
  int64_t m, n;  // of the whole product, whatever part of it a call computes
  const S* next;  // B of the product that follows, or null
};

template <class K>
struct Product : Operands<typename K::Storage> {
  typedef typename K::Storage Storage;
  typedef typename K::Packed Packed;
  typedef typename K::Element Element;
  typedef Scratch<K> Memory;
  using Operands<Storage>::a, Operands<Storage>::b, Operands<Storage>::a_row, Operands<Storage>::a_k;
  using Operands<Storage>::b_k, Operands<Storage>::b_col, Operands<Storage>::k, Operands<Storage>::i0;
  using Operands<Storage>::i1, Operands<Storage>::j0, Operands<Storage>::j1, Operands<Storage>::scratch;
  using Operands<Storage>::epilogue, Operands<Storage>::context, Operands<Storage>::packed_right, Operands<Storage>::how;
  using Operands<Storage>::m, Operands<Storage>::n, Operands<Storage>::next;

  static constexpr int L = K::lanes;
  static constexpr int64_t DEPTH = Memory::DEPTH;
  // Elements that are converted where they are have no tiles for packed ones: these take time to compile.
  static constexpr bool READS_PACKED = K::in_place || !same<K, typename K::Single>;

  Packed* packed() const { return (Packed*)scratch; }
  Element* block() const { return (Element*)(scratch + Memory::PACKED); }

  const Storage* a_at(int64_t i, int64_t p) const { return a + i * a_row + p * a_k; }
  const Storage* b_at(int64_t p, int64_t j) const { return b + p * b_k + j * b_col; }

  // The shape of tiles for so many rows, if no other is asked for: that of the fewest loads per multiplication, or for one row
  // of B where it is, as much of it as registers hold.
  Shape shape(int64_t rows, bool in_place) const {
    if (how.tile_vectors > 0) return {how.tile_rows, largest(1, how.tile_vectors / K::registers)};
    constexpr int64_t wide = ACCUMULATORS == 24 ? 16 : 8;
    const int64_t vectors = rows == 1 && in_place ? wide : ACCUMULATORS == 24 || rows <= 3 ? 4 : 2;
    return {0, largest(1, vectors / K::registers)};
  }

  // A as tiles read it.
  struct Left {
    const LeftPacked<K>* at;
    int64_t row, k;
    const Element* excess;  // of each row, or null
  };
  // Where it is. Only of elements that are not converted.
  Left left_at(int64_t i, int64_t p) const {
    return {(const LeftPacked<K>*)a_at(i, p), a_row / K::step, K::step == 1 ? a_k : 1, nullptr};
  }
  // Whether it can be read so: neighbouring depths are one packed element.
  bool is_left_packed(int64_t rows, int64_t deep) const {
    return K::is_raw && (K::step == 1 || (a_k == 1 && deep % K::step == 0 && (rows == 1 || a_row % K::step == 0)));
  }
  // Few rows that are adjacent along the depth stay so: a lone one would be a sixteenth of what is read otherwise. (With 192 rows
  // that took 1.3 of the time.)
  Left convert_left(int64_t i, int64_t rows, int64_t p, int64_t deep, LeftPacked<K>* to) const {
    const int64_t row = (deep + L - 1) / L * L;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t d = 0; d < deep; d += L) {
        const Storage* const from = a_at(i + r, p + d);
        K::Left::pack(to + r * row + d, deep - d >= L ? K::Left::read(from) : K::Left::read_n(from, deep - d));
      }
    return {to, row, 1, nullptr};
  }
  SHLO_ONCE Left pack_left(int64_t i, int64_t rows, int64_t p, int64_t deep) const {
    LeftPacked<K>* const to = (LeftPacked<K>*)(scratch + Memory::PACKED + Memory::BLOCK + Memory::TURNED);
    if constexpr (!K::in_place && K::step == 1)
      if (a_k == 1 && rows <= THIN_ROWS) return convert_left(i, rows, p, deep, to);
    const int64_t width = (rows + L - 1) / L * L;
    pack<typename K::Left>(a_at(i, p), a_k, a_row, deep, rows, to, width);
    return {to, 1, width, nullptr};
  }
  Left left(int64_t i, int64_t rows, int64_t p, int64_t deep) const {
    if constexpr (K::in_place) return left_at(i, p);
    Left x = is_left_packed(rows, deep) ? left_at(i, p) : pack_left(i, rows, p, deep);
    if constexpr (K::has_excess) x.excess = excess_of(x, rows, (deep + K::step - 1) / K::step);
    return x;
  }

  // The excess of rows of A, in scratch memory: vectors along the depth, or where A was packed, along the rows.
  SHLO_ONCE const Element* excess_of(Left x, int64_t rows, int64_t units) const {
    typedef typename K::Sum vector;
    Element* const to = (Element*)(scratch + Memory::PACKED + Memory::BLOCK + Memory::TURNED + Memory::LEFT);
    for (int64_t i = 0; i < rows; i += x.k == 1 ? 1 : L) {
      vector sum = K::zero();
      const LeftPacked<K>* at = x.at + i * x.row;
      if (x.k != 1) {
        for (int64_t p = 0; p < units; ++p, at += x.k) sum = K::excess(sum, K::load(at));
        K::store(to + i, sum);
        continue;
      }
      int64_t p = 0;
      for (; p + L <= units; p += L) sum = K::excess(sum, K::load(at + p));
      if (p < units) sum = K::excess(sum, read_first<vector>(at + p, units - p));
      to[i] = 0;
      for (int64_t lane = 0; lane < L; ++lane) to[i] += sum[lane];
    }
    return to;
  }
  // to[rows, columns] = what was there, or zero, less the excess of the rows.
  static void subtract(const Element* excess, int64_t rows, int64_t columns, Element* to, int64_t ld, bool add) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; j += L) {
        const typename K::Sum before = add ? K::load(to + i * ld + j) : K::zero();
        K::store(to + i * ld + j, before - excess[i]);
      }
  }

  // Whether the rows of A are adjacent along k, or fit into the scratch memory to be made so.
  bool can_dot(int64_t rows) const {
    return b_k == 1 && k >= 2 * L && (a_k == 1 || rows * k * (int64_t)sizeof(Storage) <= Memory::PACKED);
  }

  SHLO_ONCE void dot() const {
    constexpr int TALL = ACCUMULATORS / K::registers >= 12 ? 2 : 1;
    const int64_t rows = i1 - i0, width = rows == 1 || TALL == 1 ? 8 : 4;
    const Storage* from = a_at(i0, 0);
    int64_t row = a_row;
    if (a_k != 1) {
      Storage* const to = (Storage*)scratch;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < k; ++p) to[i * k + p] = *a_at(i0 + i, p);
      from = to;
      row = k;
    }
    for (int64_t j = j0; j < j1; j += COLUMNS) {
      const int64_t columns = min(COLUMNS, j1 - j), ld = (columns + 15) / 16 * 16;
      for (int64_t c = 0; c < columns; c += width)
        for (int64_t i = 0; i < rows; i += TALL) {  // what a lone last row writes too much is behind all results
          const auto run = TALL > 1 && rows - i >= TALL ? dots<K, TALL, 4> : dots<K, 1, 8>;
          run(from + i * row, row, b_at(0, j + c), b_col, columns - c - 1, block() + i * ld + c, ld, k);
        }
      epilogue(context, block(), ld, i0, rows, j, columns);
    }
  }

  // Few rows: a block of them has many columns.
  SHLO_ONCE void stream() const {
    const int64_t strip = k <= SHALLOW_DEPTH ? part(i1 - i0, THIN_ROWS) : Memory::SLAB_ROWS;
    for (int64_t i = i0; i < i1; i += strip) {
      const int64_t rows = min(strip, i1 - i), fitting = streamed_columns(rows);
      const int64_t most = limited(how.columns, fitting, Memory::BLOCK / (rows * (int64_t)sizeof(Element)), PANEL);
      // What several tiles read of packed B stays in the second-level cache.
      const int64_t whole = packed_right && rows > ACCUMULATORS / 4 ? DEPTH : largest(1, k);
      const int64_t depth = K::in_place ? whole : rows <= THIN_ROWS + 4 ? Memory::THIN_DEPTH : Memory::SLAB_DEPTH;
      for (int64_t j = j0; j < j1; j += most) {
        const int64_t columns = min(most, j1 - j), ld = (columns + 15) / 16 * 16;
        for (int64_t p = 0; p == 0 || p < k; p += depth) {
          const int64_t deep = min(depth, k - p);
          const Left x = left(i, rows, p, deep);
          if constexpr (READS_PACKED)
            for (int64_t c = 0; packed_right && c < columns; c += PANEL)
              multiply(x, rows, p, deep, j + c, min(PANEL, columns - c), block() + c, ld, false,
                       {!waits(rows), nullptr});
          if constexpr (same<K, typename K::Single>)
            if (!packed_right) stream_columns_at(x, rows, p, deep, j, columns, ld);
        }
        epilogue(context, block(), ld, i, rows, j, columns);
      }
    }
  }

  // Whether a core's share of the caches holds B.
  bool is_near() const { return right_bytes() <= near_bytes(); }
  // Whether a lone row of A waits for memory, whatever is fetched.
  bool waits(int64_t rows) const { return rows == 1 && right_bytes() > shlo_cache_bytes[2]; }
  int64_t right_bytes() const { return k * n * (int64_t)sizeof(Storage); }

  int64_t stream_rows() const { return !K::in_place ? K::few_rows : is_near() ? NEAR_ROWS : STREAM_ROWS; }

  // Whether next rows and columns of B where it is are fetched. Where another product follows, its B was not read before.
  bool fetches(int64_t rows) const {
    return K::in_place && K::registers == 1 && !packed_right && (next || !is_near()) && rows > 1;
  }

  int64_t streamed_rows(int64_t rows) const {
    if (waits(rows)) return LONE_DEPTH;
    return fetches(rows) && !is_near() && rows <= THIN_ROWS ? FAR_DEPTH : STREAM_DEPTH;
  }
  int64_t streamed_columns(int64_t rows) const {
    if (!fetches(rows) || is_near()) return stream_columns<Element>(rows);
    return (rows <= THIN_ROWS ? thin_far_bytes() : far_bytes()) / (streamed_rows(rows) * (int64_t)sizeof(Storage));
  }

  // A walk through lines of B where it is, `step` apart, which the tiles of so many rows of A share.
  SHLO_ONCE Walk walk(const Storage* at, int64_t length, int64_t lines, int64_t step, int64_t rows) const {
    const int64_t tiles = (rows * 4 + ACCUMULATORS - 1) / ACCUMULATORS, row = length * (int64_t)sizeof(Storage);
    const int share = tiles == 1 ? 0 : tiles < 4 ? 1 : 2;
    const int64_t unit = fetched<K, 1 << Tiles<K, PACKED>::FETCHING>(share) * LINE, each = (row + unit - 1) / unit;
    return {(const char*)at, each, each, step * (int64_t)sizeof(Storage) - each * unit, each * lines, share};
  }

  // B where it is; only the columns of a last vector that is not full are copied.
  void stream_columns_at(Left x, int64_t rows, int64_t start, int64_t depth, int64_t j, int64_t columns,
                         int64_t ld) const {
    constexpr Reading HERE = READING<K, IN_PLACE>;
    const int64_t at_once = limited(how.depth, streamed_rows(rows), largest(1, depth), 1), full = columns / L * L;
    for (int64_t p = 0; full > 0 && (p == 0 || p < depth); p += at_once) {
      Walk ahead = {};
      if (fetches(rows) && p + at_once < depth)
        ahead = walk(b_at(start + p + at_once, j), full, min(at_once, depth - p - at_once), b_k, rows);
      else if (fetches(rows) && j + columns < j1)
        ahead = walk(b_at(0, j + columns), min(columns, j1 - j - columns), min(at_once, k), b_k, rows);
      else if (fetches(rows) && next && start + p + at_once >= k)
        ahead = walk(next + j0 * b_col, min(columns, n - j0), min(at_once, k), b_k, rows);
      multiply_tiles<K, HERE>(x.at + p * x.k, x.row, x.k, (const Right<K, HERE>*)b_at(start + p, j), b_k, block(), ld,
                              min(at_once, depth - p), start + p > 0, rows, full / L, shape(rows, true), {false, &ahead});
    }
    Right<K, HERE>* const last = (Right<K, HERE>*)scratch;
    for (int64_t p = 0; full < columns && (p == 0 || p < depth); p += DEPTH) {
      const int64_t deep = min(DEPTH, depth - p);
      copy_lines(b_at(start + p, j + full), deep, columns - full, (Storage*)last);
      multiply_tiles<K, HERE>(x.at + p * x.k, x.row, x.k, last, L, block() + full, ld, deep, start + p > 0, rows, 1,
                              shape(rows, false));
    }
  }
  // to[deep, L] = some columns of B, which are adjacent, and zeros.
  SHLO_ONCE void copy_lines(const Storage* from, int64_t deep, int64_t columns, Storage* to) const {
    for (int64_t p = 0; p < deep; ++p, from += b_k, to += L) {
      Storage line[L] = {};
      __builtin_memcpy(line, from, columns * sizeof(Storage));
      __builtin_memcpy(to, line, sizeof line);
    }
  }

  // to[rows, columns] (+)= the product of rows of A as `x` reads them and at most PANEL columns from j on, over `deep` of k from
  // p on. If B was not packed before, `packing` says whether to do it now; `fetch` what to fetch meanwhile.
  SHLO_ONCE void multiply(Left x, int64_t rows, int64_t p, int64_t deep, int64_t j, int64_t columns, Element* to,
                          int64_t ld, bool packing, Fetch fetch = {}) const {
    const int64_t units = (deep + K::step - 1) / K::step;
    const Packed* right = packed();
    if (packed_right)
      right = (const Packed*)packed_right + j * ((k + K::step - 1) / K::step) + p / K::step * PANEL;
    else if (packing)
      pack<K>(b_at(p, j), b_k, b_col, deep, columns, (Packed*)right, PANEL);
    bool add = p > 0;
    if constexpr (K::has_excess)
      if (x.excess) {
        subtract(x.excess, rows, columns, to, ld, add);
        add = true;
      }
    multiply_tiles<K, PACKED>(x.at, x.row, x.k, right, PANEL, to, ld, units, add, rows, (columns + L - 1) / L,
                              shape(rows, false), fetch);
  }

  // What will be packed next, after the depths up to p of a panel from column j on: it is fetched where it is.
  SHLO_ONCE Walk next_to_pack(int64_t p, int64_t depth, int64_t j, int64_t rows) const {
    if (!K::in_place || packed_right || (b_col != 1 && b_k != 1)) return {};
    if (p < k) return panel(b_at(p, j), min(PANEL, j1 - j), min(depth, k - p), rows);
    if (j + PANEL < j1) return panel(b_at(0, j + PANEL), min(PANEL, j1 - j - PANEL), min(depth, k), rows);
    return next ? panel(next + j0 * b_col, min(PANEL, n - j0), min(depth, k), rows) : Walk{};
  }
  Walk panel(const Storage* at, int64_t columns, int64_t deep, int64_t rows) const {
    return b_col == 1 ? walk(at, columns, deep, b_k, rows) : walk(at, deep, columns, b_col, rows);
  }

  // A part of B is packed once for all rows that it meets: those of a call if their sums are finished at once, or else as many as
  // scratch memory holds unfinished sums of.
  SHLO_ONCE void blocks() const {
    const int64_t depth = limited(how.depth, DEPTH, DEPTH, K::step);
    const bool whole = k <= depth;
    const int64_t chunk = limited(how.rows, chunk_bytes() / (PANEL * (int64_t)sizeof(Element)), ROWS, 1);
    // Sums that a row keeps. (Asked once: where the loops ask `whole`, clang 22 at -O3 takes all rows of a part of the depth.)
    const int64_t unfinished = whole ? 0 : PANEL;
    const int64_t most = !K::in_place ? ROWS : whole ? i1 - i0 : Memory::BLOCK_ROWS;
    for (int64_t start = i0; start < i1; start += most) {
      const int64_t end = min(start + most, i1);
      const Left all = left(start, end - start, 0, k);
      for (int64_t j = j0; j < j1; j += PANEL) {
        const int64_t columns = min(PANEL, j1 - j);
        for (int64_t p = 0; p == 0 || p < k; p += depth) {
          const int64_t deep = min(depth, k - p);
          Walk ahead = next_to_pack(p + depth, depth, j, end - start);
          for (int64_t i = start; i < end; i += chunk) {
            const int64_t rows = min(chunk, end - i);
            const Element* const excess = p == 0 && all.excess ? all.excess + (i - start) : nullptr;  // of all of k
            const Left x = {all.at + (i - start) * all.row + p / K::step * all.k, all.row, all.k, excess};
            Element* const sums = block() + (i - start) * unfinished;
            const Fetch fetch = {packed_right && i == start, packed_right ? nullptr : &ahead};
            multiply(x, rows, p, deep, j, columns, sums, PANEL, i == start, fetch);
            if (p + depth >= k) epilogue(context, sums, PANEL, i, rows, j, columns);
          }
        }
      }
    }
  }

  // Rows of A are packed: one part of k after the other, for as many columns as the block holds.
  SHLO_ONCE void slabs() const {
    const int64_t depth = limited(how.depth, Memory::SLAB_DEPTH, Memory::SLAB_DEPTH, K::step);
    const int64_t chunk = limited(how.rows, Memory::SLAB_ROWS, Memory::SLAB_ROWS, 1);
    for (int64_t start = i0; start < i1; start += chunk) {
      const int64_t rows = min(chunk, i1 - start);
      for (int64_t j = j0; j < j1; j += COLUMNS) {
        const int64_t columns = min(COLUMNS, j1 - j);
        for (int64_t p = 0; p == 0 || p < k; p += depth) {
          const int64_t deep = min(depth, k - p);
          const Left x = K::in_place ? pack_left(start, rows, p, deep) : left(start, rows, p, deep);
          for (int64_t c = 0; c < columns; c += PANEL)
            multiply(x, rows, p, deep, j + c, min(PANEL, columns - c), block() + c, COLUMNS, true);
        }
        epilogue(context, block(), COLUMNS, start, rows, j, columns);
      }
    }
  }

  SHLO_ONCE void run() const {
    const int64_t rows = i1 - i0, columns = j1 - j0;
    const bool packs_left = how.pack_left == 1 && K::registers == 1;  // packed complex numbers are vectors, none by itself
    const bool tiles = how.form == 1 || packs_left || how.pack_right == 1;
    const bool shallow = k <= SHALLOW_DEPTH && columns >= SHALLOW_COLUMNS;
    if (packed_right && rows <= THIN_ROWS) {
      stream();
      return;
    }
    if (!packed_right && !tiles) {
      const Product<typename K::Single> thin = {*this};
      // Lanes of dot products are sums of their own. So all parts of a product are, or none: else its bits would depend on
      // who computes which part. All other ways add up the same numbers in the same order.
      if (m <= DOT_ROWS && (b_col != 1 || n < L || how.form == 3) && can_dot(m) && how.form != 2) {
        thin.dot();
        return;
      }
      // So it is with kinds whose sums differ from those of elements where they are.
      const bool few = K::sums_alike ? rows <= stream_rows() || shallow : m <= stream_rows();
      if (b_col == 1 && (few || how.form == 2)) {
        thin.stream();
        return;
      }
    }
    if (packs_left || (!K::in_place && k > DEPTH)) slabs();
    else blocks();
  }
};

template <class K>
int64_t packed_bytes(int64_t k, int64_t n) {
  return (n + PANEL - 1) / PANEL * PANEL * ((k + K::step - 1) / K::step) * (int64_t)sizeof(typename K::Packed);
}

template <class K>
void pack_panels(const ShloGemm& g, int64_t j0, int64_t j1, void* packed) {
  typedef typename K::Packed Packed;
  const int64_t units = (g.k + K::step - 1) / K::step;
  for (int64_t j = j0; j < j1; j += PANEL)
    pack<K>((const typename K::Storage*)g.b + j * g.b_col, g.b_k, g.b_col, g.k, min(PANEL, j1 - j),
            (Packed*)packed + j * units, PANEL);
}

template <class K>
void product(const ShloGemm* g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch, ShloEpilogue epilogue,
             void* context) {
  typedef typename K::Storage S;
  typedef typename K::Element Element;
  if (i0 >= i1 || j0 >= j1) return;
  char* const memory = (char*)scratch;
  const S *const a = (const S*)g->a, *const b = (const S*)g->b;
  TransposedEpilogue<Element> to = {epilogue, context, (Element*)(memory + Scratch<K>::PACKED + Scratch<K>::BLOCK)};
  const Product<K> transposed = {{b, a, g->b_col, g->b_k, g->a_k, g->a_row, g->k, j0, j1, i0, i1, memory,
                                  TransposedEpilogue<Element>::take, &to, nullptr, {}, g->n, g->m, nullptr}};
  const Product<K> plain = {{a, b, g->a_row, g->a_k, g->b_k, g->b_col, g->k, i0, i1, j0, j1, memory, epilogue,
                             context, g->packed, g->schedule ? *g->schedule : ShloSchedule{}, g->m, g->n, (const S*)g->next}};
  const bool transposes = g->n <= DOT_ROWS && g->n < g->m && (g->a_row == 1 || transposed.can_dot(g->n));
  if (transposes && !g->packed && plain.how.form == 0) {
    transposed.run();
    return;
  }
  plain.run();
}

}  // namespace

#define SHLO_GEMM(name, K)                                                                                          \
  extern "C" void shlo_gemm_##name(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1,            \
                                   void* scratch, ShloEpilogue epilogue, void* context) {                           \
    product<K>(gemm, i0, i1, j0, j1, scratch, epilogue, context);                                                   \
  }                                                                                                                 \
  extern "C" int64_t shlo_packed_bytes_##name(int64_t k, int64_t n) { return packed_bytes<K>(k, n); }               \
  extern "C" void shlo_pack_##name(const ShloGemm* gemm, int64_t j0, int64_t j1, void* packed) {                    \
    static_assert(K::step == SHLO_GEMM_STEP_##name && sizeof(K::Packed) == SHLO_GEMM_BYTES_##name * K::step,        \
                  "gemm.h says what packed elements are");                                                          \
    pack_panels<K>(*gemm, j0, j1, packed);                                                                          \
  }
