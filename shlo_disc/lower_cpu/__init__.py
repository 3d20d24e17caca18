"""The CPU target: C++ with explicit vectors.

In: kernels and the host program. Out: files of C++, the libraries that they link, and the artifact's steps. What is
printed here may change as long as it runs on one and on several threads to the bit; it knows nothing of other targets.
"""
