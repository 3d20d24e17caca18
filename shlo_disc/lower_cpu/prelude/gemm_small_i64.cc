// Batches of small matrix products of i64.
#include "gemm_small.h"

typedef Real<uint64_t, uint64_t> Kind;
SHLO_GEMM_SMALL(i64, Kind::Single)
