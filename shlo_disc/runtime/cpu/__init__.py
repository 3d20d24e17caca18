"""Programs on this machine's CPU.

In: an artifact of C++ kernels, and arrays in host memory. Out: results there.
"""
