// How a thread computes with floating-point numbers. XLA lets the threads that run its executables flush subnormal
// numbers to 0, and threads that they start inherit that. Programs keep these numbers: the mode is the default one while
// they run.
#pragma once

#include <stdint.h>

namespace {

#if defined(__x86_64__)
constexpr uint64_t kFlushing = 0x8040;         // MXCSR: flush to zero, denormals are zero
constexpr uint64_t kChanged = 0x6000 | kFlushing;  // and the rounding
inline uint64_t float_mode() { return __builtin_ia32_stmxcsr(); }
inline void set_float_mode(uint64_t mode) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlushing = 0x1080000;        // FPCR: flush to zero, also f16
constexpr uint64_t kChanged = 0xc00000 | kFlushing;  // and the rounding
inline uint64_t float_mode() {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
constexpr uint64_t kFlushing = 0, kChanged = 0;
inline uint64_t float_mode() { return 0; }
inline void set_float_mode(uint64_t) {}
#endif

// Sets the default mode; returns the one before.
inline uint64_t set_default_float_mode() {
  const uint64_t mode = float_mode();
  if (mode & kChanged) set_float_mode(mode & ~kChanged);
  return mode;
}

inline void restore_float_mode(uint64_t mode) {
  if (mode & kChanged) set_float_mode(mode);
}

}  // namespace
