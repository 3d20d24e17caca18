// Matrix products of f32.
#include "gemm_product.h"

typedef Real<float, float> Kind;
SHLO_GEMM(f32, Kind)
