// Convolutions: the interface between generated kernels and conv.cc.
#pragma once
#define SHLO_CONV_ROWS 96
#define SHLO_CONV_COLUMNS 128
#define SHLO_CONV_SCRATCH 1048576
