// Attention of f64.
#include "attention_online.h"

SHLO_ATTENTION(f64, double)
