"""Run a program in several ways against each other, and find the smallest program that still differs.

In: StableHLO text, or a seed for random programs. Out: the differences that rounding does not allow. A way to run may
be added to `running`; how far results may differ is derived in `rounding`, never chosen to let a program pass.
"""
