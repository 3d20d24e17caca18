// Gradients of attention of f64.
#include "attention_gradients.h"

SHLO_ATTENTION_BACKWARD(f64, double, f64, double)
