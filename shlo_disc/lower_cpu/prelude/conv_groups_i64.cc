// Convolutions in groups of i64; unsigned, so that they wrap.
#include "conv_indirect.h"

SHLO_CONVOLUTION(groups_i64, uint64_t, Whole<uint64_t>, true)
