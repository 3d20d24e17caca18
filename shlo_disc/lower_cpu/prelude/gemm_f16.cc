// Matrix products of f16.
#include "gemm_product.h"

typedef Real<f16, float> Kind;
SHLO_GEMM(f16, Kind)
