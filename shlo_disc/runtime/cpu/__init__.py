"""Programs on this machine's CPU.

In: an artifact of C++ kernels, and arrays in host memory. Out: results there. The steps of a program run in generated
code or in `vm`: a new kind of step needs both.
"""
