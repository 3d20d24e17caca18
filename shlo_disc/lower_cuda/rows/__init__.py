"""Row kernels in CUDA: the assignment of rows to threads, and its cost."""
