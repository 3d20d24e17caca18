"""The spelling of CUDA: that of C with a few changes, as the device prelude has the same scalar functions."""

from __future__ import annotations

import math
from typing import ClassVar

from shlo_disc.emit.spelling import Spelling
from shlo_disc.ir.dtypes import DType


class CudaSpelling(Spelling):
    """CUDA C++ for NVRTC: sizes and offsets are `idx`, 32 or 64 bits wide."""

    index: ClassVar[str] = "idx"

    def float_const(self, value: float, dtype: DType) -> str:
        """A float literal that round-trips; NVRTC has no builtins for NaN and infinities."""
        kind = "f64" if dtype is DType.F64 else "f32"
        if math.isnan(value):
            return f"nan_{kind}()"
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}inf_{kind}()"
        return super().float_const(value, dtype)

    def convert(self, x: str, source: DType, target: DType) -> str:
        """StableHLO's convert; an index is extended to the 64 bits of its type."""
        if source in (DType.INDEX, DType.I64) and target is DType.I64:
            return f"to_i64({x})"
        return super().convert(x, source, target)
