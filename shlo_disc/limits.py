"""Limits of the size of a program, and of what the compiler combines.

A program that is twice as long takes about twice as long to compile (docs/explanation/compile_time.md). Programs beyond
the first group of limits, larger than any known one, are refused with an error that names the limit. The second group
bounds formulas, which do not grow with the program: longer ones are named, stored or analyzed in parts, with the same
results.
"""

from __future__ import annotations

# Limits of a program
MOST_NESTED = 80  # brackets around each other in its text, so also loops in loops; aliases may add as many again
MOST_OPS = 250_000  # ops, those of a called function once for every call
MOST_NESTED_CALLS = 100  # functions that call functions
MOST_REGION_DEPTH = 128  # ops in a chain, in a region that combines elements: they are one formula
MOST_SIZES = 4096  # elements of a tensor that are read as sizes
LARGEST_SIZE = 1 << 62  # of a dim that is a number
LARGEST_FACTOR = 1 << 48  # that a size is multiplied by to become another one

# Limits of what is combined
LARGEST_GROUP = 96  # ops of one kernel
LONGEST_VIEWS = 32  # reshapes, transposes, slices … in a chain that are one index formula
DEEPEST_FORMULA = 48  # elements in a chain; in longer ones the innermost is computed first, to limit recursion
MOST_INDIRECTIONS = 6  # nested indices of one kernel: an element whose index is an element whose index …
MOST_LOOKED_THROUGH = 24  # integer ops that are inlined to find bounds of another one
MOST_ROOMS = 64  # sizes of results and donated arguments that are compared with a temporary's, by proofs
MOST_HOSTS = 256  # buffers that are tried as the memory of a temporary
MOST_JOINED = 32  # operands of a concatenation, each a case of one formula
