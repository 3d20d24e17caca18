// Batches of small matrix products of bf16.
#include "gemm_small.h"

typedef Real<bf16, float> Kind;
SHLO_GEMM_SMALL(bf16, Kind::Single)
