// Matrix products of bf16.
#include "gemm_product.h"

typedef Real<bf16, float> Kind;
SHLO_GEMM(bf16, Kind)
