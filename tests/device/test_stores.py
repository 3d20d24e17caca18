"""Stores of the first elements of a vector, how many of which the compiler knows: nothing beyond them is written."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.device.compilers import COMPILERS, build

SOURCES = {"int32_t": np.int32, "int64_t": np.int64, "float": np.float32, "double": np.float64}
TARGETS = {
    "int8_t": ("to_i8", np.int8), "uint8_t": ("to_u8", np.uint8), "int16_t": ("to_i16", np.int16),
    "int32_t": ("to_i32", np.int32), "int64_t": ("to_i64", np.int64), "boolean": ("to_bool", np.bool_),
    "float": ("to_f32", np.float32), "double": ("to_f64", np.float64),
    "bf16": ("to_f32", ml_dtypes.bfloat16), "f16": ("to_f32", np.float16),
}  # fmt: skip
LANES, ROW = 16, 48  # of a vector; between the places that are stored to
# `first` stores the first element, then the first two, and so on, a row apart.
HARNESS = """
#include "call/kernel.h"
template <int N, class S, class T, class F>
static void first(const S* a, T* out, F convert) {{
  store_n(out + (N - 1) * {row}, convert(load(a)), N);
  if constexpr (N < {lanes}) first<N + 1>(a, out, convert);
}}
"""
FUNCTION = """
extern "C" void {source}_{target}(const {source}* a, {target}* out) {{
  first<1>(a, out, [](auto x) {{ return {convert}(x); }});
}}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_only_what_is_counted_is_written(compiler: str, tmp_path: Path) -> None:
    pairs = [(source, target) for source in SOURCES for target in TARGETS]
    functions = (FUNCTION.format(source=s, target=t, convert=TARGETS[t][0]) for s, t in pairs)
    library = build(compiler, HARNESS.format(row=ROW, lanes=LANES) + "".join(functions), tmp_path, "-O1")
    for source, target in pairs:
        given = np.arange(1, LANES + 1).astype(SOURCES[source])
        dtype = np.dtype(TARGETS[target][1])
        untouched = np.frombuffer(b"\1" * (LANES * ROW * dtype.itemsize), dtype)
        wanted = untouched.reshape(LANES, ROW).copy()
        for count in range(1, LANES + 1):
            wanted[count - 1, :count] = given[:count]
        found = untouched.reshape(LANES, ROW).copy()
        library[f"{source}_{target}"](ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(found.ctypes.data))
        assert found.tobytes() == wanted.tobytes(), f"{source} to {target}"
