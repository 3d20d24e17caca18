"""The reference's arithmetic of elements."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from shlo_disc.functions.numpy_math import wide
from shlo_disc.ir.dtypes import DType, numpy_dtype

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.INDEX])
def test_only_narrow_types_are_computed_in_others(dtype: DType) -> None:
    """Also those of arrays that came from another process: NumPy says of their types that they are not its own."""
    here = np.ones(3, numpy_dtype(dtype))
    for x in (here, pickle.loads(pickle.dumps(here))):
        found = wide(x).dtype
        if dtype.is_narrow_float:
            assert found == np.float32
        elif dtype.is_narrow_integer:
            assert found.itemsize == 1
        else:
            assert found == x.dtype
