// Convolutions of i32; unsigned, so that they wrap.
#include "conv_indirect.h"

SHLO_CONVOLUTION(i32, uint32_t, Whole<uint32_t>, false)
