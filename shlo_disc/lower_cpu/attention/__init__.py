"""Attention as C++: forward and backward.

In: the kernels of `kernels.attention`. Out: a `KernelBody` that calls the templates of `device/attention`, with its
extent, work and scratch as formulas of sizes. Which form computes which sizes may change.
"""
