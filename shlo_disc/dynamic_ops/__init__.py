"""DHLO: one definition for each op of the compiler.

In: dims, element types, StableHLO's attributes. Out: `OpDef` records, programs of ops, and the reference interpreter.
Ops may be added by a record in the module of their family; no definition names a target.
"""
