// Matrix products of bf16, whose products are exact.
#include "gemm_narrow.h"
#include "gemm_product.h"

SHLO_GEMM(bf16, BrainPairs)
