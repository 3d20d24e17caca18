// What differs between systems: memory with an alignment, and the number of CPUs that this process may use.
#pragma once
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
extern "C" __declspec(dllimport) unsigned long __stdcall GetActiveProcessorCount(unsigned short group);
#else
#include <unistd.h>
#endif

// Null if out of memory; released by `free_aligned`. The alignment is a power of two.
inline void* aligned_memory(size_t alignment, size_t bytes) {
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
#if defined(_WIN32)
  return _aligned_malloc(whole, alignment);
#else
  return aligned_alloc(alignment, whole);
#endif
}

inline void free_aligned(void* memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  free(memory);
#endif
}

inline int64_t available_cpus() {
#if defined(_WIN32)
  const int64_t count = GetActiveProcessorCount(0xffff);  // of all groups
#else
#if defined(__linux__)
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
#endif
  const int64_t count = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return count < 1 ? 1 : count;
}
