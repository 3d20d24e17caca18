"""Products of every element type, and of mixed ones, at sizes around blocks; prologues and epilogues go with them."""

from __future__ import annotations

from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.check.significands import significand_bits
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.options import CompileOptions

Array = NDArray[Any]

_ALGORITHM = (
    ", algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,"
    " lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,"
    " allow_imprecise_accumulation = false>"
)

# The type of both operands, that of the result, and which operand is transposed.
INTEGERS = ("i8 i32 -", "i8 i8 b", "ui8 i32 a", "i16 i32 b", "ui16 ui32 -", "ui16 ui16 a", "ui32 ui32 b", "i64 i64 -")
FLOATS = (
    "f16 f16 -", "bf16 bf16 b", "bf16 f32 a", "f8E5M2 f32 -",
    "complex<f32> complex<f32> b", "complex<f64> complex<f64> a",
)  # fmt: skip
# m, k, n: empty, a vector, few rows and columns, primes, beyond a block of rows and beyond packed depths.
SIZES = (
    (0, 3, 4), (3, 0, 4), (1, 1, 1), (1, 67, 130), (5, 63, 17), (9, 16, 33), (70, 33, 1), (97, 101, 3), (65, 64, 65),
    (3, 1100, 70), (200, 1101, 70),
)  # fmt: skip


def program(case: str) -> str:
    operand, result, turned = case.split()
    a, c = (f"tensor<?x?x{name}>" for name in (operand, result))
    dims = f"[{int(turned != 'a')}] x [{int(turned == 'b')}]"
    return f"""func.func @main(%a: {a}, %b: {a}) -> {c} {{
  %c = stablehlo.dot_general %a, %b, contracting_dims = {dims} : ({a}, {a}) -> {c}
  return %c : {c}
}}"""


def draw(rng: np.random.Generator, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Integers of the whole range, other numbers around 0."""
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if dtype.kind in "iu" or dtype == ml_dtypes.int4:
        limits = ml_dtypes.iinfo(dtype)
        return rng.integers(int(limits.min), int(limits.max), shape, np.dtype(f"{'u' * (limits.min == 0)}int64"),
                            endpoint=True).astype(dtype)  # fmt: skip
    return rng.standard_normal(shape).astype(dtype)


def agree(found: Array, a: Array, b: Array, integer: bool, what: str) -> None:
    """Integers wrap; floats are sums with the error that their type allows, rounded once."""
    if integer:
        left, right = (x.astype(np.uint64 if x.dtype == np.uint64 else np.int64).view(np.uint64) for x in (a, b))
        np.testing.assert_array_equal(found, (left @ right).astype(found.dtype), what)
        return
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    left, right, got = (x.astype(wide) for x in (a, b, found))
    sums = 2.0**-52 if found.dtype.name in ("float64", "complex128") else 2.0**-23
    once = 2.0 ** -significand_bits(found.dtype) if found.dtype.kind != "c" else sums
    bound = np.abs(left) @ np.abs(right) * (sums * (2 * a.shape[1] + 2)) + np.abs(left @ right) * once
    assert (np.abs(got - left @ right) <= bound).all(), what


@pytest.mark.parametrize("case", [*INTEGERS, *FLOATS])
def test_all_types_and_sizes(case: str) -> None:
    run, rng = shlo_disc.compile(program(case)), np.random.default_rng(5)
    operand, result, turned = case.split()
    for m, k, n in SIZES:
        a, b = (draw(rng, shape, numpy_dtype(DType(operand))) for shape in ((m, k), (k, n)))
        sides = (np.ascontiguousarray(x.T) if name == turned else x for name, x in (("a", a), ("b", b)))
        (found,) = run(*sides)
        assert found.dtype == numpy_dtype(DType(result))
        agree(found, a, b, case in INTEGERS, f"{case} {m} x {k} x {n}")


FUSED = """
func.func @main(%a: tensor<?x?xTYPE>, %b: tensor<?x?xTYPE>) -> tensor<?x?xTYPE> {
  %x = stablehlo.negate %a : tensor<?x?xTYPE>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0]
    : (tensor<?x?xTYPE>, tensor<?x?xTYPE>) -> tensor<?x?xTYPE>
  %z = stablehlo.add %y, %y : tensor<?x?xTYPE>
  return %z : tensor<?x?xTYPE>
}
"""


def results_of(name: str, a: Array, b: Array) -> Array:
    run = shlo_disc.compile(FUSED.replace("TYPE", name))
    assert len(run.executable.artifact.steps) == 1, "one kernel: prologue, product and epilogue"
    (found,) = run(a, b)
    return found


@pytest.mark.parametrize("name", ["f16", "bf16", "complex<f32>"])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_row_and_column(name: str, special: float) -> None:
    dtype = numpy_dtype(DType(name))
    for m, k, n in ((1, 70, 70), (70, 35, 33), (70, 64, 3)):
        a, b = np.ones((m, k), dtype), np.ones((k, n), dtype)
        a[m - 1, k - 1] = b[k - 1, n - 1] = special
        found = results_of(name, a, b)
        assert (found[:-1, :-1] == -2 * k).all()
        assert not np.isfinite(found[-1]).any()
        assert not np.isfinite(found[:, -1]).any()


VIEWS = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<2x4x5xf32>) -> (tensor<?x3xf32>, tensor<2x4x3xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<3x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0]
    : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %3 = stablehlo.iota dim = 1 : tensor<3x3x5xf32>
  %4 = stablehlo.transpose %3, dims = [1, 2, 0] : (tensor<3x3x5xf32>) -> tensor<3x5x3xf32>
  %5 = stablehlo.convolution(%y, %4) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x4x5xf32>, tensor<3x5x3xf32>) -> tensor<2x4x3xf32>
  return %2, %5 : tensor<?x3xf32>, tensor<2x4x3xf32>
}
"""


def test_views_of_what_has_no_memory() -> None:
    """Products read operands by their strides; positions have none until they are stored."""
    run, rng = shlo_disc.compile(VIEWS), np.random.default_rng(7)
    x, y = rng.standard_normal((3, 4), np.float32), rng.standard_normal((2, 4, 5), np.float32)
    product, convolved = run(x, y)
    np.testing.assert_allclose(product, np.outer(x.sum(1), np.arange(3)), rtol=1e-5, atol=1e-5)
    padded = np.pad(y.sum(2), ((0, 0), (1, 1)))
    wanted = padded[:, 1:5] + 2 * padded[:, 2:6]
    np.testing.assert_allclose(convolved, np.repeat(wanted[..., None], 3, 2), rtol=1e-5, atol=1e-5)


# Operands, result, and the algorithm: types of both operands and of sums, and how many products.
ALGORITHMS = (
    ("f8E5M2", "f32", "f8E5M2", "f32", 1), ("f16", "f16", "f16", "f16", 1), ("f16", "f32", "f16", "f32", 1),
    ("bf16", "bf16", "bf16", "bf16", 1), ("bf16", "f32", "bf16", "f32", 1), ("f32", "f32", "bf16", "f32", 3),
    ("f32", "f32", "bf16", "f32", 6), ("f32", "f32", "bf16", "f32", 9), ("f32", "f32", "tf32", "f32", 1),
    ("f32", "f32", "tf32", "f32", 3), ("f32", "f32", "f32", "f32", 1), ("f32", "f32", "f64", "f64", 1),
    ("f64", "f64", "f64", "f64", 1),
)  # fmt: skip


def algorithms() -> str:
    """One product by each algorithm of the specification; operands are rounded to the types that it takes."""
    lines, results = list[str](), list[str]()
    for k, (operand, result, part, sums, count) in enumerate(ALGORITHMS):
        lines += [
            f"%l{k} = stablehlo.convert %x : (tensor<?x?xf64>) -> tensor<?x?x{operand}>",
            f"%r{k} = stablehlo.convert %y : (tensor<?x?xf64>) -> tensor<?x?x{operand}>",
            f"%p{k} = stablehlo.dot_general %l{k}, %r{k}, contracting_dims = [1] x [0], algorithm = "
            f"<lhs_precision_type = {part}, rhs_precision_type = {part}, accumulation_type = {sums}, "
            f"lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = {count}, "
            f"allow_imprecise_accumulation = false> : (tensor<?x?x{operand}>, tensor<?x?x{operand}>) -> "
            f"tensor<?x?x{result}>",
            f"%c{k} = stablehlo.convert %p{k} : (tensor<?x?x{result}>) -> tensor<?x?xf64>",
        ]
        results.append("tensor<?x?xf64>")
    values, types = ", ".join(f"%c{k}" for k in range(len(ALGORITHMS))), ", ".join(results)
    body = "\n".join(lines)
    head = "func.func @main(%x: tensor<?x?xf64>, %y: tensor<?x?xf64>)"
    return f"{head} -> ({types}) {{\n{body}\nreturn {values} : {types}\n}}"


def test_every_algorithm_is_at_least_as_exact_as_it_says() -> None:
    """Sums of numbers whose large parts cancel: f64 keeps what f32 loses; nothing is rounded to tf32 or bf16."""
    run, rng = shlo_disc.compile(algorithms(), options=shlo_disc.CompileOptions(optimize=0)), np.random.default_rng(3)
    for m, k, n in ((1, 1, 1), (5, 33, 7), (64, 128, 17)):
        x, y = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        x, y = np.concatenate([x * 1e3, x * -1e3, x], 1), np.concatenate([y, y, y])
        for (operand, result, _, sums, _), found in zip(ALGORITHMS, run(x, y), strict=True):
            kind = numpy_dtype(DType(operand))
            a, b = (one.astype(kind).astype(np.float64) for one in (x, y))
            wanted, size = a @ b, np.abs(a) @ np.abs(b)
            rounding = {"f16": 2**-10, "bf16": 2**-7, "f32": 2.0**-23, "f64": 2.0**-52}[result]
            summing = 2.0**-52 if sums == "f64" else 2.0**-23
            error = np.abs(found - wanted)
            assert (error <= 4 * k**0.5 * summing * size + rounding * np.abs(wanted)).all(), (operand, sums)


@pytest.mark.parametrize(
    ("attribute", "demanded", "library"),
    [
        ("", "default", "gemm_bf16_rounded"),
        (", precision = [DEFAULT, HIGHEST]", "default", "gemm_bf16"),
        (_ALGORITHM, "default", "gemm_bf16"),
        ("", "highest", "gemm_bf16"),
    ],
)
def test_products_of_bf16_are_exact_where_a_program_or_an_option_says_so(
    attribute: str, demanded: Literal["default", "highest"], library: str
) -> None:
    text = (
        "func.func @main(%a: tensor<?x70xbf16>, %b: tensor<70x90xbf16>) -> tensor<?x90xf32> {\n"
        f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]{attribute}"
        " : (tensor<?x70xbf16>, tensor<70x90xbf16>) -> tensor<?x90xf32>\n"
        "  return %0 : tensor<?x90xf32>\n}"
    )
    run = shlo_disc.compile(text, options=CompileOptions(matmul_precision=demanded))
    assert library in {name for kernel in run.executable.artifact.kernels for name in kernel.libraries}
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((5, 70), (70, 90)))
    left, right = a.astype(np.float64), b.astype(np.float64)
    bound = np.abs(left) @ np.abs(right) * (2 * 70 * np.finfo(np.float32).eps)
    assert (np.abs(np.asarray(run(a, b)) - left @ right) <= bound).all()
