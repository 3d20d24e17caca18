"""The NumPy type of every element type."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.expr.dtypes import DType

Array: TypeAlias = NDArray[Any]


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy type of an element type; types that NumPy lacks come from ml_dtypes.

    Raises `ShloDiscError` if that is not installed.
    """
    try:
        return np.dtype(dtype.numpy)
    except TypeError:
        try:
            import ml_dtypes  # noqa: PLC0415  # needed for rare types only
        except ImportError as error:
            message = f"numbers of type {dtype.value} need the package ml_dtypes: pip install ml_dtypes"
            raise ShloDiscError(message) from error
        return np.dtype(getattr(ml_dtypes, dtype.numpy))
