// Stable merge sort of lines. `Lines` says what is sorted:
//   struct Item                                 an element as it is compared and moved
//   Item load(idx line, idx at) const           an element of the input
//   bool before(const Item& x, const Item& y)   the strict order
//   void store(idx line, idx at, const Item&)   an element of the result
// The thread that empties a place of a tile fills it again, so there is no barrier between two tiles.
// An order that contradicts itself gives some sequence of the line's elements: every index below is clamped by counts alone.
#pragma once
#include "math/math.cuh"

constexpr int SHLO_SORT_HEADER = 16;  // bytes in front of the items in a workspace: how long the sorted runs are

template <int TEAM>
SHLO_DEVICE void team_barrier() {
  if constexpr (TEAM == 32)
    __syncwarp();
  else
    __syncthreads();
}

// How many of the first `diagonal` items of the merge of `a` and `b` come from `a`; of equal items those of `a` go first.
// (Green, McColl and Bader 2012, "GPU merge path", section 3.)
template <class Lines, class Count>
SHLO_DEVICE Count merge_path(const Lines& lines, const typename Lines::Item* a, Count na, const typename Lines::Item* b,
                             Count nb, Count diagonal) {
  Count low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;
  while (low < high) {
    const Count middle = low + (high - low) / 2;
    if (lines.before(b[diagonal - 1 - middle], a[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// V items of the merge of tile[x, x_end) and tile[y, y_end), as many as there are.
template <int V, class Lines>
SHLO_DEVICE void merge_run(const Lines& lines, const typename Lines::Item* tile, int x, int x_end, int y, int y_end,
                           typename Lines::Item* held) {
  typename Lines::Item p, q;
  if (x < x_end) p = tile[x];
  if (y < y_end) q = tile[y];
  SHLO_UNROLL for (int v = 0; v < V; ++v) {
    if (x >= x_end && y >= y_end) break;
    if (y >= y_end || (x < x_end && !lines.before(q, p))) {
      held[v] = p;
      if (++x < x_end) p = tile[x];
    } else {
      held[v] = q;
      if (++y < y_end) q = tile[y];
    }
  }
}

// Sort tile[0, count), count <= TEAM * V: every thread its V neighbours by transpositions, then rounds of merges.
template <int TEAM, int V, class Lines>
SHLO_DEVICE void sort_tile(const Lines& lines, typename Lines::Item* tile, int count, int thread) {
  using Item = typename Lines::Item;
  const int first = thread * V;
  Item held[V];
  SHLO_UNROLL for (int v = 0; v < V; ++v)
    if (first + v < count) held[v] = tile[first + v];
  SHLO_UNROLL for (int round = 0; round < V; ++round) {
    SHLO_UNROLL for (int v = round & 1; v + 1 < V; v += 2) {
      if (first + v + 1 < count && lines.before(held[v + 1], held[v])) {
        const Item other = held[v];
        held[v] = held[v + 1];
        held[v + 1] = other;
      }
    }
  }
  SHLO_UNROLL for (int v = 0; v < V; ++v)
    if (first + v < count) tile[first + v] = held[v];
  team_barrier<TEAM>();
  for (int width = V; width < count; width *= 2) {
    const int a = min_(first / (2 * width) * (2 * width), count);
    const int b = min_(a + width, count), end = min_(b + width, count);
    const int diagonal = min_(first, end) - a;
    const int x = a + merge_path(lines, tile + a, b - a, tile + b, end - b, diagonal);
    merge_run<V>(lines, tile, x, b, b + diagonal - (x - a), end, held);
    team_barrier<TEAM>();
    SHLO_UNROLL for (int v = 0; v < V; ++v)
      if (first + v < end) tile[first + v] = held[v];
    team_barrier<TEAM>();
  }
}

// Short lines, at most TEAM * V items each: a team of TEAM threads per line, T threads in a block.
template <int T, int TEAM, int V, class Lines>
SHLO_DEVICE void sort_short_lines(const Lines& lines, idx count, idx extent, idx keep) {
  constexpr int teams = T / TEAM;
  SHLO_SHARED(typename Lines::Item, tiles, T * V);
  const int thread = threadIdx.x % TEAM, team = threadIdx.x / TEAM;
  typename Lines::Item* const tile = tiles + team * (TEAM * V);
  for (int64_t start = (int64_t)blockIdx.x * teams; start < count; start += (int64_t)gridDim.x * teams) {
    const idx line = (idx)start + team;
    const int length = start + team < count ? (int)extent : 0;
    for (int at = thread; at < length; at += TEAM) tile[at] = lines.load(line, at);
    team_barrier<TEAM>();
    sort_tile<TEAM, V>(lines, tile, length, thread);
    const int wanted = min_((idx)length, keep);
    for (int at = thread; at < wanted; at += TEAM) lines.store(line, at, tile[at]);
  }
}

// Long lines, first launch: sort tiles of T * V items each, into `to` (or into the result, if a line is one tile).
template <int T, int V, class Lines>
SHLO_DEVICE void sort_tiles(const Lines& lines, idx count, idx extent, idx keep, char* to) {
  typename Lines::Item* const items = (typename Lines::Item*)(to + SHLO_SORT_HEADER);
  SHLO_SHARED(typename Lines::Item, tile, T * V);
  const int64_t tiles = ((int64_t)extent + (T * V - 1)) / (T * V);
  for (int64_t task = blockIdx.x; task < count * tiles; task += gridDim.x) {
    const idx line = (idx)(task / tiles), start = (idx)(task % tiles) * (T * V);
    const int length = (int)min_((idx)(T * V), (idx)(extent - start));
    if (task == 0 && threadIdx.x == 0 && extent > T * V) *(int64_t*)to = T * V;
    for (int at = threadIdx.x; at < length; at += T) tile[at] = lines.load(line, start + at);
    __syncthreads();
    sort_tile<T, V>(lines, tile, length, threadIdx.x);
    const int wanted = min_((idx)length, keep);
    for (int at = threadIdx.x; at < wanted; at += T) {
      if (extent <= T * V)
        lines.store(line, start + at, tile[at]);
      else
        items[line * extent + start + at] = tile[at];
    }
  }
}

// Long lines, each following launch: merge neighbouring runs, a tile of the result per block. The launch whose runs are
// whole lines writes the result. Of every run only the first `keep` items are there.
template <int T, int V, class Lines>
SHLO_DEVICE void merge_tiles(const Lines& lines, idx count, idx extent, idx keep, const char* from, char* to) {
  typedef typename Lines::Item Item;
  Item* const merged = (Item*)(to + SHLO_SORT_HEADER);
  const int64_t width = *(const int64_t*)from;
  SHLO_SHARED(Item, tile, T * V);
  SHLO_SHARED(idx, split, 2);
  const int thread = threadIdx.x;
  const int64_t tiles = ((int64_t)extent + (T * V - 1)) / (T * V);
  for (int64_t task = blockIdx.x; task < count * tiles; task += gridDim.x) {
    const idx line = (idx)(task / tiles), start = (idx)(task % tiles) * (T * V);
    const idx a = (idx)(start / (2 * width) * (2 * width));
    const idx b = (idx)min_(a + width, (int64_t)extent), end = (idx)min_(b + width, (int64_t)extent);
    const idx count_a = min_((idx)(b - a), keep), count_b = min_((idx)(end - b), keep);
    const int64_t wanted = min_((int64_t)count_a + count_b, (int64_t)keep) - (start - a);
    const Item* const items = (const Item*)(from + SHLO_SORT_HEADER) + line * extent;
    if (task == 0 && thread == 0) *(int64_t*)to = 2 * width;
    if (wanted <= 0) continue;
    const int length = (int)min_((int64_t)(T * V), wanted);
    if (thread < 2)
      split[thread] = merge_path(lines, items + a, count_a, items + b, count_b, (idx)(start - a + thread * length));
    __syncthreads();
    const idx x = split[0], y = start - a - x;
    const int from_a = (int)min_(max_((idx)(split[1] - x), (idx)0), (idx)length), from_b = length - from_a;
    for (int at = thread; at < length; at += T) tile[at] = at < from_a ? items[a + x + at] : items[b + y + (at - from_a)];
    __syncthreads();
    Item held[V];
    const int first = thread * V, diagonal = min_(first, length);
    const int p = merge_path(lines, tile, from_a, tile + from_a, from_b, diagonal);
    merge_run<V>(lines, tile, p, from_a, from_a + diagonal - p, length, held);
    __syncthreads();
    SHLO_UNROLL for (int v = 0; v < V; ++v)
      if (first + v < length) tile[first + v] = held[v];
    __syncthreads();
    for (int at = thread; at < length; at += T) {
      if (2 * width >= extent)
        lines.store(line, start + at, tile[at]);
      else
        merged[line * extent + start + at] = tile[at];
    }
  }
}
