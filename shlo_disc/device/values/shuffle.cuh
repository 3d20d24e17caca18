// Values of other lanes of the warp, for all value types; all 32 lanes take part. Part of the vocabulary of
// call/shlo.cuh.
#pragma once
#include "values/types.cuh"

#define SHLO_SHUFFLE(name, intrinsic, other)                                                    \
  template <class T>                                                                            \
  SHLO_DEVICE T name(T v, int other) {                                                          \
    constexpr int count = (sizeof(T) + 3) / 4;                                                  \
    uint32_t words[count] = {};                                                                 \
    memcpy(words, &v, sizeof v);                                                                \
    SHLO_UNROLL for (int k = 0; k < count; ++k) words[k] = intrinsic(0xffffffffu, words[k], other); \
    memcpy(&v, words, sizeof v);                                                                \
    return v;                                                                                   \
  }
SHLO_SHUFFLE(shuffle_xor, __shfl_xor_sync, mask)
SHLO_SHUFFLE(shuffle_down, __shfl_down_sync, delta)  // beyond the last lane: the lane's own value
SHLO_SHUFFLE(shuffle_up, __shfl_up_sync, delta)      // before the first lane: the lane's own value
SHLO_SHUFFLE(shuffle_idx, __shfl_sync, lane)
