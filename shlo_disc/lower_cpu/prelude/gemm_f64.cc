// gemm.cc for one element type: half the compile time.
#define SHLO_ONLY_F64
#include "gemm.cc"
