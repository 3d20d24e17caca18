"""Fourier transforms, computed by a library."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.opdef import Arrays, OpDef, Template, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.records import record


class Transform(Enum):
    """The forms of StableHLO's fft."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@record
class FftAttrs:
    """Transforms the last `rank` dims; their lengths are those of the side whose last dim is not halved."""

    transform: Transform
    rank: int


def _fft_reference(op: Op[FftAttrs], inputs: Arrays) -> Arrays:
    """Transform by NumPy in double precision."""
    (x,), (result,) = inputs, op.results
    shape = concrete_shape(result.shape)
    found: NDArray[Any]
    if not np.prod(shape):
        found = np.zeros(shape)
    else:
        axes = tuple(range(x.ndim - op.attrs.rank, x.ndim))
        wide = x.astype(np.float64 if op.attrs.transform is Transform.RFFT else np.complex128)
        match op.attrs.transform:
            case Transform.FFT:
                found = np.fft.fftn(wide, axes=axes)
            case Transform.IFFT:
                found = np.fft.ifftn(wide, axes=axes)
            case Transform.RFFT:
                found = np.fft.rfftn(wide, axes=axes)
            case Transform.IRFFT:
                found = np.fft.irfftn(wide, [shape[axis] for axis in axes], axes)
    return (found.astype(numpy_dtype(result.dtype)),)


FFT = OpDef(
    name="d_fft",
    attrs=FftAttrs,
    template=Template.LIBRARY,
    element=None,
    reference=plain(_fft_reference),
)
OPS = (FFT,)
