// Convolutions in groups of i32; unsigned, so that they wrap.
#include "conv_indirect.h"

SHLO_CONVOLUTION(groups_i32, uint32_t, Whole<uint32_t>, true)
