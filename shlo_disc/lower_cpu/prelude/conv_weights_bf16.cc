// Weights of bf16, packed as f32.
#include "conv_weights.h"

SHLO_CONVOLUTION_WEIGHTS(bf16, bf16)
