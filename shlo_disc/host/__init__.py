"""Steps and memory of a program.

In: kernels in an order in which they can run. Out: the host program, its buffers, and the artifact of the runtime.
Every program is verified for all sizes: what changes here has to pass `verify`.
"""
