"""What CUDA adds to the C spelling: the device prelude has the same vocabulary, one element at a time."""

from __future__ import annotations

from typing import ClassVar

from shlo_disc.codegen.spelling import Spelling


class CudaSpelling(Spelling):
    """CUDA C++ for NVRTC: sizes and offsets are `idx`, 32 or 64 bits wide."""

    index: ClassVar[str] = "idx"
