"""What padding and compilations cost for given sizes of calls, with XLA, which compiles for each shape, and without.

In: sizes, from a file, arrays or the report of a function of `jit`. Out: an `Advice`: ways to serve these calls, with
the work and the compilations of each. Nothing is compiled, and nothing of the compiler, JAX or NumPy is imported.
"""
