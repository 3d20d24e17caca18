// Sorting by keys: unsigned integers that are ordered as the elements are. What belongs to a key travels with it: the
// element itself, or its position.
#pragma once
#include "sort/sort.h"
#include "values/vec.h"

// Of floats: IEEE's total order.
SHLO_INLINE uint32_t order_key(float x) {
  const uint32_t bits = as<uint32_t>(x);
  return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}
SHLO_INLINE uint64_t order_key(double x) {
  const uint64_t bits = as<uint64_t>(x);
  return bits ^ ((uint64_t)((int64_t)bits >> 63) | 0x8000000000000000u);
}
SHLO_INLINE uint8_t order_key(bool x) { return x; }
SHLO_INLINE uint8_t order_key(uint8_t x) { return x; }
SHLO_INLINE uint16_t order_key(uint16_t x) { return x; }
SHLO_INLINE uint32_t order_key(uint32_t x) { return x; }
SHLO_INLINE uint64_t order_key(uint64_t x) { return x; }
SHLO_INLINE uint8_t order_key(int8_t x) { return (uint8_t)(x ^ INT8_MIN); }
SHLO_INLINE uint16_t order_key(int16_t x) { return (uint16_t)(x ^ INT16_MIN); }
SHLO_INLINE uint32_t order_key(int32_t x) { return (uint32_t)(x ^ INT32_MIN); }
SHLO_INLINE uint64_t order_key(int64_t x) { return (uint64_t)(x ^ INT64_MIN); }

template <class K>
struct Ranked {
  K key, what;
};

// The bits of an element as what travels with its key, and back.
template <class K, class T>
SHLO_INLINE K pick_up(const T* from) {
  K bits = 0;
  __builtin_memcpy(&bits, from, sizeof(T));
  return bits;
}
template <class K, class T>
SHLO_INLINE void put_down(T* to, K bits) { __builtin_memcpy(to, &bits, sizeof(T)); }

template <class K>
static void insert_ranked(Ranked<K>* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Ranked<K> x = a[i];
    int64_t hole = i;
    for (; hole > 0 && x.key < a[hole - 1].key; --hole) a[hole] = a[hole - 1];
    a[hole] = x;
  }
}

// Sorts stably, with as much scratch memory; returns where the result is, which may be there. One pass per byte of the
// keys, from the lowest (LSD radix sort: Knuth, The Art of Computer Programming 5.2.5), without those that are the same
// in all keys. Few elements are merged: counting 256 digits costs more.
template <class K>
static Ranked<K>* sort_ranked(Ranked<K>* from, Ranked<K>* to, int64_t n) {
  constexpr int64_t INSERTED = 16, MERGED = 32 * sizeof(K);
  if (n <= INSERTED) {
    insert_ranked(from, n);
    return from;
  }
  if (n <= MERGED) {
    merge_sort(from, to, n, [](const Ranked<K>& x, const Ranked<K>& y) { return x.key < y.key; });
    return from;
  }
  K counts[sizeof(K)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (uint64_t byte = 0; byte < sizeof(K); ++byte) ++counts[byte][from[i].key >> (8 * byte) & 255];
  for (uint64_t byte = 0; byte < sizeof(K); ++byte) {
    K* const places = counts[byte];
    if ((int64_t)places[from[0].key >> (8 * byte) & 255] == n) continue;
    K sum = 0;
    for (int digit = 0; digit < 256; ++digit) {
      const K count = places[digit];
      places[digit] = sum;
      sum += count;
    }
    for (int64_t i = 0; i < n; ++i) to[places[from[i].key >> (8 * byte) & 255]++] = from[i];
    Ranked<K>* const swap = from;
    from = to;
    to = swap;
  }
  return from;
}

// The first `keep` of `n` elements by key(i), those of equal keys in their order, sorted, with their positions; returns
// where they are. Most elements are only compared with the last one that is kept so far, a block at a time.
template <class K, class Key>
static Ranked<K>* first_ranked(Ranked<K>* held, Ranked<K>* spare, int64_t n, int64_t keep, Key key) {
  constexpr int64_t BLOCK = 32, FEW = 32;
  if (keep > n) keep = n;
  if (keep <= 0) return held;
  // Few are kept in order. Of more, so many wait that sorting them is cheap for each.
  const bool few = keep <= FEW;
  const int64_t most = few ? keep : 2 * keep + BLOCK;
  int64_t next = most < n ? most : n, count = next;
  for (int64_t i = 0; i < next; ++i) held[i] = {(K)key(i), (K)i};
  const auto settle = [&]() {
    Ranked<K>* const sorted = sort_ranked(held, spare, count);
    if (sorted != held) {
      spare = held;
      held = sorted;
    }
    count = keep < count ? keep : count;
  };
  settle();
  K last = held[keep - 1].key;
  const auto take = [&](K found, int64_t i) {
    if (found >= last) return;
    if (few) {
      int64_t hole = keep - 1;
      for (; hole > 0 && found < held[hole - 1].key; --hole) held[hole] = held[hole - 1];
      held[hole] = {found, (K)i};
      last = held[keep - 1].key;
    } else {
      held[count++] = {found, (K)i};
      if (count == most) {
        settle();
        last = held[keep - 1].key;
      }
    }
  };
  for (; next + BLOCK <= n; next += BLOCK) {
    K keys[BLOCK];
    K less = 0;
    for (int64_t k = 0; k < BLOCK; ++k) keys[k] = (K)key(next + k);
    for (int64_t k = 0; k < BLOCK; ++k) less |= (K)(keys[k] < last);
    if (less)
      for (int64_t k = 0; k < BLOCK; ++k) take(keys[k], next + k);
  }
  for (; next < n; ++next) take((K)key(next), next);
  if (!few) settle();
  return held;
}
