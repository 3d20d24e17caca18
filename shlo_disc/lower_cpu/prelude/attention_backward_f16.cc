// Gradients of attention of f16.
#include "attention_gradients.h"

SHLO_ATTENTION_BACKWARD(f16, f16, f32, float)
