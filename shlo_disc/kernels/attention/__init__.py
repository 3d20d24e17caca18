"""Attention as one kernel, forward and backward.

In: groups that are attention together. Out: kernels of formulas over scores, which no memory holds.
"""
