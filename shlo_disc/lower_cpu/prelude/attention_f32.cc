// Attention of f32.
#include "attention_online.h"

SHLO_ATTENTION(f32, float)
