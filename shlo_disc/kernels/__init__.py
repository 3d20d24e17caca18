"""Groups of ops become kernels: rows x stages, and templates.

In: a group of ops. Out: a kernel, for no target in particular. Passes over kernels and templates may be added; what a
kernel may look like is said in `kernel` and held by `kernel_check`.
"""
