"""Steps and memory of a program.

Input: kernels in a legal order. Output: the host program, its buffers, and the artifact for the runtime.
Every host program is verified for all sizes: changes here have to pass `verify`.
"""
