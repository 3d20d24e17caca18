// Convolutions of f32.
#include "conv_indirect.h"

SHLO_CONVOLUTION(f32, float, Whole<float>, false)
