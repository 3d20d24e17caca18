// Matrix products of bf16 where the program leaves it to the target how exact products are.
#include "gemm_narrow.h"
#include "gemm_product.h"

SHLO_GEMM(bf16_rounded, BrainProducts)
