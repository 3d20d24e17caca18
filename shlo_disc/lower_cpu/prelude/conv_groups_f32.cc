// Convolutions in groups of f32.
#include "conv_indirect.h"

SHLO_CONVOLUTION(groups_f32, float, Whole<float>, true)
