// Matrix products of i8.
#include "gemm_pairs.h"
#include "gemm_product.h"

SHLO_GEMM(i8, Pairs<int8_t>)
