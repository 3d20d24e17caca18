"""Every elementwise op at special values crossed with each other, one program per element type, against XLA.

XLA flushes subnormal numbers and approximates some functions more roughly, whence the tolerances. Where it is known to
be wrong (`WRONG`), the result is tested elsewhere.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from tests.oracle import xla_reference

Array = NDArray[Any]

REAL = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor is_finite log log_plus_one logistic negate "
    "round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"
)
REAL_CHLO = (
    "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf "
    "lgamma sinh square"
)
REAL_BINARY = "add atan2 divide maximum minimum multiply power remainder subtract"
COMPLEX = (
    "abs cosine exponential exponential_minus_one imag log log_plus_one logistic negate real rsqrt sign sine sqrt "
    "tan tanh"
)
COMPLEX_CHLO = "acos acosh asin asinh atan atanh conj cosh sinh square"
COMPLEX_BINARY = "add divide multiply power subtract"
INTEGER = "abs negate sign count_leading_zeros not popcnt"
INTEGER_BINARY = (
    "add and divide maximum minimum multiply or remainder shift_left shift_right_arithmetic shift_right_logical "
    "subtract xor"
)
DIRECTIONS = "EQ NE LT LE GT GE"

FLOATS = (
    0, -0.0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2, 2.5, -2.5, 3, -3, 10, -10, 100, -100, 1e30, -1e30, 1e-30, -1e-30,
    np.inf, -np.inf, np.nan,
)  # fmt: skip
PARTS = (0, 1, -1, 0.5, -2, 30, -80, 1e-3)  # of complex numbers
INTEGERS = ("i8", "i32", "i64", "ui16", "ui32", "ui64")
TOLERANCE = {"f32": 1e-5, "f64": 1e-11, "bf16": 1.6e-2, "complex<f32>": 3e-5, "complex<f64>": 1e-11}
WRONG = {
    ("lgamma", 1.0),  # 5e-7 instead of 0
    ("maximum", 0.0), ("minimum", 0.0),  # of two zeros either, as reductions in any order have it
}  # fmt: skip


class Program:
    """A module of one function: unary ops of the first argument, binary ops of the others."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.names: list[str] = []
        self._lines: list[str] = []
        self._types: list[str] = []

    def unary(self, dialect: str, names: str) -> None:
        part = self.dtype.removeprefix("complex<").removesuffix(">")
        kinds = {"is_finite": "i1", "is_inf": "i1", "is_neg_inf": "i1", "is_pos_inf": "i1"}
        kinds |= dict.fromkeys(("abs", "real", "imag"), part)
        for name in names.split():
            kind = kinds.get(name, self.dtype)
            self._add(name, f"{dialect}.{name} %a : (tensor<?x{self.dtype}>) -> tensor<?x{kind}>", kind, dialect)

    def binary(self, names: str) -> None:
        for name in names.split():
            self._add(name, f"stablehlo.{name} %x, %y : tensor<?x{self.dtype}>", self.dtype)

    def compare(self, kind: str) -> None:
        signature = f"(tensor<?x{self.dtype}>, tensor<?x{self.dtype}>) -> tensor<?xi1>"
        for direction in DIRECTIONS.split():
            self._add(f"{direction} {kind}", f"stablehlo.compare {direction}, %x, %y, {kind} : {signature}", "i1")

    def _add(self, name: str, text: str, kind: str, dialect: str = "") -> None:
        if dialect == "chlo":
            text = text.replace("(", "").replace(")", "")
        self._lines.append(f"  %r{len(self.names)} = {text}")
        self._types.append(f"tensor<?x{kind}>")
        self.names.append(name)

    def text(self) -> str:
        arguments = ", ".join(f"%{name}: tensor<?x{self.dtype}>" for name in "axy")
        results, types = ", ".join(f"%r{k}" for k in range(len(self.names))), ", ".join(self._types)
        body = "\n".join(self._lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"


def crossed(values: Array) -> tuple[Array, Array, Array]:
    """The values, and all pairs of them."""
    x, y = (np.array(side, values.dtype) for side in zip(*product(values, values), strict=True))
    return values, x, y


def parts(x: Array) -> tuple[Array, ...]:
    """Real numbers in double."""
    if x.dtype.kind == "c":
        return np.real(x).astype(np.float64), np.imag(x).astype(np.float64)
    return (x.astype(np.float64),)


def check(program: Program, arrays: tuple[Array, Array, Array], tiny: float) -> None:
    """Every result like XLA's: equal, or both subnormal, or within the tolerance of the whole number's size."""
    text = program.text()
    with np.errstate(all="ignore"):
        found, wanted = shlo_disc.compile(text)(*arrays), xla_reference(text, arrays)
        for name, ours, theirs in zip(program.names, found, wanted, strict=True):
            got, exact = np.asarray(ours), np.asarray(theirs)
            first = arrays[0] if got.shape == arrays[0].shape else arrays[1]
            known = np.array([(name, float(abs(v))) in WRONG for v in parts(first)[0]])
            size = np.abs(exact.astype(np.complex128 if exact.dtype.kind == "c" else np.float64))
            for a, b in zip(parts(got), parts(exact), strict=True):
                near = abs(a - b) <= TOLERANCE.get(program.dtype, 0) * size
                same_zero = np.signbit(a) == np.signbit(b) if got.dtype.kind != "c" else True
                equal = ((a == b) & ((a != 0) | same_zero)) | (np.isnan(a) & np.isnan(b))
                if got.dtype.kind == "c":  # of finite arguments: XLA overflows on the way
                    equal |= ~np.isfinite(exact)
                right = equal | (near & np.isfinite(b) & (b != 0)) | ((abs(a) < tiny) & (abs(b) < tiny) & (tiny > 0))
                wrong = np.flatnonzero(~right & ~known)
                shown = [(v[wrong[0]] if v.shape == got.shape else None) for v in arrays] if wrong.size else ()
                assert not wrong.size, f"{name}{shown}: {got[wrong[0]]!r}, not {exact[wrong[0]]!r}"


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
def test_floats(dtype: str) -> None:
    program = Program(dtype)
    program.unary("stablehlo", REAL)
    program.unary("chlo", REAL_CHLO)
    program.binary(REAL_BINARY)
    program.compare("FLOAT")
    program.compare("TOTALORDER")
    kind = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}[dtype]
    check(program, crossed(np.array(FLOATS, kind)), 2.3e-308 if dtype == "f64" else 1.2e-38)


@pytest.mark.parametrize(("dtype", "kind"), [("complex<f32>", np.complex64), ("complex<f64>", np.complex128)])
def test_complex(dtype: str, kind: type[Any]) -> None:
    program = Program(dtype)
    program.unary("stablehlo", COMPLEX)
    program.unary("chlo", COMPLEX_CHLO)
    program.binary(COMPLEX_BINARY)
    values = np.array([complex(a, b) for a, b in product(PARTS, PARTS)], kind)
    _, x, y = crossed(values[::3])
    # a power of 0, and a quotient by it, have no one value; XLA's powers of large numbers overflow and vanish early
    pairs = (x != 0) & (y != 0) & (abs(x) < 9) & (abs(y) < 9)
    check(program, (values, x[pairs], y[pairs]), 1.2e-38)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    program = Program(dtype)
    limits = np.iinfo(dtype.replace("ui", "uint") if dtype.startswith("ui") else dtype.replace("i", "int"))
    signed = limits.min < 0
    program.unary("stablehlo", INTEGER if signed else INTEGER.removeprefix("abs negate sign "))
    program.binary(INTEGER_BINARY)
    program.compare("SIGNED" if signed else "UNSIGNED")
    few = (limits.min, limits.min + 1, -7, -3, -1, 0, 1, 2, 7, limits.bits - 1, limits.bits, limits.bits + 1,
           limits.max // 3, limits.max - 1, limits.max)  # fmt: skip
    check(program, crossed(np.array([v for v in few if v >= limits.min], limits.dtype)), 0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_elements_scattered_one_by_one_have_the_extremes_of_ieee(kind: type[Any]) -> None:
    """A NaN wins on either side, and -0 is smaller than +0: lone scalars take another way than vectors."""
    values = np.array([np.nan, -np.nan, -0.0, 0.0, 1, -1, np.inf, -np.inf], kind)
    x, y = (np.ravel(part) for part in np.meshgrid(values, values))
    bits = f"f{8 * x.itemsize}"
    text = "\n".join(
        [f"func.func @main(%x: tensor<?x{bits}>, %i: tensor<?x1xi32>, %y: tensor<?x{bits}>) -> "
         f"(tensor<?x{bits}>, tensor<?x{bits}>) {{"]
        + [f'''  %{n} = "stablehlo.scatter"(%x, %i, %y) ({{
    ^bb0(%a: tensor<{bits}>, %b: tensor<{bits}>):
      %c = stablehlo.{op} %a, %b : tensor<{bits}>
      stablehlo.return %c : tensor<{bits}>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
    : (tensor<?x{bits}>, tensor<?x1xi32>, tensor<?x{bits}>) -> tensor<?x{bits}>'''
           for n, op in enumerate(("maximum", "minimum"))]
        + [f"  return %0, %1 : tensor<?x{bits}>, tensor<?x{bits}>", "}"]
    )  # fmt: skip
    run = shlo_disc.compile(text, device="cpu")
    assert "max_alone(" in run.kernels_source
    largest, least = run(x, np.arange(x.size, dtype=np.int32)[::-1, None].copy(), y)
    before = (x[::-1] < y) | ((x[::-1] == y) & np.signbit(x[::-1]))  # the order of numbers, in which -0 is before +0
    for found, wanted in ((largest, np.where(before, y, x[::-1])), (least, np.where(before, x[::-1], y))):
        is_nan = np.isnan(x[::-1]) | np.isnan(y)
        np.testing.assert_array_equal(np.isnan(found[::-1]), is_nan)
        got = found[::-1][~is_nan]
        np.testing.assert_array_equal(got, wanted[~is_nan])
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted[~is_nan]))
