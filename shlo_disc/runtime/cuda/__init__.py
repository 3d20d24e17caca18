"""Programs on NVIDIA's GPUs, by CuPy, or by an emulator in tests.

In: an artifact and arrays on a device. Out: results there.
"""
