"""C++ and CUDA headers that generated code includes (the *prelude*), by subject.

In: the name of a header or of a library. Out: its text. `.h` is for the CPU, and for both targets where a `.cuh`
includes it; `.cuh` is for CUDA. A folder per subject: `call` (calls, the thread pool, what kernels include), `values`
(types, vectors, loads and stores, exchange between lanes), `math` (functions), `gemm`, `conv`, `attention`, `sort`
(sorts, scans, scatters) and `linear_algebra`. Whatever is here has to compile with gcc and clang, with NVRTC (`.cuh`),
and for the machines of `tests/device`.
"""
