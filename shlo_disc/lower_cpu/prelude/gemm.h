// Matrix products: the interface between generated kernels and gemm.cc.
#pragma once
#include <stdint.h>
#define SHLO_GEMM_ROWS 384
#define SHLO_GEMM_COLUMNS 256
#define SHLO_GEMM_SCRATCH 1048576
