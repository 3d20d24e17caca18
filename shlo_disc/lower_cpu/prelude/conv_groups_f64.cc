// Convolutions in groups of f64.
#include "conv_indirect.h"

SHLO_CONVOLUTION(groups_f64, double, Whole<double>, true)
