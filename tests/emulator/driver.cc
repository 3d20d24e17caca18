// The functions of `ShloCuda` (device/call/driver.h) on the emulator: memory, launches, graphs, and cuBLAS' product.
//
// Everything runs at once; a stream only says how. Buffers are known: every address that comes in must lie in one.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulator.h"

namespace {

constexpr size_t GUARD = 256, ALIGNED = 256;
constexpr unsigned char POISON = 0xff, GUARDED = 0xa5;
constexpr int ILLEGAL_ADDRESS = 700, INVALID_CONTEXT = 201, STREAM_CAPTURE_UNSUPPORTED = 900;  // CUresult
constexpr int CUBLAS_INVALID_VALUE = 7, CUBLAS_EXECUTION_FAILED = 13, CUBLAS_NOT_SUPPORTED = 15;  // cublasStatus_t

struct Buffer {
  char* start;
  size_t size;
  char* memory;  // with the guards
  size_t whole;
};

std::recursive_mutex guard;
std::map<uintptr_t, Buffer> buffers;  // by where they start

typedef std::vector<std::function<int()>> Graph;

struct Stream {
  EmuSettings settings;
  Graph* recorded;  // where commands go that are recorded instead of run
};

const Buffer* find(uint64_t address) {
  auto after = buffers.upper_bound((uintptr_t)address);
  if (after == buffers.begin()) return nullptr;
  const Buffer& buffer = (--after)->second;
  return address <= (uintptr_t)buffer.start + buffer.size ? &buffer : nullptr;
}

bool holds(uint64_t address, size_t size) {
  const Buffer* const buffer = find(address);
  return buffer && address + size <= (uintptr_t)buffer->start + buffer->size;
}

// The first buffer around which something was written.
const Buffer* overrun() {
  for (const auto& [_, buffer] : buffers)
    for (size_t k = 0; k < GUARD; ++k)
      if ((unsigned char)buffer.start[-1 - (ptrdiff_t)k] != GUARDED || (unsigned char)buffer.start[buffer.size + k] != GUARDED)
        return &buffer;
  return nullptr;
}

int run(Stream* stream, std::function<int()> command) {
  if (!stream->recorded) return command();
  stream->recorded->push_back(std::move(command));
  return 0;
}

int launch(const EmuKernel* kernel, dim3 grid, dim3 block, unsigned shared, void** params, const EmuSettings& settings) {
  const std::lock_guard<std::recursive_mutex> lock(guard);
  for (unsigned k = 0; k < kernel->count; ++k)
    if (kernel->params[k].is_pointer && !find(*(uint64_t*)params[k]))
      return emu_refuse(ILLEGAL_ADDRESS, "%s: argument %u is %p, which lies in no buffer", kernel->name, k, *(void**)params[k]);
  if (const int code = emu_run(kernel, grid, block, shared, params, &settings)) return code;
  if (const Buffer* const buffer = overrun()) {
    memset(buffer->start - GUARD, GUARDED, GUARD);
    memset(buffer->start + buffer->size, GUARDED, GUARD);
    return emu_refuse(ILLEGAL_ADDRESS, "%s has written outside of a buffer of %zu bytes", kernel->name, buffer->size);
  }
  return 0;
}

// ---- products ----------------------------------------------------------------------------------------------------------

enum { F32 = 0, F64 = 1, F16 = 2, C64 = 4, C128 = 5, BF16 = 14 };                // cudaDataType_t
enum { COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };                   // cublasComputeType_t

float widen_half(uint16_t half) {
  const unsigned exponent = half >> 10 & 31, mantissa = half & 1023;
  const float size = exponent == 31 ? (mantissa ? NAN : INFINITY)
                     : exponent     ? ldexpf((float)(mantissa + 1024), (int)exponent - 25)
                                    : ldexpf((float)mantissa, -24);
  return half >> 15 ? -size : size;
}

uint16_t narrow_half(float x) {
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  const float size = fabsf(x);
  if (size != size) return 0x7e00;
  if (size >= 65520.f) return sign | 0x7c00;
  if (size < 0x1p-14f) return sign | (uint16_t)nearbyintf(size * 0x1p24f);
  int exponent;
  const float mantissa = nearbyintf(ldexpf(frexpf(size, &exponent), 11));  // in [1024, 2048]
  return (uint16_t)(sign | ((unsigned)((exponent + 13) << 10) + (unsigned)mantissa));
}

float widen_bfloat(uint16_t x) { return __builtin_bit_cast(float, (uint32_t)x << 16); }
uint16_t narrow_bfloat(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return x != x ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float round_tf32(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return x - x != 0 ? x : __builtin_bit_cast(float, (bits + 0x1000) & 0xffffe000u);
}

// Element k of real parts and imaginary parts in turn.
double load(const void* p, int type, int64_t k) {
  switch (type) {
    case F32: case C64: return ((const float*)p)[k];
    case F64: case C128: return ((const double*)p)[k];
    case F16: return widen_half(((const uint16_t*)p)[k]);
    default: return widen_bfloat(((const uint16_t*)p)[k]);
  }
}
void store(void* p, int type, int64_t k, double x) {
  switch (type) {
    case F32: case C64: ((float*)p)[k] = (float)x; break;
    case F64: case C128: ((double*)p)[k] = x; break;
    case F16: ((uint16_t*)p)[k] = narrow_half((float)x); break;
    default: ((uint16_t*)p)[k] = narrow_bfloat((float)x);
  }
}
int64_t size_of(int type) { return type == F32 ? 4 : type == F64 || type == C64 ? 8 : type == C128 ? 16 : 2; }
bool is_complex(int type) { return type == C64 || type == C128; }

// A column-major matrix, as it is or transposed.
struct Matrix {
  const char* start;
  int type, transposed;
  int64_t rows, columns, leading, stride;

  int64_t stored_rows() const { return transposed ? columns : rows; }
  int64_t stored_columns() const { return transposed ? rows : columns; }
  bool valid() const { return leading >= (stored_rows() > 1 ? stored_rows() : 1); }
  bool inside(int64_t batch) const {
    if (rows == 0 || columns == 0) return true;
    const int64_t last = (batch - 1) * stride + (stored_columns() - 1) * leading + stored_rows();
    return holds((uint64_t)start, (size_t)(last * size_of(type)));
  }
  int64_t at(int64_t row, int64_t column) const { return transposed ? column + row * leading : row + column * leading; }
};

template <class T>
struct Parts {
  std::vector<T> real, imaginary;
};

// A matrix in rows, or its transpose, in the type that is computed in.
template <class T>
Parts<T> unpack(const Matrix& m, int64_t index, bool round) {
  const int words = is_complex(m.type) ? 2 : 1;
  const char* const start = m.start + index * m.stride * size_of(m.type);
  Parts<T> parts;
  const auto fill = [&](std::vector<T>& part, int word) {
    part.resize((size_t)(m.rows * m.columns));
    for (int64_t r = 0; r < m.rows; ++r)
      for (int64_t c = 0; c < m.columns; ++c) {
        const T x = (T)load(start, m.type, words * m.at(r, c) + word);
        part[(size_t)(r * m.columns + c)] = round ? (T)round_tf32((float)x) : x;
      }
  };
  fill(parts.real, 0);
  if (words == 2) fill(parts.imaginary, 1);
  return parts;
}

// sums += sign * a b, all in rows.
template <class T>
void accumulate(std::vector<T>& sums, const std::vector<T>& a, const std::vector<T>& b, T sign, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const T x = sign * a[(size_t)(i * k + p)];
      const T* const row = b.data() + p * n;
      T* const out = sums.data() + i * n;
      for (int64_t j = 0; j < n; ++j) out[j] += x * row[j];
    }
}

template <class T>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, int64_t index, const T* alpha, const T* beta, bool round) {
  const int64_t m = a.rows, k = a.columns, n = b.columns;
  const Parts<T> x = unpack<T>(a, index, round), y = unpack<T>(b, index, round);
  Parts<T> sums;
  const bool complex = is_complex(c.type);
  sums.real.resize((size_t)(m * n));
  accumulate<T>(sums.real, x.real, y.real, 1, m, n, k);
  if (complex) {
    sums.imaginary.resize((size_t)(m * n));
    accumulate<T>(sums.real, x.imaginary, y.imaginary, -1, m, n, k);
    accumulate<T>(sums.imaginary, x.real, y.imaginary, 1, m, n, k);
    accumulate<T>(sums.imaginary, x.imaginary, y.real, 1, m, n, k);
  }
  char* const start = const_cast<char*>(c.start) + index * c.stride * size_of(c.type);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const size_t from = (size_t)(i * n + j);
      const int64_t to = (complex ? 2 : 1) * c.at(i, j);
      const T re = sums.real[from], im = complex ? sums.imaginary[from] : 0;
      const bool adds = beta[0] != 0 || (complex && beta[1] != 0);  // without, C is not read: it may hold anything
      const T old_re = adds ? (T)load(start, c.type, to) : 0, old_im = adds && complex ? (T)load(start, c.type, to + 1) : 0;
      if (!complex) {
        store(start, c.type, to, alpha[0] * re + (adds ? beta[0] * old_re : 0));
        continue;
      }
      store(start, c.type, to, alpha[0] * re - alpha[1] * im + (adds ? beta[0] * old_re - beta[1] * old_im : 0));
      store(start, c.type, to + 1, alpha[0] * im + alpha[1] * re + (adds ? beta[0] * old_im + beta[1] * old_re : 0));
    }
}

// Which types cuBLAS takes together.
bool supported(int compute, int a, int b, int c) {
  if (a != b) return false;
  if (compute == COMPUTE_F64) return c == a && (a == F64 || a == C128);
  if (compute == COMPUTE_TF32) return c == a && (a == F32 || a == C64);
  if (compute != COMPUTE_F32) return false;
  return (c == a && (a == F32 || a == C64 || a == F16 || a == BF16)) || (c == F32 && (a == F16 || a == BF16));
}

}  // namespace

extern "C" {

// ---- memory

// Between two pages that cannot be touched, as far behind as the alignment lets it be.
void* emu_allocate(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (size + 2 * GUARD + ALIGNED + page - 1) / page * page;
  char* const memory = (char*)mmap(nullptr, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory + page, body, PROT_READ | PROT_WRITE);
  char* const start = (char*)((uintptr_t)(memory + page + body - GUARD - size) & ~(uintptr_t)(ALIGNED - 1));
  memset(start - GUARD, GUARDED, GUARD);
  memset(start, POISON, size);
  memset(start + size, GUARDED, GUARD);
  const std::lock_guard<std::recursive_mutex> lock(guard);
  buffers[(uintptr_t)start] = {start, size, memory, body + 2 * page};
  return start;
}

void emu_free(void* start) {
  const std::lock_guard<std::recursive_mutex> lock(guard);
  const auto found = buffers.find((uintptr_t)start);
  if (found == buffers.end()) return;
  munmap(found->second.memory, found->second.whole);
  buffers.erase(found);
}

// ---- streams and graphs

Stream* emu_stream(const EmuSettings* settings) { return new Stream{*settings, nullptr}; }
void emu_drop_stream(Stream* stream) { delete stream; }

Graph* emu_begin_recording(Stream* stream) { return stream->recorded = new Graph; }
void emu_end_recording(Stream* stream) { stream->recorded = nullptr; }
int emu_replay(const Graph* graph) {
  for (const auto& command : *graph)
    if (const int code = command()) return code;
  return 0;
}
void emu_drop_graph(Graph* graph) { delete graph; }

// ---- the table

int emu_launch(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
               unsigned block_z, unsigned shared, void* stream, void** params, void**) {
  const EmuKernel* const kernel = (const EmuKernel*)function;
  Stream* const on = (Stream*)stream;
  std::vector<std::string> copies;  // the arguments may be gone when a graph runs
  for (unsigned k = 0; k < kernel->count; ++k) copies.emplace_back((const char*)params[k], kernel->params[k].size);
  return run(on, [=]() mutable {
    std::vector<void*> addresses;
    for (std::string& copy : copies) addresses.push_back(copy.data());
    return launch(kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, addresses.data(), on->settings);
  });
}

int emu_copy(uint64_t target, uint64_t source, size_t bytes, void* stream) {
  return run((Stream*)stream, [=] {
    const std::lock_guard<std::recursive_mutex> lock(guard);
    if (!holds(target, bytes) || !holds(source, bytes))
      return emu_refuse(ILLEGAL_ADDRESS, "a copy of %zu bytes from %p to %p: not inside of buffers", bytes, (void*)source, (void*)target);
    memmove((void*)target, (const void*)source, bytes);
    return 0;
  });
}

int emu_read(void* target, uint64_t source, size_t bytes, void* stream) {
  return run((Stream*)stream, [=] {
    const std::lock_guard<std::recursive_mutex> lock(guard);
    if (!holds(source, bytes))
      return emu_refuse(ILLEGAL_ADDRESS, "a read of %zu bytes at %p: not inside of a buffer", bytes, (void*)source);
    memcpy(target, (const void*)source, bytes);
    return 0;
  });
}

int emu_write(uint64_t target, const void* source, size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(guard);
  if (!holds(target, bytes)) return emu_refuse(ILLEGAL_ADDRESS, "a write of %zu bytes at %p: not inside of a buffer", bytes, (void*)target);
  memcpy((void*)target, source, bytes);
  return 0;
}

int emu_synchronize(void* stream) {
  return ((Stream*)stream)->recorded ? emu_refuse(STREAM_CAPTURE_UNSUPPORTED, "a stream that is captured cannot be waited for") : 0;
}

int emu_fill(uint64_t target, unsigned char byte, size_t bytes, void* stream) {
  return run((Stream*)stream, [=] {
    const std::lock_guard<std::recursive_mutex> lock(guard);
    if (!holds(target, bytes))
      return emu_refuse(ILLEGAL_ADDRESS, "a fill of %zu bytes at %p: not inside of a buffer", bytes, (void*)target);
    memset((void*)target, byte, bytes);
    return 0;
  });
}

int emu_set_stream(void* handle, void* stream) {
  *(void**)handle = stream;
  return 0;
}

// ---- what else XLA's handlers need: there is one GPU, and one context

static int the_context;
static thread_local int entered;

int emu_stream_context(void*, void** context) {
  *context = &the_context;
  return 0;
}

int emu_enter(void* context) {
  if (context != &the_context) return emu_refuse(INVALID_CONTEXT, "%p is no context", context);
  entered++;
  return 0;
}

int emu_leave(void** context) {
  if (entered == 0) return emu_refuse(INVALID_CONTEXT, "no context is current");
  entered--;
  *context = &the_context;
  return 0;
}

int emu_entered() { return entered; }

int emu_error_name(int, const char** text) {
  *text = "EMULATED_ERROR";
  return 0;
}

int emu_error_text(int, const char** text) {
  *text = emu_error();
  return 0;
}

int emu_create_cublas(void** handle) {
  *handle = new void*();
  return 0;
}

int emu_gemm(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
             int a_type, int64_t lda, long long a_stride, const void* b, int b_type, int64_t ldb, long long b_stride,
             const void* beta, void* c, int c_type, int64_t ldc, long long c_stride, int64_t batch, int compute, int) {
  const Matrix first = {(const char*)a, a_type, transa, m, k, lda, a_stride};
  const Matrix second = {(const char*)b, b_type, transb, k, n, ldb, b_stride};
  const Matrix result = {(const char*)c, c_type, 0, m, n, ldc, c_stride};
  if (m < 0 || n < 0 || k < 0 || batch < 0 || !first.valid() || !second.valid() || !result.valid())
    return emu_refuse(CUBLAS_INVALID_VALUE, "product of %lld x %lld by %lld x %lld with leading dimensions %lld, %lld, %lld",
                      (long long)m, (long long)k, (long long)k, (long long)n, (long long)lda, (long long)ldb, (long long)ldc);
  if (!supported(compute, a_type, b_type, c_type))
    return emu_refuse(CUBLAS_NOT_SUPPORTED, "product of types %d and %d to %d, computed in %d", a_type, b_type, c_type, compute);
  double numbers[4] = {};  // alpha and beta may be gone when a graph runs
  const size_t scalar = (compute == COMPUTE_F64 ? 8 : 4) * (is_complex(c_type) ? 2 : 1);
  memcpy(numbers, alpha, scalar);
  memcpy(numbers + 2, beta, scalar);
  return run(*(Stream**)handle, [=] {
    const std::lock_guard<std::recursive_mutex> lock(guard);
    if (m == 0 || n == 0 || batch == 0) return 0;
    if (!first.inside(batch) || !second.inside(batch) || !result.inside(batch))
      return emu_refuse(CUBLAS_EXECUTION_FAILED, "product of %lld x %lld by %lld x %lld: a matrix is not inside of its buffer",
                        (long long)m, (long long)k, (long long)k, (long long)n);
    for (int64_t index = 0; index < batch; ++index) {
      if (compute == COMPUTE_F64) multiply<double>(first, second, result, index, numbers, numbers + 2, false);
      else multiply<float>(first, second, result, index, (const float*)numbers, (const float*)(numbers + 2), compute == COMPUTE_TF32);
    }
    return 0;
  });
}
}
