// For tests: memory that a call takes begins as bytes 0xFF, a NaN in floats and -1 in integers, so that reading what was
// never written, or what an earlier call left there, cannot go unseen. Off unless `shlo_poison_memory` says otherwise.
#pragma once

#include <stdint.h>

namespace {

constexpr int kPoison = 0xff;
int64_t poisons;

inline void poison(void* data, int64_t bytes) {
  if (__builtin_expect(poisons, 0)) __builtin_memset(data, kPoison, static_cast<unsigned long>(bytes));
}

}  // namespace
