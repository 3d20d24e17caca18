// Memory for results and temporaries: aligned and used again. A page fault on fresh memory costs more than most kernels,
// and like sizes come again and again. Whoever calls holds the interpreter's lock.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugeFrom = 4 << 20;        // bytes from which huge pages are asked for, as NumPy does
constexpr int64_t kPage = 4096;
constexpr int64_t kMostUnused = 512ll << 20;  // bytes that may lie unused

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

Cell* fresh(int64_t shelf) {
  const int64_t size = bytes_of(shelf);
  Cell* cell = static_cast<Cell*>(malloc(sizeof(Cell)));
  void* raw = malloc(static_cast<size_t>(size + kAlignment));
  if (cell == nullptr || raw == nullptr) {
    free(raw);
    free(cell);
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

Cell* take(int64_t bytes) {
  const int64_t shelf = shelf_of(bytes);
  Cell* cell = shelves[shelf];
  if (cell == nullptr) return fresh(shelf);
  shelves[shelf] = cell->next;
  unused -= bytes_of(shelf);
  return cell;
}

// Memory for the temporaries of a call. They die with it, so an arena serves calls of all sizes, and one that has no room
// makes way for the new one: on shelves each new size would write fresh pages, which can take longer than to compute.
Cell* take_arena(int64_t bytes) {
  const int64_t shelf = shelf_of(bytes);
  if (bytes_of(shelf) < kArenaFrom) return take(bytes);
  Cell** place = &arenas;
  while (*place != nullptr && (*place)->next != nullptr && bytes_of((*place)->shelf) < bytes) place = &(*place)->next;
  Cell* cell = *place;
  if (cell == nullptr) return fresh(shelf);
  *place = cell->next;
  unused -= bytes_of(cell->shelf);
  if (bytes_of(cell->shelf) >= bytes) return cell;
  drop(cell);
  return fresh(shelf);
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
