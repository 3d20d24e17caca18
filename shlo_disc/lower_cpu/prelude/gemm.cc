// Matrix products by register tiles. B is packed into panels of one tile's width while the first rows are multiplied;
// with few rows it is streamed from where it lies. A is read by broadcasts from where it lies.
#include "gemm.h"
#include "tile.h"

namespace {

constexpr int64_t DEPTH = 512;        // rows of B in a panel: 128 KiB, half of a small L2 cache
constexpr int64_t EPILOGUE_ROWS = 24; // rows that an epilogue gets at once, so that they are still in L1
constexpr int64_t LARGE = 1 << 20;     // bytes of B that do not stay in L2
constexpr int64_t FEW_ROWS = SHLO_TILE_ROWS;

SHLO_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

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
    const int64_t vectors = (columns + N - 1) / N, width = vectors * N;
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
                            c + (i - i0) * width, width, p0 > 0, panel};
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
          epilogue(context, c + (handed - i0) * width, width, handed, i - handed, j0, columns);
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
    for (; j0 + Vectors * N <= j1; j0 += Vectors * N) {
      multiply_tile<T, Rows, Vectors, false>({a + i0 * gemm.a_row, at_b(0, j0), gemm.a_row, gemm.a_k, gemm.b_k, gemm.k,
                                              c, Vectors * N, false, nullptr});
      epilogue(context, c, Vectors * N, i0, Rows, j0, Vectors * N);
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
      const int64_t vectors = least(V, (j1 - j0) / N);
      tiles<T, false>[vectors - 1][rows - 1]({a + i0 * gemm.a_row, at_b(0, j0), gemm.a_row, gemm.a_k, gemm.b_k, gemm.k,
                                             c, vectors * N, false, nullptr});
      epilogue(context, c, vectors * N, i0, rows, j0, vectors * N);
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

  // ---- few rows, both along k: dot products ----------------------------------------------------------------------------

  // sum[i][j] += A[i][p] B[p][j] for the `some` (N if Whole) values of p at x and y.
  template <bool Whole, int Rows>
  SHLO_INLINE void add_products(register_t<T> (&sum)[Rows][4], const T* x, const T* y, int64_t a_row, int64_t b_col,
                                int64_t some) {
    register_t<T> column[4];
    for (int j = 0; j < 4; j++) {
      column[j] = Whole ? read(y + j * b_col) : read_n(y + j * b_col, some);
      SHLO_IN_REGISTER(column[j]);
    }
    for (int i = 0; i < Rows; i++) {
      register_t<T> row = Whole ? read(x + i * a_row) : read_n(x + i * a_row, some);
      SHLO_IN_REGISTER(row);
      for (int j = 0; j < 4; j++) sum[i][j] += row * column[j];
    }
  }
  template <int Rows>
  void dot_four(int64_t i0, int64_t j0, T* to, int64_t ld) const {
    const T *x = a + i0 * gemm.a_row, *y = at_b(0, j0);
    const int64_t a_row = gemm.a_row, b_col = gemm.b_col;
    register_t<T> sum[Rows][4] = {};
    int64_t left = gemm.k;
    for (; left >= N; left -= N, x += N, y += N) add_products<true>(sum, x, y, a_row, b_col, N);
    if (left > 0) add_products<false>(sum, x, y, a_row, b_col, left);
    for (int i = 0; i < Rows; i++) sum_four(sum[i], to + i * ld);
  }
  static void sum_four(const register_t<T>* sum, T* to) {
    auto added = [](auto x, auto y) { return interleave_low(x, y) + interleave_high(x, y); };
    auto pairs = added(added(sum[0], sum[2]), added(sum[1], sum[3]));
    if constexpr (N >= 4) {
      T lanes[N];
      write(lanes, pairs);
      for (int j = 0; j < 4; j++) {
        T s = lanes[j];
        for (int l = 4; l < N; l += 4) s += lanes[j + l];
        to[j] = s;
      }
    } else {
      for (int j = 0; j < 4; j++) to[j] = sum[j][0] + sum[j][1];
    }
  }
  void dot_one(int64_t i0, int64_t rows, int64_t j, T* to, int64_t ld) const {
    for (int64_t i = 0; i < rows; i++) {
      const T *x = a + (i0 + i) * gemm.a_row, *y = at_b(0, j);
      register_t<T> sum = {};
      int64_t p = 0;
      for (; p + N <= gemm.k; p += N) sum += read(x + p) * read(y + p);
      if (p < gemm.k) sum += read_n(x + p, gemm.k - p) * read_n(y + p, gemm.k - p);
      T total = 0;
      for (int l = 0; l < N; l++) total += sum[l];
      to[i * ld] = total;
    }
  }
  void multiply_dots(int64_t i0, int64_t rows, int64_t j0, int64_t j1) const {
    while (j0 < j1) {
      const int64_t columns = least(WIDTH, j1 - j0);
      int64_t j = 0;
      for (; j + 4 <= columns; j += 4) {
        if (rows == 1) dot_four<1>(i0, j0 + j, c + j, WIDTH);
        else if (rows == 2) dot_four<2>(i0, j0 + j, c + j, WIDTH);
        else if (rows == 3) dot_four<3>(i0, j0 + j, c + j, WIDTH);
        else dot_four<4>(i0, j0 + j, c + j, WIDTH);
      }
      for (; j < columns; j++) dot_one(i0, rows, j0 + j, c + j, WIDTH);
      epilogue(context, c, WIDTH, i0, rows, j0, columns);
      j0 += columns;
    }
  }

  // ---- any rectangle -------------------------------------------------------------------------------------------------

  void multiply(int64_t i0, int64_t i1, int64_t j0, int64_t j1) const {
    if (i1 - i0 <= 4 && gemm.b_k == 1 && gemm.b_col != 1 && gemm.a_k == 1) {
      if (i0 < i1) multiply_dots(i0, i1 - i0, j0, j1);
    } else if (i1 - i0 <= FEW_ROWS && gemm.b_col == 1) {
      if (i0 < i1) multiply_few(i0, i1 - i0, j0, j1);
    } else {
      for (int64_t i = i0; i < i1; i += SHLO_GEMM_ROWS)
        for (int64_t j = j0; j < j1; j += WIDTH)
          multiply_panel(i, least(i + SHLO_GEMM_ROWS, i1), j, least(WIDTH, j1 - j));
    }
  }
};

}  // namespace

static_assert(SHLO_GEMM_SCRATCH >= (DEPTH * (SHLO_REGISTER * SHLO_TILE_VECTORS + 8 * 8) +
                                    (SHLO_GEMM_ROWS + 1) * SHLO_REGISTER * SHLO_TILE_VECTORS),
              "the panel, the slab of A and the rows of C fit the scratch memory");

void shlo_gemm_f32(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                   ShloEpilogue epilogue, void* context) {
  Product<float>(gemm, scratch, epilogue, context).multiply(i0, i1, j0, j1);
}
void shlo_gemm_f64(const ShloGemm* gemm, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void* scratch,
                   ShloEpilogue epilogue, void* context) {
  Product<double>(gemm, scratch, epilogue, context).multiply(i0, i1, j0, j1);
}
