"""Convolutions of types that no kernel has: they become convolutions of types that one has, and keep their results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.check.significands import significand_bits
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]

# The types of the operands and of the result.
TYPES = (
    "bf16 bf16", "f16 f32", "f8E5M2 f32", "i8 i32", "i8 i8", "ui8 i32", "i16 i32", "ui16 ui32", "i32 i32",
    "ui32 ui32", "i64 i64", "i8 ui32", "i4 i8", "i1 i1", "complex<f32> complex<f32>", "complex<f64> complex<f64>",
)  # fmt: skip
# batch, height and width of the input, which has 6 features; the result has 4: nothing, one element, primes.
SIZES = ((0, 5, 5), (1, 2, 3), (2, 7, 11), (1, 17, 64))
GROUPS, STRIDES, LOW, HIGH, GAPS = 2, (2, 1), (1, 0), (1, 2), (1, 2)
WEIGHTS = (3, 2, 6 // GROUPS, 4)


def convolution(case: str, number: int) -> str:
    operand, result = case.split()
    a, b, c = f"tensor<?x?x?x6x{operand}>", f"tensor<3x2x3x4x{operand}>", f"tensor<?x?x?x4x{result}>"
    return f"""
  %r{number} = stablehlo.convolution(%a{number}, %b{number})
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]}}
    {{feature_group_count = 2 : i64, batch_group_count = 1 : i64}} : ({a}, {b}) -> {c}"""


@pytest.fixture(scope="module")
def convolutions() -> shlo_disc.Compiled:
    """One convolution of each type, which share no sizes."""
    cases = [(number, *case.split()) for number, case in enumerate(TYPES)]
    arguments = ", ".join(f"%a{n}: tensor<?x?x?x6x{t}>, %b{n}: tensor<3x2x3x4x{t}>" for n, t, _ in cases)
    types = ", ".join(f"tensor<?x?x?x4x{result}>" for _, _, result in cases)
    body = "".join(convolution(case, number) for number, case in enumerate(TYPES))
    return shlo_disc.compile(f"""func.func @main({arguments}) -> ({types}) {{{body}
  return {", ".join(f"%r{n}" for n in range(len(cases)))} : {types}
}}""")


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Integers of the whole range, other numbers around 0."""
    if dtype == np.bool_:
        return rng.random(shape) < 0.1
    if dtype.kind in "iu" or dtype == ml_dtypes.int4:
        limits = ml_dtypes.iinfo(dtype)
        wide = np.uint64 if limits.min == 0 else np.int64
        return rng.integers(int(limits.min), int(limits.max), shape, wide, endpoint=True).astype(dtype)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if dtype.kind == "c" else found).astype(dtype)


def convolved(x: Array, w: Array, groups: int = GROUPS) -> Array:
    """Sum a matrix product per tap and group, in the type of the operands."""
    x = np.pad(x, ((0, 0), *zip(LOW, HIGH, strict=True), (0, 0)))
    reach = [(size - 1) * gap + 1 for size, gap in zip(w.shape, GAPS, strict=False)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(x.shape[1:3], reach, STRIDES, strict=True)]
    found = np.zeros((x.shape[0], *sizes, w.shape[3]), x.dtype)
    inputs, outputs = x.shape[3] // groups, w.shape[3] // groups
    for i, j, group in product(range(w.shape[0]), range(w.shape[1]), range(groups)):
        rows, columns = (_steps(at * gap, size, step)
                         for at, gap, size, step in zip((i, j), GAPS, sizes, STRIDES, strict=True))  # fmt: skip
        piece = x[:, rows, columns, group * inputs : (group + 1) * inputs]
        features = slice(group * outputs, (group + 1) * outputs)
        found[..., features] += piece @ w[i, j, :, features]
    return found


def _steps(start: int, count: int, step: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def agree(found: Array, x: Array, w: Array, what: str) -> None:
    """Integers wrap; floats are sums with the error that their type allows, rounded once."""
    kind = found.dtype.kind
    if kind in "iub":
        wanted = convolved(x.astype(np.int64), w.astype(np.int64)).astype(found.dtype)
        np.testing.assert_array_equal(found, wanted, what)
        return
    wide = np.complex128 if kind == "c" else np.float64
    left, right = x.astype(wide), w.astype(wide)
    exact, size = convolved(left, right), convolved(np.abs(left), np.abs(right))
    sums = 2.0**-52 if found.dtype == np.complex128 else 2.0**-23
    once = sums if kind == "c" else 2.0 ** -significand_bits(found.dtype)
    assert found.shape == exact.shape, what
    assert (np.abs(found.astype(wide) - exact) <= size * sums * 40 + np.abs(exact) * once).all(), what


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_all_types(convolutions: shlo_disc.Compiled, sizes: Sequence[int]) -> None:
    rng = np.random.default_rng(3)
    dtypes = [numpy_dtype(DType(case.split()[0])) for case in TYPES]
    pairs = [(draw(rng, (*sizes, 6), dtype), draw(rng, WEIGHTS, dtype)) for dtype in dtypes]
    found = convolutions(*(x for pair in pairs for x in pair))
    for case, got, (x, w) in zip(TYPES, found, pairs, strict=True):
        assert got.dtype == numpy_dtype(DType(case.split()[1]))
        agree(got, x, w, case)


BYTES = "i8 i32", "i8 i8", "ui8 i32", "ui8 ui8", "i8 i16"


@pytest.mark.parametrize("channels", [1, 6, 8])
@pytest.mark.parametrize("layout", ["b, 0, 1, f", "b, f, 0, 1"])
def test_bytes_without_groups_are_read_as_they_are(channels: int, layout: str) -> None:
    """Whether weights are bound or not."""
    first, bodies = layout == "b, f, 0, 1", list[str]()
    sizes = f"?x{channels}x?x?" if first else f"?x?x?x{channels}"
    for n, case in enumerate(BYTES):
        operand, result = case.split()
        bodies.append(f"""
  %r{n} = stablehlo.convolution(%a{n}, %b{n})
    dim_numbers = [{layout}]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]}}
    {{feature_group_count = 1 : i64, batch_group_count = 1 : i64}}
    : (tensor<{sizes}x{operand}>, tensor<3x2x{channels}x37x{operand}>) -> tensor<?x?x?x37x{result}>""")
    types = [case.split() for case in BYTES]
    arguments = ", ".join(
        [f"%b{n}: tensor<3x2x{channels}x37x{t}>" for n, (t, _) in enumerate(types)]
        + [f"%a{n}: tensor<{sizes}x{t}>" for n, (t, _) in enumerate(types)]
    )
    results = [f"tensor<?x?x?x37x{t}>" for _, t in types]
    run = shlo_disc.compile(f"""func.func @main({arguments}) -> ({", ".join(results)}) {{{"".join(bodies)}
  return {", ".join(f"%r{n}" for n in range(len(BYTES)))} : {", ".join(results)}
}}""")
    assert "shlo_conv_i8(" in run.kernels_source
    assert "shlo_conv_u8(" in run.kernels_source
    rng = np.random.default_rng(5)
    dtypes = [numpy_dtype(DType(operand)) for operand, _ in types]
    weights = [draw(rng, (3, 2, channels, 37), dtype) for dtype in dtypes]
    bound = run.bind(*weights)
    for size in SIZES:
        data = [draw(rng, (*size, channels), dtype) for dtype in dtypes]
        given = [np.ascontiguousarray(np.moveaxis(x, 3, 1)) if first else x for x in data]
        for got in (run(*weights, *given), bound(*given)):
            for case, found, x, w in zip(BYTES, got, data, weights, strict=True):
                wanted = convolved(x.astype(np.int64), w.astype(np.int64), groups=1).astype(found.dtype)
                np.testing.assert_array_equal(found, wanted, case)


def test_every_convolution_has_a_kernel(convolutions: shlo_disc.Compiled) -> None:
    """Those of complex numbers are four, two of which have the same text as the others."""
    source = convolutions.kernels_source
    assert "shlo_conv_groups_i16(" in source
    assert "shlo_conv_groups_i32(" in source
    assert "shlo_conv_groups_i64(" in source
    groups = convolutions.explain()
    assert groups.count("d_convolution") >= len(TYPES) + 2 * 3
