// Batches of small matrix products of u8.
#include "gemm_pairs.h"
#include "gemm_small.h"

typedef Pairs<uint8_t> Kind;
SHLO_GEMM_SMALL(u8, Kind::Single)
