"""Compile generated text, through the cache on disk.

In: files of C++ or CUDA. Out: shared objects and modules.
"""
