"""Matrix products on the CPU: from a `DotKernel` to a `KernelBody` that calls the library of products.

`multiplication`: kernels by element types. `selection`: the schedule of a call. `blocks`: the loop over blocks.
`small`: the form for small sizes. `packing`: the kernel that packs an operand. Element types may be added together with
their library in `device/gemm`; results are the same bits for any number of threads.
"""
