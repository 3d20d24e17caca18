// Convolutions of u8 in i32.
#include "conv_bytes.h"

SHLO_CONVOLUTION(u8, uint32_t, Fours<uint8_t>, false)
