// Convolutions of f64.
#include "conv_indirect.h"

SHLO_CONVOLUTION(f64, double, Whole<double>, false)
