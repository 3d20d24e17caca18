// The thread pool that runs kernels. docs/explanation/threads.md has its rules.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "call/float_mode.h"
#include "call/poison.h"
#include "call/runtime.h"
#include "call/system.h"

namespace {

constexpr int64_t kLine = 64;            // bytes of a cache line
constexpr int64_t kMaxThreads = 256;
constexpr int64_t kChunksPerThread = 4;  // more chunks balance the load, fewer repeat less set-up inside kernels
constexpr int kPolls = 32;               // between reads of the clock
constexpr int64_t kSpinTime = 20000;     // nanoseconds of spinning before sleep: longer than most gaps between launches
constexpr int64_t kWorthWaking = 16;     // grains (of about a microsecond) from which sleeping threads are woken,
constexpr int64_t kAloneTime = 16000;    // or nanoseconds of loops run alone because all others slept
constexpr int64_t kBackOff = 10;         // times the time lost to a thread without a core, loops run alone
constexpr int64_t kLongest = 1000000000;  // nanoseconds of that, at most
constexpr int64_t kMostScratch = 1ll << 48;  // bytes: no machine has more for one thread

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

// Polls until `done` is true, for at most kSpinTime. Yields, in case the awaited thread needs this core.
template <class Done>
inline bool spin(Done done) {
  for (int64_t begin = 0;;) {
    for (int i = 0; i < kPolls; i++) {
      if (done()) return true;
      relax();
    }
    const int64_t time = now();
    if (begin == 0) begin = time;
    if (time - begin >= kSpinTime) return false;
    sched_yield();
  }
}

// --- memory private to a thread -------------------------------------------------------------------------------------

struct Scratch {
  char* data;
  int64_t bytes;
  int64_t number;  // of the thread in its pool; 0 is the caller
};

pthread_key_t scratch_key;
bool has_scratch_key;
pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

void free_scratch(void* held) {
  free_aligned(static_cast<Scratch*>(held)->data);
  free(held);
}

void make_scratch_key() { has_scratch_key = pthread_key_create(&scratch_key, free_scratch) == 0; }

// Null if out of memory.
Scratch* of_thread() {
  pthread_once(&scratch_once, make_scratch_key);
  if (!has_scratch_key) return nullptr;
  Scratch* held = static_cast<Scratch*>(pthread_getspecific(scratch_key));
  if (held == nullptr) {
    held = static_cast<Scratch*>(calloc(1, sizeof(Scratch)));
    if (held != nullptr && pthread_setspecific(scratch_key, held) != 0) {
      free(held);
      held = nullptr;
    }
  }
  return held;
}

// Scratch memory of the calling thread, valid until its next call; null for 0 bytes. False if out of memory.
bool take_scratch(int64_t bytes, void** memory) {
  *memory = nullptr;
  if (bytes <= 0) return true;
  Scratch* const held = of_thread();
  if (held == nullptr || bytes > kMostScratch) return false;
  if (held->bytes < bytes) {
    free_aligned(held->data);
    held->bytes = (bytes + bytes / 4 + 4095) / 4096 * 4096;
    held->data = static_cast<char*>(aligned_memory(4096, static_cast<size_t>(held->bytes)));
    if (held->data == nullptr) held->bytes = 0;
  }
  if (held->data != nullptr) poison(held->data, bytes);
  *memory = held->data;
  return held->data != nullptr;
}

// --- the pool -------------------------------------------------------------------------------------------------------

// Each thread starts on its own share, which has the same rows in successive kernels, then steals from others.
struct alignas(kLine) Share {
  int64_t next;
  int64_t end;
};

// `parallel_for` of a caller who has threads: runs body(data, number) for the numbers below `count`, on any of them.
typedef void (*ShloBody)(void* data, int number);
typedef void (*ShloParallelFor)(void* threads, int count, ShloBody body, void* data);

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
  ShloParallelFor parallel_for;  // null: the pool starts threads of its own
  void* callers_threads;         // what that function takes
  int64_t started_workers;
  pthread_t handles[kMaxThreads];
  Worker workers[kMaxThreads];
  // of the caller that owns the job
  int64_t alone_time;   // spent on loops run alone because all others slept, since the last pause
  int64_t alone_until;  // end of the last such loop
  int64_t crowded_until;  // until when the cores are assumed to be oversubscribed; 0 if they are not
  // the job
  ShloKernel kernel;
  void* const* buffers;
  const int64_t* dims;
  int64_t chunk;
  int64_t scratch_bytes;
  int64_t members;  // threads that share it
  Share shares[kMaxThreads];
};

alignas(kLine) int64_t callers;  // threads of this process that are in a shareable loop, over all pools

int64_t load(const int64_t* word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

// Works on the job. A thread that cannot get scratch memory leaves its share to the others; the caller already has it.
void work(Pool* pool, int64_t number) {
  const int64_t threads = pool->members;
  void* memory;
  if (!take_scratch(pool->scratch_bytes, &memory)) return;
  for (int64_t k = 0; k < threads; k++) {
    Share* share = &pool->shares[(number + k) % threads];
    while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
      const int64_t begin = __atomic_fetch_add(&share->next, pool->chunk, __ATOMIC_RELAXED);
      if (begin >= share->end) break;
      const int64_t end = begin + pool->chunk < share->end ? begin + pool->chunk : share->end;
      pool->kernel(&pool->head, pool->buffers, pool->dims, begin, end, memory);
    }
  }
}

// Waits for a job after epoch `seen`: spins, then sleeps. False if the pool is destroyed. A woken thread spins first
// even if the job is already done: more jobs may follow, each too short to be worth a wake-up.
bool await(Pool* pool, int64_t seen) {
  const auto open = [=] {
    const int64_t epoch = load(&pool->epoch);
    return epoch != seen && epoch % 2 == 1;
  };
  for (bool stopping = false; !stopping;) {
    if (spin(open)) return true;
    pthread_mutex_lock(&pool->mutex);
    __atomic_fetch_add(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    if (!open() && !pool->stopping) pthread_cond_wait(&pool->wake, &pool->mutex);
    __atomic_fetch_sub(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    stopping = pool->stopping;
    pthread_mutex_unlock(&pool->mutex);
  }
  return false;
}

void* serve(void* argument) {
  const Worker* self = static_cast<const Worker*>(argument);
  Pool* pool = self->pool;
  set_default_float_mode();
  int64_t seen = 0;
  Scratch* const own = of_thread();
  if (own != nullptr) own->number = self->number;
  while (await(pool, seen)) {
    // Increment `active` before reading the epoch: a caller that closes the job after this read waits for `active` to
    // fall.
    __atomic_fetch_add(&pool->active, 1, __ATOMIC_SEQ_CST);
    seen = load(&pool->epoch);
    if (own != nullptr && seen % 2 == 1 && self->number < pool->members) work(pool, self->number);
    __atomic_fetch_sub(&pool->active, 1, __ATOMIC_SEQ_CST);
  }
  return nullptr;
}

// If thread creation fails, the pool continues with the threads it has.
void start(Pool* pool) {
  pool->started = true;
  for (int64_t i = 1; i < pool->head.threads; i++) {
    pool->workers[i] = {pool, i};
    if (pthread_create(&pool->handles[pool->started_workers], nullptr, serve, &pool->workers[i]) != 0) break;
    pool->started_workers++;
  }
}

// Divides the range into shares of whole chunks, one per thread; the first threads take the remainder.
void divide(Pool* pool, int64_t extent, int64_t grain) {
  const int64_t threads = pool->members;
  const int64_t grains = (extent + grain - 1) / grain;
  const int64_t chunks = threads * kChunksPerThread;
  pool->chunk = grain * ((grains + chunks - 1) / chunks);
  const int64_t count = (extent + pool->chunk - 1) / pool->chunk;
  int64_t at = 0;
  for (int64_t i = 0; i < threads; i++) {
    at += (count / threads + (i < count % threads ? 1 : 0)) * pool->chunk;
    pool->shares[i].end = at < extent ? at : extent;
    pool->shares[i].next = i == 0 ? 0 : pool->shares[i - 1].end;
  }
}

// How many threads to wake for a loop of so many grains; -1: run it alone, which is faster.
// Threads that are awake cost nothing. If all sleep, successive loops run alone until their total time is worth a
// wake-up: the loss is at most the cost of one (ski rental). Their time is measured, since a chunk may be many grains.
int64_t wanted(Pool* pool, int64_t grains, int64_t work) {
  const int64_t sleepers = load(&pool->sleepers), awake = pool->started_workers - sleepers;
  const int64_t useful = (grains < pool->members ? grains : pool->members) - 1 - awake;
  if (useful <= 0 || sleepers == 0) return 0;
  if (work >= kWorthWaking) return useful;
  if (awake > 0) return 0;
  if (now() - pool->alone_until > kSpinTime) pool->alone_time = 0;  // woken threads would sleep again by now
  if (pool->alone_time < kAloneTime) return -1;
  pool->alone_time = 0;
  return useful;
}

void share_out(Pool* pool, int64_t extent, int64_t grain, int64_t sleepers) {
  divide(pool, extent, grain);
  __atomic_fetch_add(&pool->epoch, 1, __ATOMIC_SEQ_CST);
  if (sleepers > 0) {
    pthread_mutex_lock(&pool->mutex);  // afterwards each thread has either seen the epoch or is asleep
    pthread_mutex_unlock(&pool->mutex);
    for (int64_t i = 0; i < sleepers; i++) pthread_cond_signal(&pool->wake);
  }
  const int64_t begin = now();
  work(pool, 0);
  __atomic_fetch_add(&pool->epoch, 1, __ATOMIC_SEQ_CST);
  const auto all_done = [=] { return load(&pool->active) == 0; };
  if (spin(all_done)) return;
  const int64_t end = now() - kSpinTime;
  while (!all_done()) sched_yield();
  // Chunks cost alike: a worker that takes longer for its last one than the caller for all of its own lacks a core.
  const int64_t time = now(), lost = time - end - (end - begin);
  if (lost > kSpinTime) pool->crowded_until = time + (lost < kLongest / kBackOff ? kBackOff * lost : kLongest);
}

// Works on the job as thread `number` of it, on a thread of the caller, which may compute otherwise with floats.
void work_as(void* data, int number) {
  Pool* const pool = static_cast<Pool*>(data);
  Scratch* const own = of_thread();
  if (own == nullptr || number < 0 || number >= pool->members) return;
  const uint64_t mode = set_default_float_mode();
  const int64_t before = own->number;
  own->number = number;
  work(pool, number);
  own->number = before;
  restore_float_mode(mode);
}

// Shares a loop with the threads of a caller. Those without scratch memory leave their shares to the calling one.
void share_with_caller(Pool* pool, int64_t extent, int64_t grain) {
  divide(pool, extent, grain);
  pool->parallel_for(pool->callers_threads, static_cast<int>(pool->members), work_as, pool);
  work_as(pool, 0);
}

// Whether other threads, of this process or not, were found to compete for the cores.
bool crowded(Pool* pool) {
  if (pool->crowded_until == 0) return false;
  if (now() < pool->crowded_until) return true;
  pool->crowded_until = 0;
  return false;
}

// `work`: the work of the loop, in grains of about a microsecond. At most `most` threads share it. False if the caller
// cannot get scratch memory.
bool run_shared(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims, int64_t extent,
                int64_t grain, int64_t work, int64_t scratch_bytes, int64_t most) {
  Pool* pool = reinterpret_cast<Pool*>(const_cast<ShloRuntime*>(runtime));
  if (extent <= 0) return true;
  void* memory;
  if (!take_scratch(scratch_bytes, &memory)) return false;
  const auto alone = [=] { kernel(runtime, buffers, dims, 0, extent, memory); };
  if (extent <= grain || runtime->threads == 1) return alone(), true;
  const int64_t others = __atomic_fetch_add(&callers, 1, __ATOMIC_RELAXED), free = runtime->threads - others;
  const int64_t members = free < most ? free : most;
  const int64_t grains = (extent + grain - 1) / grain;
  const bool is_short = pool->parallel_for != nullptr && work < kWorthWaking;  // how to wake its threads is unknown
  if (members <= 1 || is_short || __atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE) != 0) {
    alone();
  } else if (pool->parallel_for != nullptr) {
    pool->members = members < grains ? members : grains;
    pool->kernel = kernel;
    pool->buffers = buffers;
    pool->dims = dims;
    pool->scratch_bytes = scratch_bytes;
    share_with_caller(pool, extent, grain);
    __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
  } else {
    if (!pool->started) start(pool);
    pool->members = members;
    const bool is_crowded = crowded(pool);
    const int64_t sleepers = is_crowded ? 0 : wanted(pool, grains, work);
    if (is_crowded) {
      alone();
    } else if (sleepers < 0) {
      const int64_t begin = now();
      alone();
      pool->alone_until = now();
      pool->alone_time += pool->alone_until - begin;
    } else {
      pool->kernel = kernel;
      pool->buffers = buffers;
      pool->dims = dims;
      pool->scratch_bytes = scratch_bytes;
      share_out(pool, extent, grain, sleepers);
    }
    __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_fetch_sub(&callers, 1, __ATOMIC_RELAXED);
  return true;
}

int64_t parallel(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                 int64_t extent, int64_t grain, int64_t scratch_bytes) {
  if (grain < 1) grain = 1;
  const int64_t grains = extent <= grain ? 1 : (extent + grain - 1) / grain;
  return run_shared(runtime, kernel, buffers, dims, extent, grain, grains, scratch_bytes, kMaxThreads);
}

// Runs units [begin, end) of a member. A held buffer has one unit's rows per thread; its pointer is shifted so that the
// kernel can index it by the global row.
void run_member(const ShloRuntime* runtime, const ShloMember& it, int64_t begin, int64_t end, void* scratch) {
  const int64_t first = begin * it.unit_tasks;
  const int64_t last = end * it.unit_tasks < it.unit_extent ? end * it.unit_tasks : it.unit_extent;
  if (first >= last) return;
  if (it.held_count == 0) return it.kernel(runtime, it.buffers, it.unit_dims, first, last, scratch);
  void** const buffers = static_cast<void**>(__builtin_alloca(it.count * sizeof(void*)));
  __builtin_memcpy(buffers, it.buffers, it.count * sizeof(void*));
  const int64_t number = of_thread()->number;
  for (int64_t k = 0; k < it.held_count; k++) {
    const ShloHeld& held = it.held[k];
    const uintptr_t rows = reinterpret_cast<uintptr_t>(it.buffers[held.buffer]);
    buffers[held.buffer] = reinterpret_cast<void*>(rows + (number - begin) * held.bytes);
  }
  it.kernel(runtime, buffers, it.unit_dims, first, last, scratch);
}

// Runs units [begin, end) of all members. `buffers`: the members. `dims`: their number, and units per step.
void run_units(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end,
               void* scratch) {
  const ShloMember* const members = reinterpret_cast<const ShloMember*>(buffers);
  for (int64_t next; begin < end; begin = next) {
    next = end - begin < dims[1] ? end : begin + dims[1];
    for (int64_t k = 0; k < dims[0]; k++) run_member(runtime, members[k], begin, next, scratch);
  }
}

int64_t reserve(const ShloRuntime*, int64_t scratch_bytes) {
  void* memory;
  return of_thread() != nullptr && take_scratch(scratch_bytes, &memory);
}

int64_t region(const ShloRuntime* runtime, const ShloMember* members, int64_t count, int64_t units, int64_t grain,
               int64_t work, int64_t scratch_bytes, int64_t most_threads) {
  bool holds = false;
  for (int64_t k = 0; k < count; k++) holds |= members[k].held_count != 0;
  if (holds && !reserve(runtime, 0)) return false;
  if (units > 0 && (holds || (runtime->threads > 1 && units > grain))) {
    const int64_t dims[] = {count, holds ? 1 : units};
    return run_shared(runtime, run_units, reinterpret_cast<void* const*>(members), dims, units, grain, work,
                      scratch_bytes, most_threads);
  }
  for (int64_t k = 0; k < count; k++) {
    const ShloMember& it = members[k];
    if (!parallel(runtime, it.kernel, it.buffers, it.dims, it.extent, it.grain, it.scratch_bytes)) return false;
  }
  return true;
}

void reset(Pool* pool) {
  pool->busy = 0;
  pool->epoch = pool->active = pool->sleepers = pool->started_workers = 0;
  pool->alone_time = pool->alone_until = pool->crowded_until = 0;
  pool->started = pool->stopping = false;
  pthread_mutex_init(&pool->mutex, nullptr);
  pthread_cond_init(&pool->wake, nullptr);
}

}  // namespace

extern "C" {

// For tests: whether memory for results, temporaries and scratch is filled with bytes 0xFF.
void shlo_poison_memory(int64_t on) { poisons = on; }

// A pool of `threads` threads, including the caller. The others start with the first shared loop.
ShloRuntime* shlo_runtime_create(int64_t threads) {
  Pool* pool = static_cast<Pool*>(aligned_memory(kLine, sizeof(Pool)));
  if (pool == nullptr) return nullptr;
  pool->head.parallel = parallel;
  pool->head.region = region;
  pool->head.reserve = reserve;
  pool->head.threads = threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads;
  pool->parallel_for = nullptr;
  reset(pool);
  return &pool->head;
}

// Lets a pool share loops with the threads of a caller, and start none of its own.
void shlo_runtime_share_with(ShloRuntime* runtime, ShloParallelFor parallel_for, void* callers_threads) {
  Pool* const pool = reinterpret_cast<Pool*>(runtime);
  pool->parallel_for = parallel_for;
  pool->callers_threads = callers_threads;
}

void shlo_runtime_destroy(ShloRuntime* runtime) {
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  pthread_mutex_lock(&pool->mutex);
  pool->stopping = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int64_t i = 0; i < pool->started_workers; i++) pthread_join(pool->handles[i], nullptr);
  free_aligned(pool);
}

// Resets the pool in a forked child: its workers are gone, and a lock may be held by a thread that does not exist.
void shlo_runtime_after_fork(ShloRuntime* runtime) {
  callers = 0;
  reset(reinterpret_cast<Pool*>(runtime));
}

int64_t shlo_parallel(const ShloRuntime* runtime, ShloKernel kernel, void* const* buffers, const int64_t* dims,
                      int64_t extent, int64_t grain, int64_t scratch_bytes) {
  return runtime->parallel(runtime, kernel, buffers, dims, extent, grain, scratch_bytes);
}

int64_t shlo_region(const ShloRuntime* runtime, const ShloMember* members, int64_t count, int64_t units, int64_t grain,
                    int64_t work, int64_t scratch_bytes, int64_t most_threads) {
  return runtime->region(runtime, members, count, units, grain, work, scratch_bytes, most_threads);
}

}  // extern "C"
