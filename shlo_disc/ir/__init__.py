"""StableHLO programs as immutable data: element types, attributes, values, ops, regions, modules.

In: what the parser read, or a user built. Out: the same, connected, with names and locations. It knows no op.
"""
