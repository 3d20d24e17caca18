// Convolutions of i64; unsigned, so that they wrap.
#include "conv_indirect.h"

SHLO_CONVOLUTION(i64, uint64_t, Whole<uint64_t>, false)
