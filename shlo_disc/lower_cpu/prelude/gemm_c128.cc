// Matrix products of c128.
#include "gemm_product.h"

SHLO_GEMM(c128, Complexes<double>)
