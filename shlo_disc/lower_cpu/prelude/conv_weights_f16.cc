// Weights of f16, packed as f32.
#include "conv_weights.h"

SHLO_CONVOLUTION_WEIGHTS(f16, f16)
