"""Random StableHLO programs: well typed, with open and fixed sizes, of the ops and patterns that compilers fuse.

In: a seed. Out: text, sizes to call it with, and the values of its arguments. Patterns may be added; a seed then gives
other programs.
"""
