"""Compile generated text, through the cache on disk.

In: files of C++ or CUDA. Out: shared objects and modules. Compilers may be added to `toolchain`; whatever changes the
machine code belongs in the key of the cache.
"""
