// Attention of bf16, whose products are exact.
#include "attention_rows.h"

SHLO_ATTENTION_OF_ROWS(bf16, bf16, BrainWords, BrainWords)
