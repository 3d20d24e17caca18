// Attention of bf16 where the program leaves it to the target how exact products are.
#include "attention_rows.h"

SHLO_ATTENTION_OF_ROWS(bf16_rounded, bf16, BrainDots, BrainDots)
