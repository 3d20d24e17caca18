"""What the systems that shlo_disc follows are known for, measured anew on shlo_disc: a table for each of them.

In: a `Seed` for each system (its paper, what it reports, and a function that measures), one module each. Out: rows,
each of which is measured in that run, with what is dynamic and whether compilation is in it. `python -m
benchmarks.seeds` prints the tables and writes them as JSON.
"""
