// LAPACK on batches of row-major matrices, see linear_algebra/lapack.h. The runtime sets the addresses of the routines.
#include "linear_algebra/lapack.h"

#define ROUTINES(X)                                                                                                  \
  X(POTRF, "potrf", "potrf") X(TRSM, "trsm", "trsm") X(GETRF, "getrf", "getrf") X(GEQRF, "geqrf", "geqrf")           \
  X(GEQP3, "geqp3", "geqp3") X(ORGQR, "orgqr", "ungqr") X(ORMQR, "ormqr", "unmqr") X(GESDD, "gesdd", "gesdd")        \
  X(GESVD, "gesvd", "gesvd") X(SYEVD, "syevd", "heevd") X(SYTRD, "sytrd", "hetrd") X(GEEV, "geev", "geev")           \
  X(GEES, "gees", "gees") X(GEHRD, "gehrd", "gehrd") X(GTSV, "gtsv", "gtsv")
#define NUMBER(routine, real, complex) routine,
#define NAMES(routine, real, complex) "s" real, "d" real, "c" complex, "z" complex,

enum Routine { ROUTINES(NUMBER) COUNT };

extern "C" {
const char* const shlo_lapack_names[] = {ROUTINES(NAMES) nullptr};
void* shlo_lapack_routines[4 * COUNT];
ShloBlasThreads* shlo_blas_threads;
}

namespace {

typedef int64_t i64;

template <class R>
struct Complex {
  R re, im;
};

template <class R>
Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
Complex<R> operator*(R a, Complex<R> b) {
  return {a * b.re, a * b.im};
}

template <class T>
struct Kind;
template <>
struct Kind<float> {
  typedef float Real;
  enum { NUMBER = 0, COMPLEX = 0 };
};
template <>
struct Kind<double> {
  typedef double Real;
  enum { NUMBER = 1, COMPLEX = 0 };
};
template <>
struct Kind<Complex<float>> {
  typedef float Real;
  enum { NUMBER = 2, COMPLEX = 1 };
};
template <>
struct Kind<Complex<double>> {
  typedef double Real;
  enum { NUMBER = 3, COMPLEX = 1 };
};
template <class T>
using Real = typename Kind<T>::Real;

// Calls a routine: all arguments are passed by address, without string lengths (SciPy's own wrappers add these).
template <class T, class... Arguments>
void call(Routine routine, Arguments... arguments) {
  ((void (*)(Arguments...))shlo_lapack_routines[4 * routine + Kind<T>::NUMBER])(arguments...);
}

// Consecutive arrays in scratch memory.
struct Scratch {
  const i64* array_bytes;
  char* next;
  Scratch(const ShloLapack* op, void* scratch) : array_bytes(op->array_bytes), next((char*)scratch) {}
  template <class T>
  T* take() {
    char* const found = next;
    next += *array_bytes++;
    return (T*)found;
  }
  // A workspace and its number of elements.
  template <class T>
  T* take(int* count) {
    *count = (int)(*array_bytes / (i64)sizeof(T));
    return take<T>();
  }
};

template <class T>
void copy(const T* from, i64 count, T* to) {
  if (from != to) __builtin_memcpy(to, from, count * sizeof(T));
}

// Transposes `from` to a columns x rows matrix, both row-major, in 16 x 16 blocks that stay in the cache.
template <class T>
void transpose(const T* from, i64 rows, i64 columns, T* to) {
  const i64 side = 16;
  for (i64 i0 = 0; i0 < rows; i0 += side) {
    const i64 i1 = i0 + side < rows ? i0 + side : rows;
    for (i64 j0 = 0; j0 < columns; j0 += side) {
      const i64 j1 = j0 + side < columns ? j0 + side : columns;
      for (i64 j = j0; j < j1; ++j)
        for (i64 i = i0; i < i1; ++i) to[j * rows + i] = from[i * columns + j];
    }
  }
}

template <class T>
void fill(T* to, i64 count, Real<T> value) {
  Real<T>* const parts = (Real<T>*)to;
  for (i64 i = 0; i < count * (i64)(sizeof(T) / sizeof(Real<T>)); ++i) parts[i] = value;
}

template <class T>
void identity(T* to, i64 n) {
  fill(to, n * n, 0);
  for (i64 i = 0; i < n; ++i) *(Real<T>*)(to + i * n + i) = 1;
}

template <class T>
bool is_finite(const T* from, i64 count) {
  const Real<T>* const parts = (const Real<T>*)from;
  bool finite = true;
  for (i64 i = 0; i < count * (i64)(sizeof(T) / sizeof(Real<T>)); ++i) finite &= parts[i] - parts[i] == 0;
  return finite;
}

// LAPACK's leading dimensions are at least 1.
int leading(i64 size) { return size > 0 ? (int)size : 1; }
i64 least(i64 a, i64 b) { return a < b ? a : b; }
// Option letters for the transposed matrix.
char other_triangle(char uplo) { return uplo == 'L' ? 'U' : 'L'; }
char other_side(char side) { return side == 'L' ? 'R' : 'L'; }

// (a) -> (l, info). A row-major lower triangle is a column-major upper one, and A = L L^H is A^T = (L^T)^H (L^T).
template <class T>
void potrf(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void*) {
  const int n = (int)op->n, ld = leading(n);
  const char uplo = other_triangle(op->options[0]);
  const i64 size = op->n * op->n;
  for (i64 b = begin; b < end; ++b) {
    T* const a = (T*)buffers[1] + b * size;
    copy((const T*)buffers[0] + b * size, size, a);
    call<T>(POTRF, &uplo, &n, a, &ld, (int*)buffers[2] + b);
  }
}

// (a) -> (l): the other triangle is 0; all NaN if the matrix is not positive definite, as in XLA. OpenBLAS accepts
// a NaN on the diagonal as a pivot; every later pivot is NaN then, so the last one is checked.
template <class T>
void cholesky(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void*) {
  const i64 n = op->n;
  const bool lower = op->options[0] == 'L';
  for (i64 b = begin; b < end; ++b) {
    int info = 0;
    T* const a = (T*)buffers[1] + b * n * n;
    void* const one[] = {(T*)buffers[0] + b * n * n, a, &info};
    potrf<T>(op, one, 0, 1, nullptr);
    const Real<T> last = n > 0 ? *(const Real<T>*)(a + n * n - 1) : 0;
    if (info != 0 || last != last) {
      fill(a, n * n, __builtin_nan(""));
      continue;
    }
    for (i64 i = 0; i < n; ++i) lower ? fill(a + i * n + i + 1, n - i - 1, 0) : fill(a + i * n, i, 0);
  }
}

// (a, b) -> (x). Solved as the transposed equation, with the other side and the other triangle.
template <class T>
void trsm(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void*) {
  const char side = other_side(op->options[0]), uplo = other_triangle(op->options[1]);
  const char trans = op->options[2], diag = op->options[3];
  const int rows = (int)op->n, columns = (int)op->m, ld = leading(rows), lda = leading(op->k);
  const i64 size = op->m * op->n;
  T alpha;
  fill(&alpha, 1, 0);
  *(Real<T>*)&alpha = 1;
  for (i64 b = begin; b < end; ++b) {
    T* const x = (T*)buffers[2] + b * size;
    copy((const T*)buffers[1] + b * size, size, x);
    const T* const a = (const T*)buffers[0] + b * op->k * op->k;
    if (size > 0) call<T>(TRSM, &side, &uplo, &trans, &diag, &rows, &columns, &alpha, a, &lda, x, &ld);
  }
}

// (a) -> (lu, pivots, info)
template <class T>
void getrf(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  T* const a = scratch.take<T>();
  const int m = (int)op->m, n = (int)op->n, ld = leading(m);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * m * n, m, n, a);
    call<T>(GETRF, &m, &n, a, &ld, (int*)buffers[2] + b * least(m, n), (int*)buffers[3] + b);
    transpose(a, n, m, (T*)buffers[1] + b * m * n);
  }
}

// (a) -> (reflectors and r, tau)
template <class T>
void geqrf(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count, info;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  const int m = (int)op->m, n = (int)op->n, ld = leading(m);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * m * n, m, n, a);
    call<T>(GEQRF, &m, &n, a, &ld, (T*)buffers[2] + b * least(m, n), work, &count, &info);
    transpose(a, n, m, (T*)buffers[1] + b * m * n);
  }
}

// (a, jpvt) -> (reflectors and r, jpvt, tau)
template <class T>
void geqp3(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count, info;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  Real<T>* const real_work = scratch.take<Real<T>>();
  const int m = (int)op->m, n = (int)op->n, ld = leading(m);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * m * n, m, n, a);
    int* const jpvt = (int*)buffers[3] + b * n;
    copy((const int*)buffers[1] + b * n, n, jpvt);
    T* const tau = (T*)buffers[4] + b * least(m, n);
    if constexpr (Kind<T>::COMPLEX)
      call<T>(GEQP3, &m, &n, a, &ld, jpvt, tau, work, &count, real_work, &info);
    else
      call<T>(GEQP3, &m, &n, a, &ld, jpvt, tau, work, &count, &info);
    transpose(a, n, m, (T*)buffers[2] + b * m * n);
  }
}

// (reflectors, tau) -> (q)
template <class T>
void orgqr(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count, info;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  const int m = (int)op->m, n = (int)op->n, k = (int)op->k, ld = leading(m);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * m * n, m, n, a);
    call<T>(ORGQR, &m, &n, &k, a, &ld, (const T*)buffers[1] + b * k, work, &count, &info);
    transpose(a, n, m, (T*)buffers[2] + b * m * n);
  }
}

// (reflectors, tau, c) -> (q c, or c q)
template <class T>
void ormqr(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count, info;
  T *const a = scratch.take<T>(), *const c = scratch.take<T>(), *const work = scratch.take<T>(&count);
  const char side = op->options[0], trans = op->options[1];
  const int m = (int)op->m, n = (int)op->n, k = (int)op->k, rows = side == 'L' ? m : n;
  const int ld = leading(rows), ldc = leading(m);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * rows * k, rows, k, a);
    transpose((const T*)buffers[2] + b * m * n, m, n, c);
    call<T>(ORMQR, &side, &trans, &m, &n, &k, a, &ld, (const T*)buffers[1] + b * k, c, &ldc, work, &count, &info);
    transpose(c, n, m, (T*)buffers[3] + b * m * n);
  }
}

// (a) -> (s, u, v^H, info), or (s, info) without vectors. LAPACK may not terminate if an element is infinite: then
// all results are NaN, and info is -4, as newer versions of LAPACK return for a NaN.
template <class T, Routine ROUTINE>
void decompose(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count;
  T *const a = scratch.take<T>(), *const u = scratch.take<T>(), *const v = scratch.take<T>();
  T* const work = scratch.take<T>(&count);
  Real<T>* const real_work = scratch.take<Real<T>>();
  int* const int_work = scratch.take<int>();
  const char job = op->options[0];
  const bool vectors = job != 'N';
  const i64 rank = least(op->m, op->n), columns = job == 'A' ? op->m : rank, rows = job == 'A' ? op->n : rank;
  const int m = (int)op->m, n = (int)op->n, ld = leading(m), ldv = leading(rows);
  for (i64 b = begin; b < end; ++b) {
    Real<T>* const s = (Real<T>*)buffers[1] + b * rank;
    int* const info = (int*)buffers[vectors ? 4 : 2] + b;
    transpose((const T*)buffers[0] + b * m * n, m, n, a);
    *info = 0;
    if (!is_finite(a, (i64)m * n)) {
      fill(s, rank, __builtin_nan(""));
      if (vectors) fill(u, m * columns, __builtin_nan("")), fill(v, rows * n, __builtin_nan(""));
      *info = -4;
    } else if (rank == 0) {  // LAPACK does not write the vectors
      if (job == 'A') identity(u, m), identity(v, n);
    } else if constexpr (ROUTINE == GESDD && Kind<T>::COMPLEX) {
      call<T>(GESDD, &job, &m, &n, a, &ld, s, u, &ld, v, &ldv, work, &count, real_work, int_work, info);
    } else if constexpr (ROUTINE == GESDD) {
      call<T>(GESDD, &job, &m, &n, a, &ld, s, u, &ld, v, &ldv, work, &count, int_work, info);
    } else if constexpr (Kind<T>::COMPLEX) {
      call<T>(GESVD, &job, &job, &m, &n, a, &ld, s, u, &ld, v, &ldv, work, &count, real_work, info);
    } else {
      call<T>(GESVD, &job, &job, &m, &n, a, &ld, s, u, &ld, v, &ldv, work, &count, info);
    }
    if (vectors) {
      transpose(u, columns, m, (T*)buffers[2] + b * m * columns);
      transpose(v, n, rows, (T*)buffers[3] + b * rows * n);
    }
  }
}
template <class T>
void gesdd(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  decompose<T, GESDD>(op, buffers, begin, end, memory);
}
template <class T>
void gesvd(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  decompose<T, GESVD>(op, buffers, begin, end, memory);
}

// (a) -> (vectors, values, info), or (values, info)
template <class T>
void syevd(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count, real_count, int_count;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  Real<T>* const real_work = scratch.take<Real<T>>(&real_count);
  int* const int_work = scratch.take<int>(&int_count);
  const char job = op->options[0], uplo = op->options[1];
  const bool vectors = job != 'N';
  const int n = (int)op->n, ld = leading(n);
  for (i64 b = begin; b < end; ++b) {
    Real<T>* const w = (Real<T>*)buffers[vectors ? 2 : 1] + b * n;
    int* const info = (int*)buffers[vectors ? 3 : 2] + b;
    transpose((const T*)buffers[0] + b * n * n, n, n, a);
    if constexpr (Kind<T>::COMPLEX)
      call<T>(SYEVD, &job, &uplo, &n, a, &ld, w, work, &count, real_work, &real_count, int_work, &int_count, info);
    else
      call<T>(SYEVD, &job, &uplo, &n, a, &ld, w, work, &count, int_work, &int_count, info);
    if (vectors) transpose(a, n, n, (T*)buffers[1] + b * n * n);
  }
}

// (a) -> (reflectors, diagonal, off-diagonal, tau, info)
template <class T>
void sytrd(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  const char uplo = op->options[0];
  const int n = (int)op->n, ld = leading(n);
  const i64 off = n > 0 ? n - 1 : 0;
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * n * n, n, n, a);
    Real<T>*const d = (Real<T>*)buffers[2] + b * n, *const e = (Real<T>*)buffers[3] + b * off;
    call<T>(SYTRD, &uplo, &n, a, &ld, d, e, (T*)buffers[4] + b * off, work, &count, (int*)buffers[5] + b);
    transpose(a, n, n, (T*)buffers[1] + b * n * n);
  }
}

// Eigenvectors of a real matrix: a pair of conjugate eigenvalues has two columns, re and im of the first eigenvector.
template <class R>
void unpack(const R* columns, const R* imaginary, i64 n, Complex<R>* vectors) {
  for (i64 j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    for (i64 i = 0; i < n; ++i) {
      const R re = columns[j * n + i], im = pair ? columns[(j + 1) * n + i] : 0;
      vectors[i * n + j] = {re, im};
      if (pair) vectors[i * n + j + 1] = {re, -im};
    }
    j += pair;
  }
}

// (a) -> (eigenvalues, left vectors, right vectors, info), only requested vectors; the eigenvalues of a real matrix are
// two results, re and im. For a non-finite matrix, info is -4, as in jaxlib: geev would not return.
template <class T>
void geev(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count;
  T *const a = scratch.take<T>(), *const left = scratch.take<T>(), *const right = scratch.take<T>();
  T* const work = scratch.take<T>(&count);
  Real<T>* const real_work = scratch.take<Real<T>>();
  const int n = (int)op->n, ld = leading(n);
  const i64 size = op->n * op->n;
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * size, n, n, a);
    void* const* result = buffers + 1;
    T* const w = (T*)*result++ + b * n;
    T* const wi = Kind<T>::COMPLEX ? nullptr : (T*)*result++ + b * n;
    Complex<Real<T>>* vectors[2];
    for (int side = 0; side < 2; ++side)
      vectors[side] = op->options[side] == 'V' ? (Complex<Real<T>>*)*result++ + b * size : nullptr;
    int* const info = (int*)*result + b;
    *info = -4;
    if (is_finite(a, size)) {
      const char *const jobvl = op->options, *const jobvr = op->options + 1;
      if constexpr (Kind<T>::COMPLEX)
        call<T>(GEEV, jobvl, jobvr, &n, a, &ld, w, left, &ld, right, &ld, work, &count, real_work, info);
      else
        call<T>(GEEV, jobvl, jobvr, &n, a, &ld, w, wi, left, &ld, right, &ld, work, &count, info);
    }
    if (*info != 0) {
      fill(w, n, __builtin_nan(""));
      if (wi) fill(wi, n, __builtin_nan(""));
    }
    for (int side = 0; side < 2; ++side) {
      if (!vectors[side]) continue;
      if (*info != 0)
        fill(vectors[side], size, __builtin_nan(""));
      else if constexpr (Kind<T>::COMPLEX)
        transpose(side ? right : left, n, n, vectors[side]);
      else
        unpack(side ? right : left, wi, n, vectors[side]);
    }
  }
}

// (a) -> (t, vectors, eigenvalues, number of selected ones, info): vectors if requested; eigenvalues as of geev.
template <class T>
void gees(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count;
  T *const a = scratch.take<T>(), *const vectors = scratch.take<T>(), *const work = scratch.take<T>(&count);
  Real<T>* const real_work = scratch.take<Real<T>>();
  const char job = op->options[0], sort = 'N';
  const int n = (int)op->n, ld = leading(n);
  const i64 size = op->n * op->n;
  void *const select = nullptr, *const bwork = nullptr;  // not read without sorting
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * size, n, n, a);
    void* const* result = buffers + 2;
    T* const z = job == 'V' ? (T*)*result++ + b * size : nullptr;
    T* const w = (T*)*result++ + b * n;
    if constexpr (Kind<T>::COMPLEX) {
      int *const selected = (int*)result[0] + b, *const info = (int*)result[1] + b;
      call<T>(GEES, &job, &sort, select, &n, a, &ld, selected, w, vectors, &ld, work, &count, real_work, bwork, info);
    } else {
      T* const wi = (T*)*result++ + b * n;
      int *const selected = (int*)result[0] + b, *const info = (int*)result[1] + b;
      call<T>(GEES, &job, &sort, select, &n, a, &ld, selected, w, wi, vectors, &ld, work, &count, bwork, info);
    }
    transpose(a, n, n, (T*)buffers[1] + b * size);
    if (z) transpose(vectors, n, n, z);
  }
}

// (a) -> (reflectors and h, tau, info), of the rows and columns from m to k (from 1)
template <class T>
void gehrd(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  int count;
  T *const a = scratch.take<T>(), *const work = scratch.take<T>(&count);
  const int n = (int)op->n, low = (int)op->m, high = (int)op->k, ld = leading(n);
  for (i64 b = begin; b < end; ++b) {
    transpose((const T*)buffers[0] + b * n * n, n, n, a);
    T* const tau = (T*)buffers[2] + b * (n > 0 ? n - 1 : 0);
    call<T>(GEHRD, &n, &low, &high, a, &ld, tau, work, &count, (int*)buffers[3] + b);
    transpose(a, n, n, (T*)buffers[1] + b * n * n);
  }
}

// (dl, d, du, b) -> (dl, d, du, x, info); the first element of dl and the last of du are unused
template <class T>
void gtsv(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  T* const x = scratch.take<T>();
  const int n = (int)op->m, columns = (int)op->n, ld = leading(n);
  const i64 size = op->m * op->n;
  for (i64 b = begin; b < end; ++b) {
    T* diagonals[3];
    for (int k = 0; k < 3; ++k) {
      diagonals[k] = (T*)buffers[4 + k] + b * n;
      copy((const T*)buffers[k] + b * n, n, diagonals[k]);
    }
    transpose((const T*)buffers[3] + b * size, n, columns, x);
    int* const info = (int*)buffers[8] + b;
    call<T>(GTSV, &n, &columns, diagonals[0] + 1, diagonals[1], diagonals[2], x, &ld, info);
    transpose(x, columns, n, (T*)buffers[7] + b * size);
  }
}

float modulus(float x) { return __builtin_fabsf(x); }
double modulus(double x) { return __builtin_fabs(x); }
// Scaled by the larger part, to avoid overflow.
template <class R>
R modulus(Complex<R> x) {
  const R a = modulus(x.re), b = modulus(x.im), large = a > b ? a : b, small = a > b ? b : a;
  if (!(large > 0)) return large + small;
  return large * (R)__builtin_sqrt(1 + (small / large) * (small / large));
}

float real_part(float x) { return x; }
double real_part(double x) { return x; }
template <class R>
R real_part(Complex<R> x) {
  return x.re;
}

float reciprocal(float x) { return 1 / x; }
double reciprocal(double x) { return 1 / x; }
// Smith, "Algorithm 116: complex division" (1962).
template <class R>
Complex<R> reciprocal(Complex<R> x) {
  if (modulus(x.re) >= modulus(x.im)) {
    const R ratio = x.im / x.re, size = x.re + x.im * ratio;
    return {1 / size, -ratio / size};
  }
  const R ratio = x.re / x.im, size = x.re * ratio + x.im;
  return {ratio / size, -1 / size};
}

template <class T>
T number(Real<T> x) {
  T found;
  fill(&found, 1, 0);
  *(Real<T>*)&found = x;
  return found;
}

template <class R>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float TINY = __FLT_MIN__, EPSILON = __FLT_EPSILON__;
};
template <>
struct Limits<double> {
  static constexpr double TINY = __DBL_MIN__, EPSILON = __DBL_EPSILON__;
};

// Moves a pivot away from 0 until neither its reciprocal nor a row divided by it overflows: LAPACK's lagts with JOB = -1.
// `step` is the first step; each further step is twice as long.
template <class T>
T safe_pivot(T pivot, T* row, i64 columns, Real<T> step) {
  typedef Real<T> R;
  const R tiny = Limits<R>::TINY, huge = 1 / tiny;
  R size = modulus(pivot), largest = 0;
  if (!(size < 1)) return pivot;
  for (i64 j = 0; j < columns; ++j) {
    const R x = modulus(row[j]);
    largest = x > largest ? x : largest;
  }
  step = __builtin_copysign(step > tiny ? step : tiny, (double)real_part(pivot));
  while (size < 1) {
    if (size == 0 || (size < tiny ? largest * tiny > size : largest > size * huge)) {
      pivot = pivot + number<T>(step);
      step *= 2;
      size = modulus(pivot);
    } else if (size < tiny) {
      for (i64 j = 0; j < columns; ++j) row[j] = huge * row[j];
      return huge * pivot;
    } else {
      break;
    }
  }
  return pivot;
}

// One row of the triangular factor: the diagonal and two bands above it.
template <class T>
struct Bands {
  T at[3];
};

// Eliminates the subdiagonal: each row with the next one, in the order that has the larger pivot relative to its row
// (LAPACK's lagtf). Returns the largest modulus in the factor.
template <class T>
Real<T> eliminate(const T* lower, const T* diagonal, const T* upper, i64 n, i64 columns, Bands<T>* u, T* x) {
  typedef Real<T> R;
  const T zero = number<T>(0);
  R largest = 0, scale = 0;
  for (i64 k = 0; k < n; ++k) {
    const T above = k < n - 1 ? upper[k] : zero;
    const R own = modulus(diagonal[k]) + modulus(above);
    const R below = k > 0 ? modulus(lower[k]) : 0, size = own + below;
    u[k] = {{diagonal[k], above, zero}};
    if (below == 0) {
      scale = size;
      continue;
    }
    T* const before = u[k - 1].at;
    T *const first = x + (k - 1) * columns, *const second = first + columns;
    if (below / size <= modulus(before[0]) / scale) {
      const T factor = lower[k] * reciprocal(before[0]);
      u[k].at[0] = diagonal[k] - factor * before[1];
      for (i64 j = 0; j < columns; ++j) second[j] = second[j] - factor * first[j];
      scale = size;
    } else {
      const T factor = before[0] * reciprocal(lower[k]), next = before[1];
      u[k - 1] = {{lower[k], diagonal[k], above}};
      u[k] = {{next - factor * diagonal[k], zero - factor * above, zero}};
      for (i64 j = 0; j < columns; ++j) {
        const T other = second[j];
        second[j] = first[j] - factor * other;
        first[j] = other;
      }
      scale = modulus(u[k].at[0]) + modulus(u[k].at[1]);
    }
  }
  for (i64 k = 0; k < n; ++k)
    for (T one : u[k].at) {
      const R size = modulus(one);
      largest = size > largest ? size : largest;
    }
  return largest;
}

// (dl, d, du, b) -> (x): a tridiagonal system, possibly singular, as jaxlib solves it for inverse iteration
template <class T>
void gtsv_perturbed(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void* memory) {
  Scratch scratch(op, memory);
  Bands<T>* const u = (Bands<T>*)scratch.take<T>();
  const i64 n = op->m, columns = op->n, size = n * columns;
  for (i64 b = begin; b < end; ++b) {
    const T* diagonals[3];
    for (int k = 0; k < 3; ++k) diagonals[k] = (const T*)buffers[k] + b * n;
    T* const x = (T*)buffers[4] + b * size;
    copy((const T*)buffers[3] + b * size, size, x);
    const Real<T> largest = eliminate(diagonals[0], diagonals[1], diagonals[2], n, columns, u, x);
    for (i64 k = n - 1; k >= 0; --k) {
      T* const row = x + k * columns;
      for (int next = 1; next < 3 && k + next < n; ++next)
        for (i64 j = 0; j < columns; ++j) row[j] = row[j] - u[k].at[next] * row[next * columns + j];
      const T inverse = reciprocal(safe_pivot(u[k].at[0], row, columns, Limits<Real<T>>::EPSILON * largest));
      for (i64 j = 0; j < columns; ++j) row[j] = inverse * row[j];
    }
  }
}

// (r, w) -> (r', w'): r'^T r' = r^T r + w w^T, by a rotation for each row (LINPACK's chud; real numbers)
template <class T>
void cholesky_update(const ShloLapack* op, void* const* buffers, i64 begin, i64 end, void*) {
  typedef Real<T> R;
  const i64 n = op->n;
  for (i64 b = begin; b < end; ++b) {
    T *const factor = (T*)buffers[2] + b * n * n, *const w = (T*)buffers[3] + b * n;
    copy((const T*)buffers[0] + b * n * n, n * n, factor);
    copy((const T*)buffers[1] + b * n, n, w);
    for (i64 k = 0; k < n; ++k) {
      T* const row = factor + k * n;
      R x = real_part(row[k]), y = real_part(w[k]);
      if (y == 0) continue;
      const R large = modulus(x) > modulus(y) ? modulus(x) : modulus(y);
      x /= large;
      y /= large;
      const R length = (R)__builtin_sqrt((double)(x * x + y * y)), c = x / length, s = y / length;
      for (i64 j = 0; j < n; ++j) {
        const T one = row[j], other = w[j];
        row[j] = c * one + s * other;
        w[j] = c * other - s * one;
      }
    }
  }
}

// Reference-counted: sets the library's number of threads to one for the first user, and restores it after the last.
void use_one_thread(ShloBlasThreads* blas, int change) {
  if (!blas || !blas->set) return;
  while (__atomic_exchange_n(&blas->lock, 1, __ATOMIC_ACQUIRE)) {
  }
  if (change > 0 && blas->users == 0) {
    blas->threads = blas->get();
    blas->set(1);
  }
  blas->users += change;
  if (blas->users == 0) blas->set((int)blas->threads);
  __atomic_store_n(&blas->lock, 0, __ATOMIC_RELEASE);
}

}  // namespace

#define DEFINE(name)                                                                                                 \
  void shlo_s##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch) {         \
    name<float>(op, buffers, begin, end, scratch);                                                                   \
  }                                                                                                                  \
  void shlo_d##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch) {         \
    name<double>(op, buffers, begin, end, scratch);                                                                  \
  }                                                                                                                  \
  void shlo_c##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch) {         \
    name<Complex<float>>(op, buffers, begin, end, scratch);                                                          \
  }                                                                                                                  \
  void shlo_z##name(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void* scratch) {         \
    name<Complex<double>>(op, buffers, begin, end, scratch);                                                         \
  }

extern "C" {

SHLO_LAPACK_KERNELS(DEFINE)

void shlo_pivots_to_permutation(const ShloLapack* op, void* const* buffers, int64_t begin, int64_t end, void*) {
  for (int64_t b = begin; b < end; ++b) {
    const int* const pivots = (const int*)buffers[0] + b * op->k;
    int* const rows = (int*)buffers[1] + b * op->n;
    for (int64_t i = 0; i < op->n; ++i) rows[i] = (int)i;
    for (int64_t i = 0; i < op->k; ++i) {
      const int64_t j = pivots[i];
      if (j < 0 || j >= op->n) continue;
      const int row = rows[i];
      rows[i] = rows[j];
      rows[j] = row;
    }
  }
}

void shlo_lapack_batch(const ShloRuntime* runtime, ShloKernel part, void* const* buffers, const int64_t* dims,
                       int64_t matrices, int64_t grain, int64_t scratch_bytes, void* scratch) {
  if (matrices < 2 * grain || matrices < 2 || 2 * matrices < runtime->threads || runtime->threads == 1) {
    part(runtime, buffers, dims, 0, matrices, scratch);
    return;
  }
  use_one_thread(shlo_blas_threads, 1);
  runtime->parallel(runtime, part, buffers, dims, matrices, grain, scratch_bytes);
  use_one_thread(shlo_blas_threads, -1);
}

}  // extern "C"
