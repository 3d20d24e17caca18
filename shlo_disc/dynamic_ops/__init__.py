"""DHLO: what every op of the compiler means, in one definition each.

In: dims, element types, StableHLO's attributes. Out: `OpDef` records, programs of ops, and the reference interpreter.
Ops may be added by a record in the module of their family; no definition names a target.
"""
