// Matrix products of i32.
#include "gemm_product.h"

typedef Real<uint32_t, uint32_t> Kind;
SHLO_GEMM(i32, Kind)
