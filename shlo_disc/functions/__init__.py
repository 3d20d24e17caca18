"""Elementwise functions, one record for each: its ops, its references, its name in generated code.

In: element types. Out: the members of `UnaryFn`, `BinaryFn` and `ComposedFn`, whose values are records, and NumPy's
versions of the functions. A function is added by a member: docs/how-to/add-an-op.md.
"""
