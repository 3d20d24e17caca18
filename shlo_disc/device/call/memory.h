// Memory for results and temporaries: aligned and used again. A page fault on fresh memory costs more than most kernels,
// and like sizes come again and again. Whoever calls holds the interpreter's lock.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "call/poison.h"

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugeFrom = 4 << 20;        // bytes from which huge pages are asked for, as NumPy does
constexpr int64_t kPage = 4096;
constexpr int64_t kMostUnused = 512ll << 20;  // bytes that may lie unused

constexpr int64_t kMost = 1ll << 60;          // bytes: what asks for more gets none
constexpr int64_t kArenaFrom = 1 << 20;       // bytes of temporaries from which calls of all sizes share them

struct Cell {  // a piece of memory, lent out or lying on its shelf
  Cell* next;
  char* data;
  void* raw;
  int64_t shelf;
};

Cell* shelves[256];  // by size class: four steps per power of two
Cell* arenas;        // that are idle
int64_t unused;      // bytes that lie on them, and in these

// The class of a size, and the bytes of a class: 64, 128, 192, 256, 320, 384, 448, 512, 640 ...
int64_t shelf_of(int64_t bytes) {
  const uint64_t lines = bytes <= kAlignment ? 1 : (static_cast<uint64_t>(bytes) + kAlignment - 1) / kAlignment;
  if (lines <= 8) return static_cast<int64_t>(lines - 1);
  const int64_t shift = 61 - __builtin_clzll(lines - 1);  // so that 4 to 7 steps of 2^shift are what is wanted less one
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

// Memory of the system. What lies unused is let go before it is said that there is none.
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

// Null if there is no memory, here and below.
Cell* take(int64_t bytes) {
  if (bytes > kMost) return nullptr;
  const int64_t shelf = shelf_of(bytes);
  Cell* cell = shelves[shelf];
  if (cell == nullptr) return poisoned(fresh(shelf));
  shelves[shelf] = cell->next;
  unused -= bytes_of(shelf);
  return poisoned(cell);
}

// Memory for the temporaries of a call. They die with it, so an arena serves calls of all sizes, and one that has no room
// makes way for the new one: on shelves each new size would write fresh pages, which can take longer than to compute.
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

// When too much lies unused, all of it goes but this cell: sizes that came once would keep those out that come again.
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
