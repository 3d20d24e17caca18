"""Differential testing: run a program in several ways, compare the results, and shrink a program that differs.

In: StableHLO text, or a seed for random programs. Out: differences larger than rounding explains. New ways to run a
program go into `running`; tolerances are derived in `rounding`, never tuned to let a program pass.
"""
