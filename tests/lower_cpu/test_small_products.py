"""Batches of products so small that one call of the prelude computes many: all types, layouts and epilogues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.check.significands import significand_bits
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]

# The types of the operands and of the result.
TYPES = (
    "f32 f32", "f64 f64", "bf16 bf16", "f16 f32", "i8 i32", "ui8 ui8", "i16 i32", "i32 i32", "ui64 ui64",
    "complex<f32> complex<f32>", "complex<f64> complex<f64>",
)  # fmt: skip
# batch, m, k, n: nothing, one element, registers of all widths and just beyond, no multiples of tiles, the largest that
# are small, and the smallest that are not; more products than one call takes.
SIZES = (
    (0, 3, 3, 3), (5, 0, 3, 3), (4, 2, 0, 3), (7, 1, 1, 1), (300, 3, 3, 3), (41, 3, 5, 7), (9, 8, 8, 8), (3, 9, 4, 9),
    (5, 16, 16, 16), (33, 2, 64, 2), (3, 16, 64, 15), (2, 17, 3, 4), (2, 3, 4, 17), (2, 3, 65, 4),
)  # fmt: skip


def plain(operand: str, result: str, number: int) -> str:
    a, c = (f"tensor<?x?x?x{name}>" for name in (operand, result))
    return f"""
  %p{number} = stablehlo.dot_general %a{number}, %b{number}, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : ({a}, {a}) -> {c}
  %r{number} = stablehlo.negate %p{number} : {c}"""


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Integers of the whole range, other numbers around 0."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if dtype.kind == "c" else found).astype(dtype)


def agree(found: Array, a: Array, b: Array, what: str) -> None:
    """Integers wrap; floats are sums with the error that their type allows, rounded once."""
    if found.dtype.kind in "iu":
        wrapped = a.astype(found.dtype) @ b.astype(found.dtype)
        np.testing.assert_array_equal(found, wrapped, what)
        return
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    left, right = a.astype(wide), b.astype(wide)
    sums = 2.0**-52 if found.dtype.itemsize == 8 * (1 + (found.dtype.kind == "c")) else 2.0**-23
    once = 2.0 ** -significand_bits(found.dtype) if found.dtype.kind != "c" else sums
    bound = np.abs(left) @ np.abs(right) * (sums * (2 * a.shape[-1] + 2)) + np.abs(left @ right) * once
    assert found.shape == (left @ right).shape, what
    assert (np.abs(found.astype(wide) - left @ right) <= bound).all(), what


@pytest.fixture(scope="module")
def products() -> shlo_disc.Compiled:
    """The negated product of a pair of operands for each of the types, which share no sizes."""
    cases = [tuple(numbered.split()) for numbered in TYPES]
    arguments = ", ".join(
        f"%{letter}{n}: tensor<?x?x?x{operand}>" for n, (operand, _) in enumerate(cases) for letter in "ab"
    )
    types = ", ".join(f"tensor<?x?x?x{result}>" for _, result in cases)
    body = "".join(plain(operand, result, n) for n, (operand, result) in enumerate(cases))
    results = ", ".join(f"%r{n}" for n in range(len(cases)))
    return shlo_disc.compile(f"""func.func @main({arguments}) -> ({types}) {{{body}
  return {results} : {types}
}}""")


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_all_types_and_sizes(products: shlo_disc.Compiled, sizes: tuple[int, int, int, int]) -> None:
    batch, m, k, n = sizes
    rng = np.random.default_rng(5)
    dtypes = [numpy_dtype(DType(case.split()[0])) for case in TYPES]
    pairs = [(draw(rng, (batch, m, k), dtype), draw(rng, (batch, k, n), dtype)) for dtype in dtypes]
    found = products(*(x for pair in pairs for x in pair))
    for case, got, (a, b) in zip(TYPES, found, pairs, strict=True):
        assert got.dtype == numpy_dtype(DType(case.split()[1]))
        agree(-got, a, b, case)


HEADS = """
func.func @main(%q: tensor<?x?x?x?xTYPE>, %k: tensor<?x?x?x?xTYPE>, %s: tensor<?xTYPE>) -> tensor<?x?x?x?xTYPE> {
  %p = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : (tensor<?x?x?x?xTYPE>, tensor<?x?x?x?xTYPE>) -> tensor<?x?x?x?xTYPE>
  %d0 = stablehlo.get_dimension_size %p, dim = 0 : (tensor<?x?x?x?xTYPE>) -> tensor<i32>
  %d1 = stablehlo.get_dimension_size %p, dim = 1 : (tensor<?x?x?x?xTYPE>) -> tensor<i32>
  %d2 = stablehlo.get_dimension_size %p, dim = 2 : (tensor<?x?x?x?xTYPE>) -> tensor<i32>
  %d3 = stablehlo.get_dimension_size %p, dim = 3 : (tensor<?x?x?x?xTYPE>) -> tensor<i32>
  %e0 = stablehlo.reshape %d0 : (tensor<i32>) -> tensor<1xi32>
  %e1 = stablehlo.reshape %d1 : (tensor<i32>) -> tensor<1xi32>
  %e2 = stablehlo.reshape %d2 : (tensor<i32>) -> tensor<1xi32>
  %e3 = stablehlo.reshape %d3 : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %e0, %e1, %e2, %e3, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
  %w = stablehlo.dynamic_broadcast_in_dim %s, %shape, dims = [1]
    : (tensor<?xTYPE>, tensor<4xi32>) -> tensor<?x?x?x?xTYPE>
  %r = stablehlo.add %p, %w : tensor<?x?x?x?xTYPE>
  %t = stablehlo.transpose %r, dims = [0, 2, 1, 3] : (tensor<?x?x?x?xTYPE>) -> tensor<?x?x?x?xTYPE>
  return %t : tensor<?x?x?x?xTYPE>
}
"""


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_heads_side_by_side(name: str) -> None:
    """Two loops over products, columns that are not adjacent, and an epilogue that writes in another order."""
    run, dtype = shlo_disc.compile(HEADS.replace("TYPE", name)), numpy_dtype(DType(name))
    assert run.kernels_source.count("shlo_gemm_small_") == 1
    rng = np.random.default_rng(6)
    for b, h, m, n, k in ((3, 2, 4, 5, 3), (1, 30, 8, 8, 16), (5, 1, 16, 3, 64), (2, 3, 1, 1, 1), (0, 2, 3, 3, 3)):
        q, keys, s = (draw(rng, shape, dtype) for shape in ((b, m, h, k), (b, n, h, k), (h,)))
        (found,) = run(q, keys, s)
        wanted = np.einsum("bmhk,bnhk->bmhn", q.astype(np.float64), keys.astype(np.float64))
        wanted += s.astype(np.float64)[:, None]
        near = 2.0 ** (4 - significand_bits(dtype))
        np.testing.assert_allclose(found.astype(np.float64), wanted, near, near * k)


def test_whole_products_change_places() -> None:
    """What an epilogue stores of a product is one line, but the products lie in another order."""
    run = shlo_disc.compile("""
func.func @main(%a: tensor<?x?x?x?xf32>, %b: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> {
  %p = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
    : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %t = stablehlo.transpose %p, dims = [1, 0, 2, 3] : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %t : tensor<?x?x?x?xf32>
}""")
    assert run.kernels_source.count("shlo_gemm_small_") == 1
    a, b = (draw(np.random.default_rng(7), shape, np.dtype(np.float32)) for shape in ((3, 2, 4, 5), (3, 2, 5, 6)))
    (found,) = run(a, b)
    np.testing.assert_allclose(found, (a @ b).transpose(1, 0, 2, 3), 1e-5, 1e-5)


def test_static_sizes_choose_the_form_while_compiling() -> None:
    text = """func.func @main(%a: tensor<40x3xNxf32>, %b: tensor<40xNx3xf32>) -> tensor<40x3x3xf32> {
  %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<40x3xNxf32>, tensor<40xNx3xf32>) -> tensor<40x3x3xf32>
  return %c : tensor<40x3x3xf32>
}"""
    small, large = (shlo_disc.compile(text.replace("N", size)).kernels_source for size in ("4", "80"))
    assert "shlo_gemm_small_f32(" in small
    assert "shlo_gemm_f32(" not in small
    assert "shlo_gemm_small_f32(" not in large


@pytest.mark.parametrize("name", ["f32", "bf16", "i8"])
def test_parts_of_matrices(name: str) -> None:
    """Between what one product reads and what the next one does lie other rows, also where each has a single row."""
    whole, other = f"tensor<?x5x6x{name}>", f"tensor<?x6x7x{name}>"
    run = shlo_disc.compile(f"""
func.func @main(%a: {whole}, %b: {other}) -> (tensor<?x1x7x{name}>, tensor<?x2x7x{name}>) {{
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %size = stablehlo.get_dimension_size %a, dim = 0 : ({whole}) -> tensor<i32>
  %count = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %first = stablehlo.constant dense<[0, 1, 0]> : tensor<3xi32>
  %steps = stablehlo.constant dense<1> : tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %six = stablehlo.constant dense<6> : tensor<1xi32>
  %end1 = stablehlo.concatenate %count, %two, %six, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %end2 = stablehlo.concatenate %count, %three, %six, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %row = stablehlo.real_dynamic_slice %a, %first, %end1, %steps
    : ({whole}, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<?x1x6x{name}>
  %rows = stablehlo.real_dynamic_slice %a, %first, %end2, %steps
    : ({whole}, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<?x2x6x{name}>
  %c = stablehlo.dot_general %row, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<?x1x6x{name}>, {other}) -> tensor<?x1x7x{name}>
  %d = stablehlo.dot_general %rows, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<?x2x6x{name}>, {other}) -> tensor<?x2x7x{name}>
  return %c, %d : tensor<?x1x7x{name}>, tensor<?x2x7x{name}>
}}""")
    assert run.kernels_source.count("shlo_gemm_small_") == 2
    rng, dtype = np.random.default_rng(8), numpy_dtype(DType(name))
    for batch in (1, 40):
        a, b = draw(rng, (batch, 5, 6), dtype), draw(rng, (batch, 6, 7), dtype)
        for found, rows in zip(run(a, b), (a[:, 1:2], a[:, 1:3]), strict=True):
            agree(found, rows, b, name)
