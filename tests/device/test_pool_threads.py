"""The thread pool under ThreadSanitizer: several callers, loops inside loops, pools that sleep; and on busy cores."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.device.compilers import INCLUDE

_HARNESS = r"""
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "call/pool.h"

namespace {

constexpr int64_t kExtent = 64, kRounds = 400;
ShloRuntime* pools[3];

struct Number {
  ShloBody body;
  void* data;
  int number;
};

void* run_number(void* given) {
  const Number* const it = static_cast<const Number*>(given);
  it->body(it->data, it->number);
  return nullptr;
}

// The threads of a caller: a new one for each number but the first, which may finish after the others have begun.
void on_new_threads(void*, int count, ShloBody body, void* data) {
  pthread_t threads[8];
  Number numbers[8];
  for (int k = 1; k < count; k++) {
    numbers[k] = {body, data, k};
    pthread_create(&threads[k], nullptr, run_number, &numbers[k]);
  }
  body(data, 0);
  for (int k = 1; k < count; k++) pthread_join(threads[k], nullptr);
}

// y[i] += x[i], with no atomics: a race if two threads get the same index, or begin before the last loop is done.
void add(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
  const int64_t* x = static_cast<const int64_t*>(buffers[0]);
  int64_t* y = static_cast<int64_t*>(buffers[1]);
  for (int64_t i = begin; i < end; i++) y[i] += x[i];
}

// One piece, which shares out loops of its own.
void inner(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims, int64_t, int64_t, void*) {
  shlo_launch(runtime, add, buffers, dims, kExtent, 1, 0);
}

// y += one and z += y by rows, `units` of three: a race if a thread takes a unit of z whose part of y is another's.
void chain(const ShloRuntime* pool, int64_t* one, int64_t* y, int64_t* z, int64_t units) {
  void* const first[] = {one, y};
  void* const second[] = {y, z};
  const ShloMember members[] = {{add, first, nullptr, kExtent, 1, 0, nullptr, 3, kExtent, nullptr, 0, 2},
                                {add, second, nullptr, kExtent, 1, 64, nullptr, 3, kExtent, nullptr, 0, 2}};
  pool->region(pool, members, 2, units, 1, units, 64, INT64_MAX);
}

void copy(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t begin, int64_t end, void*) {
  const int64_t* x = static_cast<const int64_t*>(buffers[0]);
  int64_t* y = static_cast<int64_t*>(buffers[1]);
  for (int64_t i = begin; i < end; i++) y[i] = x[i];
}

// z += y by rows as above, through memory for three of them for each of at most `most` threads; for all of them if
// there are no units. False if other threads took part.
bool chain_held(const ShloRuntime* pool, int64_t* y, int64_t* z, int64_t units, int64_t most) {
  int64_t room[kExtent] = {};
  void* const first[] = {y, room};
  void* const second[] = {room, z};
  const ShloHeld to[] = {{1, 3 * sizeof(int64_t)}}, from[] = {{0, 3 * sizeof(int64_t)}};
  const ShloMember members[] = {{copy, first, nullptr, kExtent, 1, 0, nullptr, 3, kExtent, to, 1, 2},
                                {add, second, nullptr, kExtent, 1, 64, nullptr, 3, kExtent, from, 1, 2}};
  pool->region(pool, members, 2, units, 1, units, 64, most);
  for (int64_t i = 3 * most; i < kExtent; i++)
    if (units > 0 && room[i] != 0) return false;
  return true;
}

void* call(void* failed) {
  int64_t one[kExtent], y[kExtent] = {}, z[kExtent] = {}, u[kExtent] = {}, v[kExtent] = {};
  int64_t w[kExtent] = {};
  for (int64_t i = 0; i < kExtent; i++) one[i] = 1;
  for (int64_t round = 0; round < kRounds; round++) {
    const ShloRuntime* pool = pools[round % 7 == 6 ? 2 : round % 2];
    void* const first[] = {one, y};
    void* const second[] = {y, z};
    shlo_launch(pool, add, first, nullptr, kExtent, 1 + round % 9, 64);
    shlo_launch(pool, inner, second, nullptr, 1, 1, 0);
    chain(pool, one, u, v, round % 5 == 0 ? 0 : (kExtent + 2) / 3);
    if (!chain_held(pool, u, w, round % 5 == 0 ? 0 : (kExtent + 2) / 3, round % 4 < 2 ? 2 : 6))
      __atomic_store_n(static_cast<int64_t*>(failed), 1, 5);
    const timespec pause = {0, 50000};
    if (round % 50 == 0) nanosleep(&pause, nullptr);
  }
  for (int64_t i = 0; i < kExtent; i++)
    if (y[i] != kRounds || z[i] != kRounds * (kRounds + 1) / 2 || u[i] != y[i] || v[i] != z[i] || w[i] != z[i])
      __atomic_store_n(static_cast<int64_t*>(failed), 1, 5);
  return nullptr;
}

}  // namespace

int main() {
  int64_t failed = 0;
  pools[0] = shlo_runtime_create(4);
  pools[1] = shlo_runtime_create(6);
  pools[2] = shlo_runtime_create(5);
  shlo_runtime_share_with(pools[2], on_new_threads, nullptr);
  for (int callers_at_once = 1; callers_at_once <= 3; callers_at_once++) {
    pthread_t threads[3];
    for (int i = 0; i < callers_at_once; i++) pthread_create(&threads[i], nullptr, call, &failed);
    for (int i = 0; i < callers_at_once; i++) pthread_join(threads[i], nullptr);
  }
  for (ShloRuntime* pool : pools) shlo_runtime_destroy(pool);
  return failed;
}
"""


_CROWDED = r"""
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "call/pool.h"

namespace {

pthread_t caller;
int64_t others;  // pieces that the caller did not do

void piece(const ShloRuntime*, void* const*, const int64_t* dims, int64_t, int64_t, void*) {
  if (!pthread_equal(pthread_self(), caller)) {
    __atomic_fetch_add(&others, 1, __ATOMIC_SEQ_CST);
    const timespec pause = {0, dims[0]};
    nanosleep(&pause, nullptr);
  }
  for (volatile int64_t i = 0; i < 20000; i = i + 1) {}
}

void launch(const ShloRuntime* pool, int64_t pause) { shlo_launch(pool, piece, nullptr, &pause, 64, 1, 0); }

}  // namespace

int main() {
  caller = pthread_self();
  ShloRuntime* pool = shlo_runtime_create(2);
  for (int i = 0; i < 2000 && others == 0; i++) launch(pool, 400000000);
  if (others == 0) return 2;
  others = 0;
  for (int i = 0; i < 30; i++) launch(pool, 0);
  shlo_runtime_destroy(pool);
  return others != 0;
}
"""


_WOKEN = r"""
#include <stdint.h>
#include <time.h>
#include "call/pool.h"

namespace {

void nothing(const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*) {}

}  // namespace

int main() {
  ShloRuntime* runtime = shlo_runtime_create(2);
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  shlo_launch(runtime, nothing, nullptr, nullptr, 64, 1, 0);
  int stayed_awake = 0;
  for (int round = 0; round < 60; round++) {
    const timespec pause = {0, 1000000};
    while (load(&pool->sleepers) == 0) nanosleep(&pause, nullptr);
    share_out(pool, 2, 1, 1);  // done long before the thread that it wakes runs
    const int64_t until = now() + 5000000;
    while (now() < until && load(&pool->sleepers) != 0) {}
    stayed_awake += now() < until;
  }
  shlo_runtime_destroy(runtime);
  return stayed_awake < 20;  // not all: somebody else may have a core in the meantime
}
"""


_LENT = r"""
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "call/pool.h"

namespace {

int64_t begun, released, largest;
const timespec kPause = {0, 200000};

void hold(const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*) {
  __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
  while (!load(&released)) nanosleep(&kPause, nullptr);
}

void note(const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*) {
  const int64_t number = of_thread()->number;
  int64_t before = load(&largest);
  while (before < number && !__atomic_compare_exchange_n(&largest, &before, number, false, 5, 5)) {}
  nanosleep(&kPause, nullptr);
}

void* call(void* pool) {
  shlo_launch(static_cast<const ShloRuntime*>(pool), hold, nullptr, nullptr, 2, 1, 1 << 20);
  return nullptr;
}

int64_t largest_of(const ShloRuntime* pool, int rounds, int64_t until) {
  largest = 0;
  for (int i = 0; i < rounds && largest < until; i++) shlo_launch(pool, note, nullptr, nullptr, 64, 1, 1 << 20);
  return largest;
}

}  // namespace

int main() {
  ShloRuntime* const pool = shlo_runtime_create(4);
  ShloRuntime* const other = shlo_runtime_create(2);
  if (largest_of(pool, 200, 3) != 3) return 2;  // alone a caller has all four
  pthread_t thread;
  pthread_create(&thread, nullptr, call, other);
  while (!load(&begun)) nanosleep(&kPause, nullptr);
  const int64_t found = largest_of(pool, 60, 3);
  __atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, nullptr);
  shlo_runtime_destroy(pool);
  shlo_runtime_destroy(other);
  return found == 3;
}
"""

# Threads that are started where subnormal numbers are flushed to zero keep them: halves of one are not zero.
_SUBNORMAL = r"""
#include <pthread.h>
#include <stdint.h>
#include "call/pool.h"

namespace {

constexpr int64_t kExtent = 256;
float halves[kExtent];
pthread_t threads[kExtent];
volatile float smallest = 1e-40f;

void halve(const ShloRuntime*, void* const*, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; i++) {
    for (volatile int spin = 0; spin < 2000; spin = spin + 1) {}
    halves[i] = smallest * 0.5f;
    threads[i] = pthread_self();
  }
}

}  // namespace

int main() {
  set_float_mode(float_mode() | kFlushing);
  ShloRuntime* const pool = shlo_runtime_create(2);
  int64_t others = 0;
  for (int round = 0; round < 1000 && others == 0; round++) {
    shlo_parallel(pool, halve, nullptr, nullptr, kExtent, 1, 0);
    for (int64_t i = 0; i < kExtent; i++) {
      if (pthread_equal(threads[i], pthread_self())) continue;
      others++;
      constexpr float kZero = 0;
      if (__builtin_memcmp(&halves[i], &kZero, 4) == 0) return 3;  // to this thread all subnormal numbers are 0
    }
  }
  if (others == 0) return 4;  // the other thread never got a core
  set_default_float_mode();
  shlo_runtime_destroy(pool);
  return 0;
}
"""


def run_harness(source: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    file, program = folder / "harness.cc", folder / "harness"
    file.write_text(source)
    flags = (*flags, "-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror", INCLUDE)
    command = ["g++", *flags, str(file), "-o", str(program), "-lpthread"]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return subprocess.run([str(program)], check=False, capture_output=True, text=True)


def test_no_races(tmp_path: Path) -> None:
    done = run_harness(_HARNESS, tmp_path, "-g", "-fsanitize=thread")
    assert done.returncode == 0, done.stderr


def test_nothing_is_shared_while_others_need_the_cores(tmp_path: Path) -> None:
    """A thread that takes long for its pieces, as one does whose core somebody else has, is not waited for again."""
    assert run_harness(_CROWDED, tmp_path).returncode == 0


def test_who_is_woken_stays_awake(tmp_path: Path) -> None:
    """A series of loops that are each done before a thread wakes up is shared in the end."""
    assert run_harness(_WOKEN, tmp_path).returncode == 0


def test_callers_leave_threads_to_each_other(tmp_path: Path) -> None:
    """While another caller has a loop to share, one thread fewer takes part, though all are awake."""
    assert run_harness(_LENT, tmp_path).returncode == 0


def test_threads_keep_subnormal_numbers(tmp_path: Path) -> None:
    assert run_harness(_SUBNORMAL, tmp_path).returncode == 0
