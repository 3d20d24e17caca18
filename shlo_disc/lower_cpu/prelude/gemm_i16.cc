// Matrix products of i16.
#include "gemm_pairs.h"
#include "gemm_product.h"

SHLO_GEMM(i16, Pairs<int16_t>)
