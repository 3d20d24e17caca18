// The thread pool that kernels are shared out on, and the check of a call's arrays. Built once, loaded once.
#include "runtime.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

namespace {

constexpr int64_t kLine = 64;          // bytes of a cache line
constexpr int64_t kMaxThreads = 256;
constexpr int64_t kPiecesPerThread = 4;  // more balance the load, fewer repeat less set-up inside kernels
constexpr int kSpins = 1000;           // about 20 to 40 microseconds: shorter than a wake-up, longer than most gaps

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// --- memory private to a thread -------------------------------------------------------------------------------------

struct Scratch {
  char* data;
  int64_t bytes;
};

pthread_key_t scratch_key;
pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

void free_scratch(void* held) {
  free(static_cast<Scratch*>(held)->data);
  free(held);
}

void make_scratch_key() { pthread_key_create(&scratch_key, free_scratch); }

void* scratch(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  pthread_once(&scratch_once, make_scratch_key);
  Scratch* held = static_cast<Scratch*>(pthread_getspecific(scratch_key));
  if (held == nullptr) {
    held = static_cast<Scratch*>(calloc(1, sizeof(Scratch)));
    pthread_setspecific(scratch_key, held);
  }
  if (held->bytes < bytes) {
    free(held->data);
    held->bytes = (bytes + bytes / 4 + 4095) / 4096 * 4096;
    held->data = static_cast<char*>(aligned_alloc(4096, static_cast<size_t>(held->bytes)));
    if (held->data == nullptr) abort();
  }
  return held->data;
}

// --- the pool -------------------------------------------------------------------------------------------------------

// Each thread starts on a share of its own, so that it meets the same rows in kernel after kernel, then helps others.
struct alignas(kLine) Share {
  int64_t next;
  int64_t end;
};

struct Pool;

struct Worker {
  Pool* pool;
  int64_t number;
};

struct Pool {
  ShloRuntime head;  // first, so that a ShloRuntime* is a Pool*
  alignas(kLine) int32_t busy;       // a caller owns the job below
  alignas(kLine) int64_t epoch;      // odd while a job is open
  alignas(kLine) int64_t active;     // workers that may be reading the job
  alignas(kLine) int64_t sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  bool started;
  bool stopping;
  int64_t started_workers;
  pthread_t handles[kMaxThreads];
  Worker workers[kMaxThreads];
  // the job
  ShloKernel kernel;
  void* const* buffers;
  const int64_t* dims;
  int64_t piece;
  int64_t scratch_bytes;
  Share shares[kMaxThreads];
};

int64_t load(const int64_t* word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

void work(Pool* pool, int64_t number) {
  const int64_t threads = pool->head.threads;
  void* memory = scratch(pool->scratch_bytes);
  for (int64_t k = 0; k < threads; k++) {
    Share* share = &pool->shares[(number + k) % threads];
    while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
      const int64_t begin = __atomic_fetch_add(&share->next, pool->piece, __ATOMIC_RELAXED);
      if (begin >= share->end) break;
      const int64_t end = begin + pool->piece < share->end ? begin + pool->piece : share->end;
      pool->kernel(&pool->head, pool->buffers, pool->dims, begin, end, memory);
    }
  }
}

bool await(Pool* pool, int64_t seen) {
  for (int spin = 0; spin < kSpins; spin++) {
    if (load(&pool->epoch) != seen) return true;
    relax();
  }
  pthread_mutex_lock(&pool->mutex);
  __atomic_fetch_add(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
  while (load(&pool->epoch) == seen && !pool->stopping) pthread_cond_wait(&pool->wake, &pool->mutex);
  __atomic_fetch_sub(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
  const bool go_on = !pool->stopping;
  pthread_mutex_unlock(&pool->mutex);
  return go_on;
}

void* serve(void* argument) {
  const Worker* self = static_cast<const Worker*>(argument);
  Pool* pool = self->pool;
  int64_t seen = 0;
  while (await(pool, seen)) {
    // Announce first, look second: a caller that closes the job after this look waits for `active` to fall.
    __atomic_fetch_add(&pool->active, 1, __ATOMIC_SEQ_CST);
    seen = load(&pool->epoch);
    if (seen % 2 == 1) work(pool, self->number);
    __atomic_fetch_sub(&pool->active, 1, __ATOMIC_SEQ_CST);
  }
  return nullptr;
}

void start(Pool* pool) {
  pool->started = true;
  for (int64_t i = 1; i < pool->head.threads; i++) {
    pool->workers[i] = {pool, i};
    if (pthread_create(&pool->handles[pool->started_workers], nullptr, serve, &pool->workers[i]) != 0) break;
    pool->started_workers++;
  }
}

// Gives every thread whole pieces of its own; what is left over goes to the first threads.
void divide(Pool* pool, int64_t extent, int64_t grain) {
  const int64_t threads = pool->head.threads;
  const int64_t grains = (extent + grain - 1) / grain;
  const int64_t pieces = threads * kPiecesPerThread;
  pool->piece = grain * ((grains + pieces - 1) / pieces);
  const int64_t count = (extent + pool->piece - 1) / pool->piece;
  int64_t at = 0;
  for (int64_t i = 0; i < threads; i++) {
    at += (count / threads + (i < count % threads ? 1 : 0)) * pool->piece;
    pool->shares[i].end = at < extent ? at : extent;
    pool->shares[i].next = i == 0 ? 0 : pool->shares[i - 1].end;
  }
}

void parallel(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
              int64_t extent, int64_t grain, int64_t scratch_bytes) {
  Pool* pool = reinterpret_cast<Pool*>(const_cast<ShloRuntime*>(runtime));
  if (extent <= 0) return;
  if (grain < 1) grain = 1;
  const bool alone = extent <= grain || runtime->threads == 1;
  if (alone || __atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE) != 0) {
    kernel(runtime, buffers, dims, 0, extent, scratch(scratch_bytes));
    return;
  }
  if (!pool->started) start(pool);
  pool->kernel = kernel;
  pool->buffers = buffers;
  pool->dims = dims;
  pool->scratch_bytes = scratch_bytes;
  divide(pool, extent, grain);
  __atomic_fetch_add(&pool->epoch, 1, __ATOMIC_SEQ_CST);
  if (load(&pool->sleepers) > 0) {
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
  }
  work(pool, 0);
  __atomic_fetch_add(&pool->epoch, 1, __ATOMIC_SEQ_CST);
  for (int spin = 0; load(&pool->active) != 0; spin++) {
    relax();
    if (spin >= kSpins) sched_yield();
  }
  __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
}

void reset(Pool* pool) {
  pool->busy = 0;
  pool->epoch = pool->active = pool->sleepers = pool->started_workers = 0;
  pool->started = pool->stopping = false;
  pthread_mutex_init(&pool->mutex, nullptr);
  pthread_cond_init(&pool->wake, nullptr);
}

}  // namespace

extern "C" {

// A pool of `threads` threads, the caller being one. The others start with the first loop that is worth sharing.
ShloRuntime* shlo_runtime_create(int64_t threads) {
  Pool* pool = static_cast<Pool*>(aligned_alloc(kLine, (sizeof(Pool) + kLine - 1) / kLine * kLine));
  if (pool == nullptr) return nullptr;
  pool->head.parallel = parallel;
  pool->head.threads = threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads;
  reset(pool);
  return &pool->head;
}

void shlo_runtime_destroy(ShloRuntime* runtime) {
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  pthread_mutex_lock(&pool->mutex);
  pool->stopping = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int64_t i = 0; i < pool->started_workers; i++) pthread_join(pool->handles[i], nullptr);
  free(pool);
}

// In a forked child the workers are gone and a lock may be held by a thread that does not exist.
void shlo_runtime_after_fork(ShloRuntime* runtime) { reset(reinterpret_cast<Pool*>(runtime)); }

void shlo_parallel(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                   int64_t extent, int64_t grain, int64_t scratch_bytes) {
  runtime->parallel(runtime, kernel, buffers, dims, extent, grain, scratch_bytes);
}

// What an ndarray is after Python's object header: NumPy's documented `PyArrayObject_fields`.
struct ShloArray {
  char* data;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides;
  const void* base;
  const void* dtype;
  int32_t flags;
};

struct ShloSize {  // axis `axis` of argument `argument` of those that a call brings ...
  int64_t argument;
  int64_t axis;
  int64_t value;  // ... has this size, or is raw symbol number `value`
};

struct ShloReading {  // the integer that begins `offset` bytes into argument `argument` is raw symbol number `value`
  int64_t argument;
  int64_t offset;
  int64_t width;  // bytes; negative if the integer has a sign
  int64_t value;
};

struct ShloBind {
  int64_t object_header;      // bytes before what is an object's own; its type is the last word of them
  int64_t tuple_header;       // bytes before the members of a tuple
  const void* array_type;
  int64_t arguments;          // that a call brings: all but those that are bound
  const int64_t* places;      // the number of each among all arguments
  const void* const* dtypes;  // one per argument that a call brings
  const int64_t* ranks;       // as many
  int64_t results;
  int64_t raw_sizes, same_sizes, fixed_sizes;
  const ShloSize* sizes;      // those that define a raw symbol, then those that repeat one, then fixed ones
  int64_t read_elements;
  const ShloReading* readings;
};

static int64_t read_integer(const char* at, int64_t width) {
  auto as = [&]<class T>(T value) { return __builtin_memcpy(&value, at, sizeof value), (int64_t)value; };
  switch (width) {
    case -1: return as(int8_t());
    case -2: return as(int16_t());
    case -4: return as(int32_t());
    case 1: return as(uint8_t());
    case 2: return as(uint16_t());
    case 4: return as(uint32_t());
    default: return as(int64_t());
  }
}

// Fills `pointers` and `raw` from a tuple with the arrays of a call. 0, or 1 if any is not what the program takes as
// it is: exactly a C-contiguous aligned ndarray of the dtype, rank and fixed sizes. What is bound stays as it is in both.
// The caller holds the GIL.
int64_t shlo_bind(const ShloBind* bind, const char* tuple, char** pointers, int64_t* raw) {
  constexpr int32_t kUsable = 0x0001 | 0x0100;  // NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
  const int64_t header = bind->object_header;
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  auto array = [&](int64_t i) { return reinterpret_cast<const ShloArray*>(objects[i] + header); };
  for (int64_t i = 0; i < bind->arguments; i++) {
    const void* type = *reinterpret_cast<const void* const*>(objects[i] + header - sizeof(void*));
    if (type != bind->array_type) return 1;
    const ShloArray* it = array(i);
    if (it->dtype != bind->dtypes[i] || it->rank != bind->ranks[i] || (it->flags & kUsable) != kUsable) return 1;
    pointers[bind->places[i]] = it->data;
  }
  const ShloSize* size = bind->sizes;
  for (const ShloSize* end = size + bind->raw_sizes; size < end; size++)
    raw[size->value] = array(size->argument)->shape[size->axis];
  for (const ShloSize* end = size + bind->same_sizes; size < end; size++)
    if (array(size->argument)->shape[size->axis] != raw[size->value]) return 1;
  for (const ShloSize* end = size + bind->fixed_sizes; size < end; size++)
    if (array(size->argument)->shape[size->axis] != size->value) return 1;
  const ShloReading* reading = bind->readings;
  for (const ShloReading* end = reading + bind->read_elements; reading < end; reading++)
    raw[reading->value] = read_integer(array(reading->argument)->data + reading->offset, reading->width);
  return 0;
}

// Fills `pointers` from a tuple with the ndarrays that the results go to. The caller holds the GIL.
void shlo_locate(const ShloBind* bind, const char* tuple, char** pointers) {
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  for (int64_t i = 0; i < bind->results; i++)
    pointers[i] = reinterpret_cast<const ShloArray*>(objects[i] + bind->object_header)->data;
}

}  // extern "C"
