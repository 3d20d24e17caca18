"""The CUDA target: groups as CUDA kernels in several variants each, and the host program that launches them."""
