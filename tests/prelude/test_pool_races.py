"""The thread pool under ThreadSanitizer: several callers, pools that sleep and wake, loops inside loops."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.prelude.compilers import PRELUDE

_HARNESS = r"""
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include "pool.h"

namespace {

constexpr int64_t kExtent = 64, kRounds = 400;
ShloRuntime* pools[2];

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

void* call(void* failed) {
  int64_t one[kExtent], y[kExtent] = {}, z[kExtent] = {};
  for (int64_t i = 0; i < kExtent; i++) one[i] = 1;
  for (int64_t round = 0; round < kRounds; round++) {
    const ShloRuntime* pool = pools[round % 2];
    void* const first[] = {one, y};
    void* const second[] = {y, z};
    shlo_launch(pool, add, first, nullptr, kExtent, 1 + round % 9, 64);
    shlo_launch(pool, inner, second, nullptr, 1, 1, 0);
    const timespec pause = {0, 50000};
    if (round % 50 == 0) nanosleep(&pause, nullptr);
  }
  for (int64_t i = 0; i < kExtent; i++)
    if (y[i] != kRounds || z[i] != kRounds * (kRounds + 1) / 2) __atomic_store_n(static_cast<int64_t*>(failed), 1, 5);
  return nullptr;
}

}  // namespace

int main() {
  int64_t failed = 0;
  pools[0] = shlo_runtime_create(4);
  pools[1] = shlo_runtime_create(6);
  for (int callers_at_once = 1; callers_at_once <= 3; callers_at_once++) {
    pthread_t threads[3];
    for (int i = 0; i < callers_at_once; i++) pthread_create(&threads[i], nullptr, call, &failed);
    for (int i = 0; i < callers_at_once; i++) pthread_join(threads[i], nullptr);
  }
  for (ShloRuntime* pool : pools) shlo_runtime_destroy(pool);
  return failed;
}
"""


def test_no_races(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    source, program = tmp_path / "harness.cc", tmp_path / "harness"
    source.write_text(_HARNESS)
    flags = ("-O1", "-g", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsanitize=thread", f"-I{PRELUDE}")
    built = subprocess.run(
        ["g++", *flags, str(source), "-o", str(program), "-lpthread"], check=False, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
