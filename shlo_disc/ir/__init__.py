"""StableHLO programs as immutable data: element types, attributes, values, ops, regions, modules.

The parser or a user builds them. Values link ops, and names and locations are kept. `spelling.py` writes types and
attributes. Nothing here is specific to an op.
"""
