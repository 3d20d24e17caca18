"""Builds kernels from groups of ops: rows x stages, or templates.

In: a group of ops. Out: a target-independent kernel. Extension points: passes over kernels, and templates. `kernel`
defines what a kernel may look like, and `kernel_check` enforces it.
"""
