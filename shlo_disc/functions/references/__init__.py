"""NumPy reference functions of op records: the oracle that everything else is tested against.

Except for the names of types and functions, nothing is shared with `functions.numpy_math` and the modules below it,
which evaluate element rules: an error in one of the two shows in the comparison. Functions of floats are computed in
the next wider type (f64 for f32, `long double` for f64) and rounded.
"""
