"""Row kernels as CUDA: which threads compute which rows, and what that costs."""
