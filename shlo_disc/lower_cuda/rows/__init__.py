"""Row kernels in CUDA: the assignment of rows to threads, and its cost.

In: a `RowKernel`. Out: its text in several variants, each with guards and a cost by sizes. Variants may be added, and
costs changed: they only choose between variants that are right.
"""
