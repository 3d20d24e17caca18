// Convolutions of i32 that fit into i16.
#include "conv_indirect.h"

SHLO_CONVOLUTION(i16, uint32_t, LowHalves, false)
