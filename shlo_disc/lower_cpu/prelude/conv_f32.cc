// conv.cc for one element type: half the compile time.
#define SHLO_ONLY_F32
#include "conv.cc"
