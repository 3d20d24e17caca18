"""The CUDA target: groups as CUDA kernels in several variants each, and the host program that launches them.

In: kernels and the host program. Out: files of CUDA, launches with their guards. Variants and schedules may be added;
it is independent of other targets.
"""
