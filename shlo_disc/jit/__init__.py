"""`shlo_disc.jit`: compile a function of JAX once for all sizes, and transform it as JAX does.

In: a Python function that JAX can trace, and calls of it. Out: results, gradients and batches from compiled programs.
`function.py` is what users get, `family.py` decides which program serves a call, `tracing.py` traces with symbolic
sizes, `derivatives.py` and `primitive.py` differentiate and batch what was traced. What a symbolic trace takes for
granted has to be recorded (`comparisons.py`), so that `family.py` can tell for which sizes it is right.
"""
