// Gradients of attention of f32.
#include "attention_gradients.h"

SHLO_ATTENTION_BACKWARD(f32, float, f32, float)
