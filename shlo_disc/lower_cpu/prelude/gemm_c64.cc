// Matrix products of c64.
#include "gemm_product.h"

SHLO_GEMM(c64, Complexes<float>)
