// For tests: memory that a call takes is filled with bytes 0xFF (NaN as floats, -1 as integers), which exposes reads of
// uninitialized or stale memory. Off unless `shlo_poison_memory` turns it on.
#pragma once

#include <stdint.h>

namespace {

constexpr int kPoison = 0xff;
int64_t poisons;

inline void poison(void* data, int64_t bytes) {
  if (__builtin_expect(poisons, 0)) __builtin_memset(data, kPoison, static_cast<unsigned long>(bytes));
}

}  // namespace
