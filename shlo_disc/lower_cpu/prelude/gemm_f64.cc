// Matrix products of f64.
#include "gemm_product.h"

typedef Real<double, double> Kind;
SHLO_GEMM(f64, Kind)
