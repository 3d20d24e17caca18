"""The CPU target: C++ with explicit vectors.

In: kernels and the host program. Out: C++ files, the libraries that they link, and the artifact's steps. The printed
code may change as long as one and several threads give bit-identical results. Independent of other targets.
"""
