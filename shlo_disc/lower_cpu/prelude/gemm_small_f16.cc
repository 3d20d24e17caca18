// Batches of small matrix products of f16.
#include "gemm_small.h"

typedef Real<f16, float> Kind;
SHLO_GEMM_SMALL(f16, Kind::Single)
