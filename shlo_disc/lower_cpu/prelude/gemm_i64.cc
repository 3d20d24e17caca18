// Matrix products of i64.
#include "gemm_product.h"

typedef Real<uint64_t, uint64_t> Kind;
SHLO_GEMM(i64, Kind)
