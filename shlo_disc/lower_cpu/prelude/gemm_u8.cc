// Matrix products of u8.
#include "gemm_narrow.h"
#include "gemm_product.h"

SHLO_GEMM(u8, Bytes<uint8_t>)
