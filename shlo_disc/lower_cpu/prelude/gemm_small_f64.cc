// Batches of small matrix products of f64.
#include "gemm_small.h"

typedef Real<double, double> Kind;
SHLO_GEMM_SMALL(f64, Kind::Single)
