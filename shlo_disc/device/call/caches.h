// The data caches of the machine that runs a program: the bytes of levels 1 to 3. Kernels define them, and libraries read them,
// which may be compiled elsewhere, for all CPUs of a level.
#pragma once
#include <stdint.h>

// Whoever compiles kernels tells what is known of the machine.
#ifndef SHLO_L1_BYTES
#define SHLO_L1_BYTES 32768
#endif
#ifndef SHLO_L2_BYTES
#define SHLO_L2_BYTES 524288
#endif
#ifndef SHLO_L3_BYTES
#define SHLO_L3_BYTES 8388608
#endif

#define SHLO_DECLARE_CACHES extern "C" __attribute__((visibility("hidden"))) const int64_t shlo_cache_bytes[3];

// In each file of kernels; the linker keeps one.
#define SHLO_DEFINE_CACHES                                                                           \
  extern "C" {                                                                                       \
  __attribute__((visibility("hidden"), used)) inline const int64_t shlo_cache_bytes[3] = {           \
      SHLO_L1_BYTES, SHLO_L2_BYTES, SHLO_L3_BYTES};                                                  \
  }
