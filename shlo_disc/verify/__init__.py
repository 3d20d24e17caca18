"""What StableHLO demands of an op, constraint by constraint.

In: an `ir.Module`. Out: nothing, or the first constraint that is broken and where. Rules go by the numbers of the
specification; for each there is a program that it refuses (`tests/verify/refused`).
"""
