// Batches of small matrix products of i8.
#include "gemm_pairs.h"
#include "gemm_small.h"

typedef Pairs<int8_t> Kind;
SHLO_GEMM_SMALL(i8, Kind::Single)
