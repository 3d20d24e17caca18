"""Random StableHLO programs: well typed, with dynamic and static shapes, of ops and patterns that compilers fuse.

In: a seed. Out: the text of a module. Patterns may be added; a seed then gives other programs.
"""
