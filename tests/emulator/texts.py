"""Small CUDA texts for tests of the emulator."""

from __future__ import annotations

HEAD = '#include "call/shlo.cuh"\n'


def line_of(text: str, mark: str) -> str:
    """The place of the one line that contains `mark`, as messages give it."""
    (number,) = [k for k, line in enumerate(text.splitlines(), 1) if mark in line]
    return f"kernels.cu:{number}"


def body(lines: str, threads: int = 64) -> str:
    """A kernel `k(float* y)`."""
    return f'{HEAD}extern "C" __global__ void __launch_bounds__({threads}) k(float* y) {{\n{lines}\n}}\n'
