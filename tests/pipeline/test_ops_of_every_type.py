"""Elementwise ops on all element types: what is not refused compiles, of arguments, of constants, and in regions."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from shlo_disc.expr.numpy_math import numpy_dtype
from shlo_disc.ir.dtypes import DType
from tests.pipeline.every_op import accepted, main
from tests.pipeline.exports import FAST


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.INDEX])  # which no op computes
def test_what_is_accepted_compiles(dtype: DType) -> None:
    ops = accepted(dtype)
    ones = np.ones(3).astype(numpy_dtype(dtype))
    results = shlo_disc.compile(main(dtype, ops), options=FAST)(ones, ones)
    assert len(results) == len(ops) > 0
