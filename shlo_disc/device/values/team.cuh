// Teams: the threads that compute one row together. TEAM is 1 (a thread), a power of two below 32 (teams that share a
// warp), 32 (a warp), or the size of the block.
#pragma once
#include "math/math.cuh"
#include "values/shuffle.cuh"

// Unrolls loops over packs: two outstanding loads per thread saturate memory, and more cost registers.
#ifdef __CUDA_EMU__
#define SHLO_UNROLL_TWICE
#else
#define SHLO_UNROLL_TWICE _Pragma("unroll 2")
#endif

// The index of the thread's team in the grid, and the number of teams.
template <int TEAM> SHLO_DEVICE idx team_number(idx block) {
  return block * (idx)(blockDim.x / TEAM) + (idx)(threadIdx.x / TEAM);
}
template <int TEAM> SHLO_DEVICE idx team_count(idx blocks) { return blocks * (idx)(blockDim.x / TEAM); }

// Loops over rows have the form `for (first = team_first; first < rows; first += team_count)`. Teams that share a warp
// run as many iterations as the first of them, because they shuffle together; a team without a row gets the last row,
// and NO_LANE, which is beyond all points.
constexpr idx NO_LANE = (idx)(~(uint_t<idx>)0 >> 1);
template <int TEAM> constexpr bool shares_warp = 1 < TEAM && TEAM < 32;
template <int TEAM>
SHLO_DEVICE idx team_first(idx block) {
  return team_number<TEAM>(block) - (shares_warp<TEAM> ? (idx)(threadIdx.x % 32 / TEAM) : 0);
}
template <int TEAM>
SHLO_DEVICE idx team_row(idx first, idx rows) {
  return shares_warp<TEAM> ? min_(first + (idx)(threadIdx.x % 32 / TEAM), rows - 1) : first;
}
template <int TEAM>
SHLO_DEVICE idx team_lane(idx first, idx rows) {
  const bool has_row = !shares_warp<TEAM> || (idx)(threadIdx.x % 32 / TEAM) < rows - first;
  return has_row ? (idx)(threadIdx.x % TEAM) : NO_LANE;
}
// Tiles of rows, one row for each team of a block: all teams run as many iterations, because they fill tiles together.
template <int TEAM>
SHLO_DEVICE idx tile_row(idx tile, idx rows) {
  return min_(tile + (idx)(threadIdx.x / TEAM), rows - 1);
}
template <int TEAM>
SHLO_DEVICE idx tile_lane(idx tile, idx rows) {
  return (idx)(threadIdx.x / TEAM) < rows - tile ? (idx)(threadIdx.x % TEAM) : NO_LANE;
}

// A squad: the threads that reduce without a block barrier. It is the team itself, or a warp of a block.
template <int TEAM> constexpr int SQUAD = TEAM < 32 ? TEAM : 32;
template <int TEAM> SHLO_DEVICE idx squad_lane(idx lane) { return TEAM <= 32 ? lane : lane % 32; }
template <int TEAM> SHLO_DEVICE idx squad_number(idx lane) { return TEAM <= 32 ? 0 : lane / 32; }

// The first of `run` consecutive points assigned to one of COUNT threads.
template <int COUNT>
SHLO_DEVICE idx run_first(idx lane, idx run, idx points) {
  return lane < COUNT ? min_(lane * run, points) : points;
}

// Makes writes of the team (to shared or global memory) visible to all its threads.
template <int TEAM>
SHLO_DEVICE void team_sync() {
  if constexpr (1 < TEAM && TEAM <= 32) __syncwarp();
  if constexpr (TEAM > 32) __syncthreads();
}
// The same directly after team_reduce, which already has a block barrier.
template <int TEAM>
SHLO_DEVICE void team_sync_reduced() {
  if constexpr (1 < TEAM && TEAM <= 32) __syncwarp();
}

// Combines the values of COUNT (a power of two) adjacent lanes of a warp; all of them get the result. Adjacent lanes
// are joined first, the lower lane on the left: `join` need only be associative.
template <int COUNT, class T, class Join>
SHLO_DEVICE T squad_reduce(T mine, const Join& join) {
  SHLO_UNROLL for (int mask = 1; mask < COUNT; mask *= 2) {
    const T other = shuffle_xor(mine, mask);
    mine = (threadIdx.x & mask) ? join(other, mine) : join(mine, other);
  }
  return mine;
}
// The same for a team; all its threads must call this equally often. `parity` alternates between two halves of the shared
// memory, so that one barrier suffices: the next call's barrier separates the reads of a half from its next writes.
template <int TEAM, class T, class Join>
SHLO_DEVICE T team_reduce(T mine, const Join& join, int& parity) {
  mine = squad_reduce<SQUAD<TEAM>>(mine, join);
  if constexpr (TEAM > 32) {
    constexpr int warps = TEAM / 32;
    SHLO_SHARED(T, partials, 2 * warps);
    if (threadIdx.x % 32 == 0) partials[parity * warps + threadIdx.x / 32] = mine;
    __syncthreads();
    mine = squad_reduce<warps>(partials[parity * warps + threadIdx.x % warps], join);
    parity ^= 1;
  }
  return mine;
}
