"""Compile generated text, own memory and launch kernels.

In: an artifact and arrays. Out: results. Imports nothing of the compiler: the artifact holds all that it needs. A
device may be added as a package with a `Backend` and an `Executable`.
"""
