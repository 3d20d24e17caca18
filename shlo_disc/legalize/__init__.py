"""StableHLO to DHLO.

In: a verified module of `ir`. Out: a `dynamic_ops.Program`, whose shapes are dims, and demands of sizes. A rule
per op, or per family of ops; rules may be added, the frame that calls them is shared by all.
"""
