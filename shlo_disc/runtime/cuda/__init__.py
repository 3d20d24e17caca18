"""Programs on NVIDIA's GPUs, by CuPy, or by an emulator in tests.

In: an artifact and arrays on a device. Out: results there. All that needs a GPU is behind the protocol of `device`:
what is added there, the emulator of the tests needs, too.
"""
