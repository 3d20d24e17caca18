// Scans of lines. `Scan` says what is combined:
//   struct Item                                       a running combination
//   Item start() const                                the neutral element
//   Item load(idx line, idx at) const                 element `at` in the direction of the scan
//   Item combined(const Item& before, const Item& after) const    associative
//   void store(idx line, idx at, const Item&) const
// A team (a warp, or the whole block) takes TEAM * V elements at a time: every thread combines its V neighbours, shuffles
// and shared memory combine the threads' totals, and the total of everything before is carried on.
#pragma once
#include "values/shuffle.cuh"
#include "sort/sort.cuh"

// The combination of `total` of all threads before this one in the team (`start` in the first), and of all of them in
// `all`. A barrier of the team comes before `warps` is written again.
template <int TEAM, class Scan, class Item>
SHLO_DEVICE Item totals_before(const Scan& scan, Item total, Item* warps, int thread, Item& all) {
  const int lane = thread % 32;
  SHLO_UNROLL for (int distance = 1; distance < 32; distance *= 2) {
    const Item other = shuffle_up(total, distance);
    if (lane >= distance) total = scan.combined(other, total);
  }
  Item before = shuffle_up(total, 1);
  if (lane == 0) before = scan.start();
  all = shuffle_idx(total, 31);
  if constexpr (TEAM > 32) {
    if (lane == 31) warps[thread / 32] = total;
    __syncthreads();
    Item earlier = scan.start();
    all = scan.start();
    SHLO_UNROLL for (int warp = 0; warp < TEAM / 32; ++warp) {
      if (warp == thread / 32) earlier = all;
      all = scan.combined(all, warps[warp]);
    }
    before = scan.combined(earlier, before);
  }
  return before;
}

// Scan the elements [begin, end) of a line, after `carry`; only their total if not STORE. Returns the total with `carry`.
template <int TEAM, int V, bool STORE, class Scan, class Item>
SHLO_DEVICE Item scan_run(const Scan& scan, Item* tile, Item* warps, idx line, idx begin, idx end, int thread, Item carry) {
  for (int64_t from = begin; from < end; from += TEAM * V) {
    const idx start = (idx)from;
    const int count = (int)min_((int64_t)(TEAM * V), (int64_t)end - from), first = thread * V;
    for (int at = thread; at < count; at += TEAM) tile[at] = scan.load(line, start + at);
    team_barrier<TEAM>();
    Item own = first < count ? tile[first] : scan.start();
    SHLO_UNROLL for (int v = 1; v < V; ++v)
      if (first + v < count) own = scan.combined(own, tile[first + v]);
    Item all;
    own = scan.combined(carry, totals_before<TEAM>(scan, own, warps, thread, all));
    carry = scan.combined(carry, all);
    if constexpr (STORE) {
      SHLO_UNROLL for (int v = 0; v < V; ++v)
        if (first + v < count) tile[first + v] = own = scan.combined(own, tile[first + v]);
      team_barrier<TEAM>();
      for (int at = thread; at < count; at += TEAM) scan.store(line, start + at, tile[at]);
    }
  }
  return carry;
}

// A thread per line.
template <class Scan>
SHLO_DEVICE void scan_by_threads(const Scan& scan, idx lines, idx extent) {
  for (int64_t task = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; task < lines; task += (int64_t)gridDim.x * blockDim.x) {
    const idx line = (idx)task;
    typename Scan::Item carry = scan.start();
    for (idx at = 0; at < extent; ++at) {
      carry = scan.combined(carry, scan.load(line, at));
      scan.store(line, at, carry);
    }
  }
}

// A team per line; blocks of T threads.
template <int T, int TEAM, int V, class Scan>
SHLO_DEVICE void scan_by_teams(const Scan& scan, idx lines, idx extent) {
  typedef typename Scan::Item Item;
  SHLO_SHARED(Item, tiles, T * V);
  SHLO_SHARED(Item, warps, T / 32);
  const int thread = threadIdx.x % TEAM, team = threadIdx.x / TEAM;
  for (int64_t task = (int64_t)blockIdx.x * (T / TEAM) + team; task < lines; task += (int64_t)gridDim.x * (T / TEAM))
    scan_run<TEAM, V, true>(scan, tiles + team * (TEAM * V), warps, (idx)task, (idx)0, extent, thread, scan.start());
}

// Few long lines, in three launches: the totals of parts of P elements, what is before each part, the parts.
template <int T, int V, int P, class Scan>
SHLO_DEVICE void scan_totals(const Scan& scan, idx lines, idx extent, typename Scan::Item* totals) {
  typedef typename Scan::Item Item;
  SHLO_SHARED(Item, tile, T * V);
  SHLO_SHARED(Item, warps, T / 32);
  const int64_t parts = ((int64_t)extent + (P - 1)) / P;
  for (int64_t task = blockIdx.x; task < lines * parts; task += gridDim.x) {
    const int64_t begin = task % parts * P, end = min_(begin + P, (int64_t)extent);
    const Item total = scan_run<T, V, false>(scan, tile, warps, (idx)(task / parts), (idx)begin, (idx)end, (int)threadIdx.x, scan.start());
    if (threadIdx.x == 0) totals[task] = total;
  }
}

template <int T, int P, class Scan>
SHLO_DEVICE void scan_carries(const Scan& scan, idx lines, idx extent, typename Scan::Item* totals) {
  typedef typename Scan::Item Item;
  SHLO_SHARED(Item, warps, T / 32);
  const int64_t parts = ((int64_t)extent + (P - 1)) / P;
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    Item carry = scan.start();
    for (int64_t from = 0; from < parts; from += T) {
      const int64_t part = from + threadIdx.x;
      const Item total = part < parts ? totals[line * parts + part] : scan.start();
      Item all;
      const Item before = totals_before<T>(scan, total, warps, (int)threadIdx.x, all);
      if (part < parts) totals[line * parts + part] = scan.combined(carry, before);
      carry = scan.combined(carry, all);
      __syncthreads();
    }
  }
}

template <int T, int V, int P, class Scan>
SHLO_DEVICE void scan_parts(const Scan& scan, idx lines, idx extent, const typename Scan::Item* totals) {
  typedef typename Scan::Item Item;
  SHLO_SHARED(Item, tile, T * V);
  SHLO_SHARED(Item, warps, T / 32);
  const int64_t parts = ((int64_t)extent + (P - 1)) / P;
  for (int64_t task = blockIdx.x; task < lines * parts; task += gridDim.x) {
    const int64_t begin = task % parts * P, end = min_(begin + P, (int64_t)extent);
    scan_run<T, V, true>(scan, tile, warps, (idx)(task / parts), (idx)begin, (idx)end, (int)threadIdx.x, totals[task]);
  }
}
