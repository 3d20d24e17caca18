// Preloaded: the allocation or the thread that a test names by its number cannot be had, if code of ours asks for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_memalign(size_t, size_t);

static const char* folder;  // of the shared objects whose requests count; null: all count
static long first, last;    // of the requests that fail
static long seen;           // so far
static int armed;

static int fails(void* caller) {
  if (!__atomic_load_n(&armed, __ATOMIC_SEQ_CST)) return 0;
  Dl_info found;
  if (folder != NULL && (!dladdr(caller, &found) || strstr(found.dli_fname, folder) == NULL)) return 0;
  const long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
  return first <= number && number <= last;
}

void fault_arm(const char* where, long from, long to) {
  folder = where, first = from, last = to, seen = 0;
  __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
}

long fault_disarm(void) {
  __atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
  return seen;
}

void* malloc(size_t size) {
  if (!fails(__builtin_return_address(0))) return __libc_malloc(size);
  errno = ENOMEM;
  return NULL;
}

void* calloc(size_t count, size_t size) {
  if (!fails(__builtin_return_address(0))) return __libc_calloc(count, size);
  errno = ENOMEM;
  return NULL;
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (!fails(__builtin_return_address(0))) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return NULL;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (create == NULL) *(void**)&create = dlsym(RTLD_NEXT, "pthread_create");
  return fails(__builtin_return_address(0)) ? EAGAIN : create(thread, attributes, run, argument);
}
