// Attention of bf16.
#include "attention_online.h"

SHLO_ATTENTION(bf16, bf16, float)
