// Attention of bf16 where the program leaves it to the target how exact the second product is.
#include "attention_rows.h"

SHLO_ATTENTION_OF_ROWS(bf16_half_rounded, bf16, BrainWords, BrainDots)
