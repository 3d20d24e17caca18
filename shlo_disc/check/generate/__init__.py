"""Random StableHLO programs: well typed, with open and fixed sizes, of the ops and patterns that compilers fuse."""
