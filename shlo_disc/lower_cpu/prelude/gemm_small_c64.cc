// Batches of small matrix products of c64.
#include "gemm_small.h"

typedef Complexes<float> Kind;
SHLO_GEMM_SMALL(c64, Kind::Single)
