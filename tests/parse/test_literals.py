"""Literals become the bytes that NumPy would hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dtypes import DType
from shlo_disc.ir.attributes import TensorType
from shlo_disc.parse.literals import decode_dense


def decode(spelling: str, dtype: DType, *shape: int) -> bytes:
    return decode_dense(spelling, TensorType(shape, dtype), NOWHERE).data


@pytest.mark.parametrize(
    ("spelling", "dtype", "shape", "data"),
    [
        ("true", DType.I1, (3,), "01"),
        ("[true, false]", DType.I1, (2,), "0100"),
        ("[[1], [-2]]", DType.I16, (2, 1), "0100feff"),
        ("18446744073709551615", DType.UI64, (), "ff" * 8),
        ("255", DType.I8, (), "ff"),
        ("[-1, 7]", DType.I4, (2,), "ff07"),
        ("1.5", DType.F32, (2,), "0000c03f"),
        ("0xFF800000", DType.F32, (), "000080ff"),
        ("[1.0, 0x7FC00000]", DType.F32, (2,), "0000803f0000c07f"),
        ("1.0", DType.F16, (), "003c"),
        ("[1.0, 0x7F80]", DType.BF16, (2,), "803f807f"),
        ("1.0", DType.F8E4M3FN, (), "38"),
        ("(1.0,-2.0)", DType.C64, (4,), "0000803f000000c0"),
        ("[(0x7FC00000,0.0)]", DType.C64, (1,), "0000c07f00000000"),
        ('"0x0000803F000000C0"', DType.F32, (2,), "0000803f000000c0"),
        ("", DType.F32, (0, 3), ""),
        ("[]", DType.I32, (0,), ""),
        ("1.0e39", DType.F32, (), "0000807f"),
    ],
)
def test_bytes(spelling: str, dtype: DType, shape: tuple[int, ...], data: str) -> None:
    assert decode(spelling, dtype, *shape) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("spelling", "shape", "splat"),
    [("1", (3,), True), ("[1, 1, 1]", (3,), False), ('"0x01"', (3,), True), ("1", (), True)],
)
def test_splat_is_what_is_spelled_once(spelling: str, shape: tuple[int, ...], splat: bool) -> None:
    assert decode_dense(spelling, TensorType(shape, DType.I8), NOWHERE).splat is splat


@given(
    hnp.arrays(
        st.sampled_from(["int8", "uint16", "int64", "float32", "float64"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements={"allow_nan": False},
    )
)
def test_lists_agree_with_numpy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    dtypes = {dtype.numpy: dtype for dtype in (DType.I8, DType.UI16, DType.I64, DType.F32, DType.F64)}
    spelling = repr(array.tolist()).replace("inf", "1e999") if array.size else ""
    assert decode(spelling, dtypes[array.dtype.name], *array.shape) == array.tobytes()
