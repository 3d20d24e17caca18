// Memory for results and temporaries: aligned and reused, since page faults on new memory cost more than most kernels
// and similar sizes recur. Each library that includes this has free lists of its own, and guards them: the runtime
// library by the GIL, without which nothing here may be called, xla_handler.cc by a mutex.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "call/poison.h"

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugeFrom = 4 << 20;        // bytes from which huge pages are requested, as NumPy does
constexpr int64_t kPage = 4096;
constexpr int64_t kMostUnused = 512ll << 20;  // bytes of free memory that are cached, at most

constexpr int64_t kMost = 1ll << 60;          // bytes: larger requests fail
constexpr int64_t kArenaFrom = 1 << 20;       // bytes of temporaries from which calls of all sizes share arenas

struct Cell {  // a block of memory, in use or free on its shelf
  Cell* next;
  char* data;
  void* raw;
  int64_t shelf;
};

Cell* shelves[256];  // free lists by size class: four classes per power of two
Cell* arenas;        // free arenas
int64_t unused;      // bytes on all shelves and in free arenas

// The class of a size, and the bytes of a class: 64, 128, 192, 256, 320, 384, 448, 512, 640 ...
int64_t shelf_of(int64_t bytes) {
  const uint64_t lines = bytes <= kAlignment ? 1 : (static_cast<uint64_t>(bytes) + kAlignment - 1) / kAlignment;
  if (lines <= 8) return static_cast<int64_t>(lines - 1);
  const int64_t shift = 61 - __builtin_clzll(lines - 1);  // such that (lines - 1) >> shift is 4 to 7
  return 4 * shift + static_cast<int64_t>((lines - 1) >> shift);
}

int64_t bytes_of(int64_t shelf) {
  return (shelf < 8 ? shelf + 1 : (shelf % 4 + 5) << (shelf / 4 - 1)) * kAlignment;
}

void drop(Cell* cell) {
  free(cell->raw);
  free(cell);
}

void drop_all(Cell*& cells) {
  while (Cell* cell = cells) {
    cells = cell->next;
    drop(cell);
  }
}

void drop_unused() {
  for (Cell*& shelf : shelves) drop_all(shelf);
  drop_all(arenas);
  unused = 0;
}

// malloc. On failure frees all cached memory and tries again.
void* ask(int64_t bytes) {
  void* found = malloc(static_cast<size_t>(bytes));
  if (found != nullptr || unused == 0) return found;
  drop_unused();
  return malloc(static_cast<size_t>(bytes));
}

Cell* fresh(int64_t shelf) {
  const int64_t size = bytes_of(shelf);
  void* raw = ask(size + kAlignment);
  Cell* cell = raw == nullptr ? nullptr : static_cast<Cell*>(ask(sizeof(Cell)));
  if (cell == nullptr) {
    free(raw);
    return nullptr;
  }
  const auto start = (reinterpret_cast<uintptr_t>(raw) + kAlignment - 1) / kAlignment * kAlignment;
#if defined(MADV_HUGEPAGE)
  if (size >= kHugeFrom) {
    const auto page = (start + kPage - 1) / kPage * kPage;
    madvise(reinterpret_cast<void*>(page), static_cast<size_t>(size - kPage), MADV_HUGEPAGE);  // a hint
  }
#endif
  *cell = {nullptr, reinterpret_cast<char*>(start), raw, shelf};
  return cell;
}

Cell* poisoned(Cell* cell) {
  if (cell != nullptr) poison(cell->data, bytes_of(cell->shelf));
  return cell;
}

// Null if out of memory, here and below.
Cell* take(int64_t bytes) {
  if (bytes > kMost) return nullptr;
  const int64_t shelf = shelf_of(bytes);
  Cell* cell = shelves[shelf];
  if (cell == nullptr) return poisoned(fresh(shelf));
  shelves[shelf] = cell->next;
  unused -= bytes_of(shelf);
  return poisoned(cell);
}

// Memory for the temporaries of a call. They end with the call, so an arena serves calls of all sizes; one that is too
// small is freed. With shelves each new size would fault in new pages, which can take longer than the computation.
Cell* take_arena(int64_t bytes) {
  if (bytes > kMost) return nullptr;
  const int64_t shelf = shelf_of(bytes);
  if (bytes_of(shelf) < kArenaFrom) return take(bytes);
  Cell** place = &arenas;
  while (*place != nullptr && (*place)->next != nullptr && bytes_of((*place)->shelf) < bytes) place = &(*place)->next;
  Cell* cell = *place;
  if (cell == nullptr) return poisoned(fresh(shelf));
  *place = cell->next;
  unused -= bytes_of(cell->shelf);
  if (bytes_of(cell->shelf) >= bytes) return poisoned(cell);
  drop(cell);
  return poisoned(fresh(shelf));
}

// Adds a cell to a free list. If that exceeds the limit, all others are freed: they may be of sizes that never recur.
void lay_down(Cell* cell, Cell*& cells) {
  const int64_t size = bytes_of(cell->shelf);
  if (unused + size > kMostUnused) drop_unused();
  if (size > kMostUnused) return drop(cell);
  cell->next = cells;
  cells = cell;
  unused += size;
}

void give_back(Cell* cell) { lay_down(cell, shelves[cell->shelf]); }

void give_back_arena(Cell* cell) { bytes_of(cell->shelf) < kArenaFrom ? give_back(cell) : lay_down(cell, arenas); }

}  // namespace
