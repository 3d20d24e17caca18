// What differs between systems: memory with an alignment, the number of CPUs that this process may use, mapped files.
#pragma once
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
extern "C" __declspec(dllimport) unsigned long __stdcall GetActiveProcessorCount(unsigned short group);
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

// Maps a file into memory to be read, which processes share. 0, with null for a file without bytes, or an error number.
inline int map_file(const char* path, const unsigned char** memory, size_t* bytes) {
  *memory = nullptr;
  *bytes = 0;
#if defined(_WIN32)
  (void)path;
  return ENOSYS;
#else
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of what is no file, opening need not end
  if (file < 0) return errno;
  struct stat about;
  int error = fstat(file, &about) != 0 ? errno : S_ISREG(about.st_mode) ? 0 : S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
  if (error == 0 && about.st_size > 0) {
    void* const found = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_SHARED, file, 0);
    if (found == MAP_FAILED) {
      error = errno;
    } else {
      *memory = static_cast<const unsigned char*>(found);
      *bytes = static_cast<size_t>(about.st_size);
    }
  }
  close(file);
  return error;
#endif
}

inline void unmap_file(const unsigned char* memory, size_t bytes) {
#if defined(_WIN32)
  (void)memory, (void)bytes;
#else
  if (memory != nullptr) munmap(const_cast<unsigned char*>(memory), bytes);
#endif
}
