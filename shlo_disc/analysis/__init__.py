"""What is true of a program: element formulas, accesses, bounds of values.

In: a `dynamic_ops.Program`. Out: answers; nothing here changes a program. An analysis asks `dynamic_ops` for what an op
means, and may be added without touching any other.
"""
