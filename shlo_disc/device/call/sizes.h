// Checks that the sizes of a call are small enough that no formula of its program overflows.
#pragma once
#include <stdint.h>

// Runs once per set of sizes but is compiled into every program: optimizing it would cost more than it saves.
#ifdef __clang__
#define SHLO_RARELY static __attribute__((noinline, unused, optnone))
#else
#define SHLO_RARELY static __attribute__((noinline, unused, optimize("O0")))
#endif

// 0 counts as 1, so that the order of factors does not matter; a negative size counts as its magnitude. That of -2^63
// is not representable: INT64_MAX stands for it and makes the check fail.
SHLO_RARELY int64_t shlo_magnitude(int64_t size) {
  if (size == INT64_MIN) return INT64_MAX;
  return size < 0 ? -size : size == 0 ? 1 : size;
}

// `products`: for each a weight, then indices of its sizes in `raw` (-2: the largest of all), then -1. True if no
// product exceeds `most`.
SHLO_RARELY bool shlo_fits(const int64_t* products, int64_t count, int64_t most, const int64_t* raw, int64_t sizes) {
  int64_t largest = 1;
  for (int64_t k = 0; k < sizes; k++)
    if (shlo_magnitude(raw[k]) > largest) largest = shlo_magnitude(raw[k]);
  for (int64_t k = 0; k < count; k++) {
    int64_t product = *products++;
    for (; *products != -1; products++) {
      const int64_t size = *products == -2 ? largest : shlo_magnitude(raw[*products]);
      if (__builtin_mul_overflow(product, size, &product)) return false;
    }
    products++;
    if (product > most) return false;
  }
  return true;
}
