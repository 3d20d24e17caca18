// Batches of small matrix products of f32.
#include "gemm_small.h"

typedef Real<float, float> Kind;
SHLO_GEMM_SMALL(f32, Kind::Single)
