// What benchmarks/gemm_narrow.py measures: products of row-major matrices of KIND, in the blocks that kernels ask for.
#include "gemm/timing.h"
#define TEXT(name) PASTE(name)
#define PASTE(name) SHLO_GEMM_TIMING(name)
TEXT(KIND)
