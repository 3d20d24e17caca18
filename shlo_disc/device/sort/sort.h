// Sorting, mostly of a permutation, by a comparator. `before(x, y)`: element x goes strictly before element y. A comparator
// that contradicts itself (NaN under <) gives some order, and never leaves the array.
#pragma once
#include <stdint.h>

// Stable merge sort of `n` elements by `before`, with `n` elements of scratch memory: runs of 16 by insertion, then merges.
template <class T, class Before>
static void merge_sort(T* order, T* scratch, int64_t n, Before before) {
  constexpr int64_t RUN = 16;
  for (int64_t first = 0; first < n; first += RUN) {
    const int64_t last = first + RUN < n ? first + RUN : n;
    for (int64_t i = first + 1; i < last; ++i) {
      const T x = order[i];
      int64_t j = i;
      for (; j > first && before(x, order[j - 1]); --j) order[j] = order[j - 1];
      order[j] = x;
    }
  }
  T *from = order, *to = scratch;
  for (int64_t width = RUN; width < n; width *= 2) {
    for (int64_t first = 0; first < n; first += 2 * width) {
      const int64_t middle = first + width < n ? first + width : n, last = first + 2 * width < n ? first + 2 * width : n;
      int64_t a = first, b = middle, at = first;
      while (a < middle && b < last) to[at++] = before(from[b], from[a]) ? from[b++] : from[a++];
      while (a < middle) to[at++] = from[a++];
      while (b < last) to[at++] = from[b++];
    }
    T* const swap = from;
    from = to;
    to = swap;
  }
  if (from != order)
    for (int64_t i = 0; i < n; ++i) order[i] = from[i];
}

// The order that an unstable sort gives to equal elements is left open by StableHLO. XLA's CPU backend calls std::sort of
// GNU's C++ library; this is the same algorithm, so that results agree: introsort (Musser 1997), then insertion.
constexpr int64_t SHLO_SORT_SMALL = 16;

template <class T, class Before>
static void sift(T* a, int64_t top, int64_t n, T x, Before before) {
  int64_t hole = top, child = top;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (before(a[child], a[child - 1])) --child;
    a[hole] = a[child];
    hole = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    child = 2 * (child + 1);
    a[hole] = a[child - 1];
    hole = child - 1;
  }
  for (; hole > top && before(a[(hole - 1) / 2], x); hole = (hole - 1) / 2) a[hole] = a[(hole - 1) / 2];
  a[hole] = x;
}

template <class T, class Before>
static void heap_sort(T* a, int64_t n, Before before) {
  for (int64_t parent = (n - 2) / 2; parent >= 0; --parent) sift(a, parent, n, a[parent], before);
  for (int64_t last = n - 1; last > 0; --last) {
    const T x = a[last];
    a[last] = a[0];
    sift(a, 0, last, x, before);
  }
}

template <class T, class Before>
static int64_t partition(T* a, int64_t first, int64_t last, Before before) {
  const int64_t x = first + 1, y = first + (last - first) / 2, z = last - 1;
  const int64_t median = before(a[x], a[y]) ? (before(a[y], a[z]) ? y : before(a[x], a[z]) ? z : x)
                                            : (before(a[x], a[z]) ? x : before(a[y], a[z]) ? z : y);
  const T pivot = a[median];
  a[median] = a[first];
  a[first] = pivot;
  for (int64_t left = first + 1, right = last;;) {
    while (left < last && before(a[left], pivot)) ++left;
    --right;
    while (right > first && before(pivot, a[right])) --right;
    if (left >= right) return left;
    const T swap = a[left];
    a[left++] = a[right];
    a[right] = swap;
  }
}

template <class T, class Before>
static void intro_loop(T* a, int64_t first, int64_t last, int64_t depth, Before before) {
  while (last - first > SHLO_SORT_SMALL) {
    if (depth-- == 0) return heap_sort(a + first, last - first, before);
    const int64_t cut = partition(a, first, last, before);
    intro_loop(a, cut, last, depth, before);
    last = cut;
  }
}

template <class T, class Before>
static void intro_sort(T* a, int64_t n, Before before) {
  if (n < 2) return;
  intro_loop(a, 0, n, 2 * (63 - __builtin_clzll((uint64_t)n)), before);
  for (int64_t at = 1; at < n; ++at) {
    const T x = a[at];
    int64_t hole = at;
    const bool first = at < SHLO_SORT_SMALL && before(x, a[0]);
    for (; hole > 0 && (first || before(x, a[hole - 1])); --hole) a[hole] = a[hole - 1];
    a[hole] = x;
  }
}
