// Attention of f16.
#include "attention_rows.h"

SHLO_ATTENTION_OF_ROWS(f16, f16, Plain, Plain)
