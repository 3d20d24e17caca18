// Matrix products of u8.
#include "gemm_pairs.h"
#include "gemm_product.h"

SHLO_GEMM(u8, Pairs<uint8_t>)
