// Matrix products by register tiles. B is packed into panels of one tile's width while the first rows are multiplied;
// with few rows it is streamed from where it lies. A is read by broadcasts from where it lies.
#include "gemm.h"
#include "tile.h"

namespace {

constexpr int64_t DEPTH = 512;        // rows of B in a panel: 128 KiB, half of a small L2 cache
constexpr int64_t EPILOGUE_ROWS = 24; // rows that an epilogue gets at once, so that they are still in L1
constexpr int64_t LARGE = 1 << 20;     // bytes of B that do not stay in L2
constexpr int64_t FEW_ROWS = SHLO_TILE_ROWS;

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
// The leading dimension of a tile: epilogues may read whole vectors of 16.
constexpr int64_t padded(int64_t columns) { return (columns + 15) / 16 * 16; }

template <class T>
struct Product {
  const ShloGemm& gemm;
  const T *a, *b;
  T *panel, *slab, *c;  // private memory: packed B, packed A, finished rows of C
  ShloEpilogue epilogue;
  void* context;

  static constexpr int64_t N = Register<T>::lanes;
  static constexpr int64_t WIDTH = N * SHLO_TILE_VECTORS;

  Product(const ShloGemm* g, void* scratch, ShloEpilogue e, void* ctx)
      : gemm(*g), a((const T*)g->a), b((const T*)g->b), epilogue(e), context(ctx) {
    panel = (T*)scratch;
    slab = panel + DEPTH * WIDTH;
    c = slab + DEPTH * 8;
  }

  const T* at_b(int64_t p, int64_t j) const { return b + p * gemm.b_k + j * gemm.b_col; }

  // ---- packing -------------------------------------------------------------------------------------------------------

  // B[p0 : p0 + depth, j0 : j0 + columns] into `panel`, each row padded with zeros to `vectors` registers.
  void pack_b(int64_t p0, int64_t depth, int64_t j0, int64_t columns, int64_t vectors) const {
    const int64_t width = vectors * N;
    if (gemm.b_col == 1) return pack_rows(p0, depth, j0, columns, width);
    for (int64_t v = 0; v < vectors; v++) {
      const int64_t left = least(N, columns - v * N);
      if (gemm.b_k == 1) pack_transposed(p0, depth, j0 + v * N, left, panel + v * N, width);
      else pack_strided(p0, depth, j0 + v * N, left, panel + v * N, width);
    }
  }
  void pack_rows(int64_t p0, int64_t depth, int64_t j0, int64_t columns, int64_t width) const {
    for (int64_t p = 0; p < depth; p++) {
      const T* from = at_b(p0 + p, j0);
      T* to = panel + p * width;
      int64_t j = 0;
      for (; j + N <= columns; j += N) write(to + j, read(from + j));
      if (j < columns) write(to + j, read_n(from + j, columns - j));
    }
  }
  void pack_transposed(int64_t p0, int64_t depth, int64_t j0, int64_t columns, T* to, int64_t width) const {
    for (int64_t p = 0; p < depth; p += N) {
      const int64_t some = least(N, depth - p);
      register_t<T> square[N];
      if (columns == N && some == N) {
#pragma GCC unroll 16
        for (int64_t j = 0; j < N; j++) square[j] = read(at_b(p0 + p, j0 + j));
        transpose<T>(square);
#pragma GCC unroll 16
        for (int64_t q = 0; q < N; q++) write(to + (p + q) * width, square[q]);
      } else {
        for (int64_t j = 0; j < N; j++) square[j] = j < columns ? read_n(at_b(p0 + p, j0 + j), some) : register_t<T>{};
        transpose<T>(square);
        for (int64_t q = 0; q < some; q++) write(to + (p + q) * width, square[q]);
      }
    }
  }
  void pack_strided(int64_t p0, int64_t depth, int64_t j0, int64_t columns, T* to, int64_t width) const {
    for (int64_t p = 0; p < depth; p++) {
      const T* from = at_b(p0 + p, j0);
      for (int64_t j = 0; j < N; j++) to[p * width + j] = j < columns ? from[j * gemm.b_col] : T(0);
    }
  }

  // ---- many rows: panels ---------------------------------------------------------------------------------------------

  // C[i0 : i1, j0 : j0 + columns], at most SHLO_GEMM_ROWS rows and one panel.
  void multiply_panel(int64_t i0, int64_t i1, int64_t j0, int64_t columns) const {
    const int64_t vectors = (columns + N - 1) / N, width = vectors * N, ld = padded(width);
    int64_t p0 = 0;
    do {
      const int64_t depth = least(DEPTH, gemm.k - p0);
      const bool last = p0 + depth >= gemm.k;
      // Rows of whole registers are packed while the first tile reads them.
      const bool reads_b = gemm.b_col == 1 && columns == width;
      if (!reads_b) pack_b(p0, depth, j0, columns, vectors);
      int64_t handed = i0;
      for (int64_t i = i0; i < i1;) {
        const int64_t rows = next_rows(i1 - i);
        TileTask<T> task = {a + i * gemm.a_row + p0 * gemm.a_k, panel, gemm.a_row, gemm.a_k, width, depth,
                            c + (i - i0) * ld, ld, p0 > 0, panel};
        if (gemm.a_k != 1 && depth > 64) pack_a(task, rows);
        if (reads_b && i == i0) {
          task.b = at_b(p0, j0);
          task.ldb = gemm.b_k;
          tiles<T, true>[vectors - 1][rows - 1](task);
        } else {
          tiles<T, false>[vectors - 1][rows - 1](task);
        }
        i += rows;
        if (last && (i - handed >= EPILOGUE_ROWS || i == i1)) {
          epilogue(context, c + (handed - i0) * ld, ld, handed, i - handed, j0, columns);
          handed = i;
        }
      }
      p0 += depth;
    } while (p0 < gemm.k);
  }
  // Rows of A whose elements are far apart, next to each other.
  void pack_a(TileTask<T>& task, int64_t rows) const {
    for (int64_t p = 0; p < task.k; p++)
      for (int64_t i = 0; i < rows; i++) slab[p * rows + i] = task.a[i * task.a_row + p * task.a_k];
    task.a = slab;
    task.a_row = 1;
    task.a_k = rows;
  }

  // ---- few rows: B is read once ----------------------------------------------------------------------------------------

  template <int Rows, int Vectors>
  int64_t stream(int64_t i0, int64_t j0, int64_t j1) const {
    constexpr int64_t ld = padded(Vectors * N);
    for (; j0 + Vectors * N <= j1; j0 += Vectors * N) {
      multiply_tile<T, Rows, Vectors, false>({a + i0 * gemm.a_row, at_b(0, j0), gemm.a_row, gemm.a_k, gemm.b_k, gemm.k,
                                              c, ld, false, nullptr});
      epilogue(context, c, ld, i0, Rows, j0, Vectors * N);
    }
    return j0;
  }
  void multiply_few(int64_t i0, int64_t rows, int64_t j0, int64_t j1) const {
    constexpr int V = SHLO_TILE_VECTORS;
    if (rows <= 4 && j1 - j0 >= 1024 && gemm.k * (j1 - j0) * (int64_t)sizeof(T) > LARGE) {
      if (rows == 1) stream_wide<1>(i0, j0, j1);
      if (rows == 2) stream_wide<2>(i0, j0, j1);
      if (rows == 3) stream_wide<3>(i0, j0, j1);
      if (rows == 4) stream_wide<4>(i0, j0, j1);
      j0 = j1 - (j1 - j0) % N;
    }
    if (rows == 1) j0 = stream<1, 4 * V>(i0, j0, j1);
    if (rows == 1) j0 = stream<1, 2 * V>(i0, j0, j1);
    if (rows == 2) j0 = stream<2, 2 * V>(i0, j0, j1);
    if (rows == 3) j0 = stream<3, 2 * V>(i0, j0, j1);
    while (j0 + N <= j1) {
      const int64_t vectors = least(V, (j1 - j0) / N), ld = padded(vectors * N);
      tiles<T, false>[vectors - 1][rows - 1]({a + i0 * gemm.a_row, at_b(0, j0), gemm.a_row, gemm.a_k, gemm.b_k, gemm.k,
                                             c, ld, false, nullptr});
      epilogue(context, c, ld, i0, rows, j0, vectors * N);
      j0 += vectors * N;
    }
    if (j0 < j1) multiply_panel(i0, i0 + rows, j0, j1 - j0);
  }

  // A large B, far wider than a tile: a tile would touch a page per row. Whole stretches of eight rows at a time instead,
  // added into rows of C that stay in L1.
  template <int Rows>
  void stream_wide(int64_t i0, int64_t j0, int64_t j1) const {
    constexpr int64_t DEEP = 8, STRETCH = Rows > 2 ? 2048 : 4096;
    for (int64_t j = j0; j < j1; j += STRETCH) {
      const int64_t columns = least(STRETCH, j1 - j) / N * N;
      for (int64_t x = 0; x < Rows * STRETCH; x += N) write(c + x, register_t<T>{});
      int64_t p = 0;
      for (; p + DEEP <= gemm.k; p += DEEP) add_rows<Rows, DEEP, STRETCH>(i0, p, j, columns);
      for (; p < gemm.k; p++) add_rows<Rows, 1, STRETCH>(i0, p, j, columns);
      epilogue(context, c, STRETCH, i0, Rows, j, columns);
    }
  }
  template <int Rows, int64_t Deep, int64_t Stretch>
  void add_rows(int64_t i0, int64_t p, int64_t j0, int64_t columns) const {
    T x[Rows][Deep];
    for (int i = 0; i < Rows; i++)
      for (int q = 0; q < Deep; q++) x[i][q] = a[(i0 + i) * gemm.a_row + (p + q) * gemm.a_k];
    const T* from = at_b(p, j0);
    const int64_t b_k = gemm.b_k;
    for (int64_t j = 0; j < columns; j += N) {
      register_t<T> sum[Rows];
      for (int i = 0; i < Rows; i++) sum[i] = read(c + i * Stretch + j);
      for (int q = 0; q < Deep; q++) {
        auto row = read(from + q * b_k + j);
        for (int i = 0; i < Rows; i++) sum[i] += x[i][q] * row;
      }
      for (int i = 0; i < Rows; i++) write(c + i * Stretch + j, sum[i]);
    }
  }

  // ---- few rows or columns, both matrices along k: dot products ---------------------------------------------------------

  // `rows` of A and `columns` of B, each contiguous along k.
  struct Dots {
    const T *x, *y;
    int64_t x_row, y_row, k;
  };
  // sum[i][j] += A[i][p] B[p][j] for the `some` (N if Whole) values of p at x and y.
  template <bool Whole, int Rows, int Columns>
  SHLO_INLINE void add_products(register_t<T> (&sum)[Rows][Columns], const Dots& d, int64_t some) {
    register_t<T> column[Columns];
    for (int j = 0; j < Columns; j++) {
      column[j] = Whole ? read(d.y + j * d.y_row) : read_n(d.y + j * d.y_row, some);
      SHLO_IN_REGISTER(column[j]);
    }
    for (int i = 0; i < Rows; i++) {
      register_t<T> row = Whole ? read(d.x + i * d.x_row) : read_n(d.x + i * d.x_row, some);
      SHLO_IN_REGISTER(row);
      for (int j = 0; j < Columns; j++) sum[i][j] += row * column[j];
    }
  }
  template <int Rows, int Columns>
  static void multiply_dots(Dots d, T* to, int64_t ld) {
    register_t<T> sum[Rows][Columns] = {};
    int64_t left = d.k;
    for (; left >= N; left -= N, d.x += N, d.y += N) add_products<true>(sum, d, N);
    if (left > 0) add_products<false>(sum, d, left);
    if constexpr (Columns == 4) {
      for (int i = 0; i < Rows; i++) sum_four(sum[i], to + i * ld, 1);
    } else if constexpr (Rows == 4) {
      for (int j = 0; j < Columns; j++) {
        const register_t<T> column[4] = {sum[0][j], sum[1][j], sum[2][j], sum[3][j]};
        sum_four(column, to + j, ld);
      }
    } else {
      for (int i = 0; i < Rows; i++)
        for (int j = 0; j < Columns; j++) to[i * ld + j] = fold<T, N>(sum[i][j], [](auto p, auto q) { return p + q; });
    }
  }
  static void sum_four(const register_t<T>* sum, T* to, int64_t step) {
    if constexpr (N >= 4) {
      auto added = [](auto x, auto y) { return interleave_low(x, y) + interleave_high(x, y); };
      T lanes[N];
      write(lanes, added(added(sum[0], sum[2]), added(sum[1], sum[3])));
      for (int j = 0; j < 4; j++) {
        T s = lanes[j];
        for (int l = 4; l < N; l += 4) s += lanes[j + l];
        to[j * step] = s;
      }
    } else {
      for (int j = 0; j < 4; j++) to[j * step] = sum[j][0] + sum[j][1];
    }
  }
  typedef void (*DotTile)(Dots, T*, int64_t);
  // [rows - 1][columns - 1]
  static constexpr DotTile DOT_TILES[4][4] = {
      {multiply_dots<1, 1>, multiply_dots<1, 2>, multiply_dots<1, 3>, multiply_dots<1, 4>},
      {multiply_dots<2, 1>, multiply_dots<2, 2>, multiply_dots<2, 3>, multiply_dots<2, 4>},
      {multiply_dots<3, 1>, multiply_dots<3, 2>, multiply_dots<3, 3>, multiply_dots<3, 4>},
      {multiply_dots<4, 1>, multiply_dots<4, 2>, multiply_dots<4, 3>, multiply_dots<4, 4>}};

  // At most 4 rows; B is read along its columns.
  void multiply_row_dots(int64_t i0, int64_t rows, int64_t j0, int64_t j1) const {
    constexpr int64_t SOME = 64;
    for (; j0 < j1; j0 += SOME) {
      const int64_t columns = least(SOME, j1 - j0);
      for (int64_t j = 0; j < columns; j += 4)
        DOT_TILES[rows - 1][least(4, columns - j) - 1](
            {a + i0 * gemm.a_row, at_b(0, j0 + j), gemm.a_row, gemm.b_col, gemm.k}, c + j, SOME);
      epilogue(context, c, SOME, i0, rows, j0, columns);
    }
  }
  // At most 4 columns, which fit the panel; A is read along its rows.
  void multiply_column_dots(int64_t i0, int64_t i1, int64_t j0, int64_t columns) const {
    constexpr int64_t SOME = 64, LD = 16;
    const bool in_place = gemm.b_k == 1;
    for (int64_t j = 0; j < columns && !in_place; j++)
      for (int64_t p = 0; p < gemm.k; p++) panel[j * gemm.k + p] = *at_b(p, j0 + j);
    for (; i0 < i1; i0 += SOME) {
      const int64_t rows = least(SOME, i1 - i0);
      for (int64_t i = 0; i < rows; i += 4)
        DOT_TILES[least(4, rows - i) - 1][columns - 1](
            {a + (i0 + i) * gemm.a_row, in_place ? at_b(0, j0) : panel, gemm.a_row, in_place ? gemm.b_col : gemm.k,
             gemm.k}, c + i * LD, LD);
      epilogue(context, c, LD, i0, rows, j0, columns);
    }
  }

  // ---- any rectangle -------------------------------------------------------------------------------------------------

  void multiply(int64_t i0, int64_t i1, int64_t j0, int64_t j1) const {
    const int64_t rows = i1 - i0, columns = j1 - j0;
    if (rows <= 0 || columns <= 0) return;
    if (rows <= 4 && gemm.a_k == 1 && gemm.b_k == 1 && gemm.b_col != 1) return multiply_row_dots(i0, rows, j0, j1);
    if (columns <= 4 && gemm.a_k == 1 && gemm.k >= N && columns * gemm.k <= DEPTH * WIDTH)
      return multiply_column_dots(i0, i1, j0, columns);
    if (rows <= FEW_ROWS && gemm.b_col == 1) return multiply_few(i0, rows, j0, j1);
    for (int64_t i = i0; i < i1; i += SHLO_GEMM_ROWS)
      for (int64_t j = j0; j < j1; j += WIDTH)
        multiply_panel(i, least(i + SHLO_GEMM_ROWS, i1), j, least(WIDTH, j1 - j));
  }
};

}  // namespace

constexpr int64_t PANEL_BYTES = SHLO_REGISTER * SHLO_TILE_VECTORS;  // of one row
static_assert(SHLO_GEMM_SCRATCH >= DEPTH * (PANEL_BYTES + 8 * 8) + SHLO_GEMM_ROWS * (PANEL_BYTES < 128 ? 128 : PANEL_BYTES),
              "the panel, the slab of A and the rows of C fit the scratch memory");

void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                   ShloEpilogue epilogue, void* context) {
  Product<float>(gemm, scratch, epilogue, context).multiply(i0, i1, j0, j1);
}
void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                   ShloEpilogue epilogue, void* context) {
  Product<double>(gemm, scratch, epilogue, context).multiply(i0, i1, j0, j1);
}
