// Convolutions of i8 in i32.
#include "conv_bytes.h"

SHLO_CONVOLUTION(i8, uint32_t, Fours<int8_t>, false)
