// Convolutions with long windows of f32.
#include "conv_long.h"

SHLO_LONG_CONVOLUTION(f32, float)
