// Batches of small matrix products of i16.
#include "gemm_pairs.h"
#include "gemm_small.h"

typedef Pairs<int16_t> Kind;
SHLO_GEMM_SMALL(i16, Kind::Single)
