"""The NumPy functions with which op records say what an op computes: what everything else is tested against.

Nothing here is shared with `functions.numpy_math` and the modules below it, by which element rules are evaluated, but
for the names of types and functions: an error in one of the two is seen by the other. Functions of floats are computed
in the next wider type (f64 for f32, `long double` for f64) and rounded.
"""
