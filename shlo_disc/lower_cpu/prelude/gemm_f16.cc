// Matrix products of f16.
#include "gemm_narrow.h"
#include "gemm_product.h"

SHLO_GEMM(f16, Halves)
