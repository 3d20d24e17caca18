"""How large a program may be, and where the compiler stops putting things together.

What is twice as long takes about twice as long to compile (docs/explanation/compile_time.md). The first part refuses
programs that no one has written so far, with an error that says which limit; the second bounds formulas, which do not
grow with the program: what is longer is named, stored or looked at apart, and means the same.
"""

from __future__ import annotations

# What a program may be
MOST_NESTED = 80  # brackets around each other in its text, so also loops in loops; aliases may add as many again
MOST_OPS = 250_000  # ops, those of a called function once for every call
MOST_NESTED_CALLS = 100  # functions that call functions
MOST_REGION_DEPTH = 128  # ops that need each other, in a region that combines elements: they are one formula
MOST_SIZES = 4096  # elements of a tensor that are read as sizes
LARGEST_SIZE = 1 << 62  # of a dim that is a number
LARGEST_FACTOR = 1 << 48  # that a size is multiplied by to become another one

# What is put together
LARGEST_GROUP = 96  # ops of one kernel
LONGEST_VIEWS = 32  # reshapes, transposes, slices … of each other that are one index formula
DEEPEST_FORMULA = 48  # elements that need each other before the innermost is computed first, for want of stack
MOST_INDIRECTIONS = 6  # elements whose index is an element whose index … in one kernel
MOST_LOOKED_THROUGH = 24  # integer ops that bounds of another one are found through
MOST_ROOMS = 64  # other sizes that are proven to have room for a temporary, of results and donated arguments
MOST_HOSTS = 256  # buffers that a temporary is tried to be put in
MOST_JOINED = 32  # operands of a concatenation, each a case of one formula
