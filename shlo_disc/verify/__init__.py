"""Does a program satisfy what the specification demands, op by op?

In: an `ir.Module`. Out: nothing, or the first constraint that is broken and where. The demands are in the records of
`dialects`; nothing here is specific to an op.
"""
