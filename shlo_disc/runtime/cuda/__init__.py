"""Programs on NVIDIA's GPUs, by CuPy or by what stands for it in tests.

In: an artifact and arrays on a device. Out: results there.
"""
