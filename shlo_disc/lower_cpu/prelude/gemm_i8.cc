// Matrix products of i8.
#include "gemm_narrow.h"
#include "gemm_product.h"

SHLO_GEMM(i8, Bytes<int8_t>)
