"""Matrix products on the CPU: a `DotKernel` comes in, a `KernelBody` that calls the library of products goes out.

`multiplication` says which types there are kernels for, `selection` which schedule a call takes, `blocks` prints the
loop over blocks, `small` the form for small sizes, `packing` the kernel that packs an operand.
"""
