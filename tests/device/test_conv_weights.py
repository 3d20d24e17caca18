"""Weights of bf16 and f16 of the CPU prelude's convolutions are packed as the same numbers in f32 are."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.device.conv_call import ShloConv, describe
from tests.device.conv_cases import Case, Floats
from tests.device.test_conv import COMPILERS, build, packed_size

TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("conv_weights")
    names = ("f32", "groups_f32", *(f"weights_{name}" for name in TYPES))
    return ctypes.CDLL(str(build(str(request.param), folder, names, "")))


def pack(library: ctypes.CDLL, case: Case, conv: ShloConv) -> Floats:
    """What is packed, and what lies behind it."""
    blocks, size = packed_size(case)
    found = np.full(size + 16, 7, np.float32)
    kind = "f32" if case.groups == 1 else "groups_f32"
    function = getattr(library, f"shlo_conv_pack_{kind}")
    function(ctypes.byref(conv), ctypes.c_int64(0), ctypes.c_int64(blocks), ctypes.c_void_p(found.ctypes.data))
    return found


CASES = (
    Case((9, 9), (3, 3), 16, 64),
    Case((9, 9), (3, 2), 7, 3, reverse=(False, True)),
    Case((9, 9), (1, 1), 33, 65),
    Case((9, 9), (2, 5), 1, 127, reverse=(True, False)),
    Case((9, 9), (3, 3), 34, 48, groups=2),
)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("order", ["*IO", "OI*", "*OI", "IO*"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_become_f32(library: ctypes.CDLL, case: Case, order: str, name: str) -> None:
    """All that 16 bits can be: also infinities, NaNs and subnormal numbers."""
    case = replace(case, weights=order)
    x, w = case.operands()
    places = np.argsort(w.strides)[::-1]  # of dims in memory
    bits = np.random.default_rng(5).integers(0, 1 << 16, [w.shape[k] for k in places], np.uint16)
    narrow: Any = bits.view(TYPES[name]).transpose(np.argsort(places))
    wide = narrow.astype(np.float32)
    conv, same = describe(case, x, narrow), describe(case, x, wide)
    conv.pack = ctypes.cast(getattr(library, f"shlo_conv_weights_{name}"), ctypes.c_void_p).value
    np.testing.assert_array_equal(pack(library, case, conv), pack(library, case, same))
