// Batches of small matrix products of c128.
#include "gemm_small.h"

typedef Complexes<double> Kind;
SHLO_GEMM_SMALL(c128, Kind::Single)
