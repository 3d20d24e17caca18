"""Programs for all sizes of functions that JAX traces at given sizes only, and of their derivatives and batches.

In: traces at several sizes. Out: a function that is traced with symbols, and for each new shape whether its trace is
that function's (`generalization.py`). `derivations.py` does so for what is derived from a function. A guess must never
serve a call: each new shape is traced and compared.
"""
