// Convolutions with long windows of f64.
#include "conv_long.h"

SHLO_LONG_CONVOLUTION(f64, double)
