"""The ops of StableHLO and CHLO, a module for each family.

In: slots, constraints and forms of `dialects`. Out: an `OpRecord` for each op, which `dialects.table` collects. A
record may be added to the module of its family.
"""
