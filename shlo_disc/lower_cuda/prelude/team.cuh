// Teams: the threads that compute one row together. TEAM is 1 (a thread), 32 (a warp) or the size of the block.
#pragma once
#include "shuffle.cuh"

// The thread's place in its team, the number of its team in the grid, and how many teams the grid has.
template <int TEAM> SHLO_DEVICE idx team_lane() { return (idx)(threadIdx.x % TEAM); }
template <int TEAM> SHLO_DEVICE idx team_number() {
  return (idx)blockIdx.x * (idx)(blockDim.x / TEAM) + (idx)(threadIdx.x / TEAM);
}
template <int TEAM> SHLO_DEVICE idx team_count() { return (idx)gridDim.x * (idx)(blockDim.x / TEAM); }

// The threads that reduce together without a barrier: the thread itself, or its warp.
template <int TEAM> constexpr int SQUAD = TEAM < 32 ? TEAM : 32;

// What the team has written (to shared or global memory) can be read by all of it.
template <int TEAM>
SHLO_DEVICE void team_sync() {
  if constexpr (TEAM == 32) __syncwarp();
  if constexpr (TEAM > 32) __syncthreads();
}
// The same right after a reduction of the team: a block has waited there already.
template <int TEAM>
SHLO_DEVICE void team_sync_reduced() {
  if constexpr (TEAM == 32) __syncwarp();
}

// Combine the values of COUNT (a power of two) neighbouring lanes of a warp; all of them get the result. Neighbours are
// joined first, the lower lane on the left: `join` may be any associative function.
template <int COUNT, class T, class Join>
SHLO_DEVICE T squad_reduce(T mine, const Join& join) {
  SHLO_UNROLL for (int mask = 1; mask < COUNT; mask *= 2) {
    const T other = shuffle_xor(mine, mask);
    mine = (threadIdx.x & mask) ? join(other, mine) : join(mine, other);
  }
  return mine;
}
// The same for a team; all its threads call this equally often. `turn` alternates between two halves of the shared
// memory, so one barrier is enough: who writes a half again has passed the barrier that follows its last read.
template <int TEAM, class T, class Join>
SHLO_DEVICE T team_reduce(T mine, const Join& join, int& turn) {
  mine = squad_reduce<SQUAD<TEAM>>(mine, join);
  if constexpr (TEAM > 32) {
    constexpr int warps = TEAM / 32;
    SHLO_SHARED(T, partials, 2 * warps);
    if (threadIdx.x % 32 == 0) partials[turn * warps + threadIdx.x / 32] = mine;
    __syncthreads();
    mine = squad_reduce<warps>(partials[turn * warps + threadIdx.x % warps], join);
    turn ^= 1;
  }
  return mine;
}
