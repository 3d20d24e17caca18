// Batches of small matrix products of i32.
#include "gemm_small.h"

typedef Real<uint32_t, uint32_t> Kind;
SHLO_GEMM_SMALL(i32, Kind::Single)
