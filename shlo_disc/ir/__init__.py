"""StableHLO programs as immutable data: element types, attributes, values, ops, regions, modules.

The parser or a user builds them. Values link ops, and names and locations are kept. Nothing here is specific to an op.
"""
