// Attention of f16.
#include "attention_online.h"

SHLO_ATTENTION(f16, f16, float)
