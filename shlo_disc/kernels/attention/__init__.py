"""Attention as one kernel, forward and backward.

In: groups that together form attention. Out: kernels with formulas of the scores, which are never stored. What is
recognized may be extended: a group that is not stays several kernels.
"""
