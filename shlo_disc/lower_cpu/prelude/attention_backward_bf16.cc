// Gradients of attention of bf16.
#include "attention_gradients.h"

SHLO_ATTENTION_BACKWARD(bf16, bf16, f32, float)
