"""The references of functions of one and of two elements, by the kind of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shlo_disc.dynamic_ops.references import bits, complexes, floats, integers, special
from shlo_disc.dynamic_ops.references.formats import dtype_of, widened
from shlo_disc.dynamic_ops.references.integers import modular
from shlo_disc.expr.scalar import BinaryFn, UnaryFn
from shlo_disc.ir.dtypes import Array

Function = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class Reference:
    """One function of elements, for each kind of operands that it takes."""

    floats: Function | None = None
    complexes: Function | None = None
    integers: Function | None = None
    booleans: Function | None = None

    def __call__(self, *operands: Array) -> Array:
        """The function of arrays of one shape and one dtype, of which the result need not be."""
        dtype = dtype_of(operands[0])
        if dtype.is_complex:
            function = self.complexes
        elif dtype.is_float:
            function = self.floats
        else:
            function = self.booleans if dtype.is_bool else self.integers
        if function is None:
            raise TypeError(f"the function takes no {dtype.value}")
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))


def _both(real: Function, complex_: Function) -> Reference:
    return Reference(floats=floats.precisely(real), complexes=complexes.precisely(complex_))


def _directly(function: Function) -> Reference:
    return Reference(floats=floats.directly(function))


def _bitwise(of_bits: Function, of_booleans: Function) -> Reference:
    return Reference(integers=modular(of_bits), booleans=of_booleans)


UNARY: Mapping[UnaryFn, Reference] = {
    UnaryFn.ABS: Reference(
        floats.directly(floats.absolute),
        complexes.precisely(complexes.absolute),
        integers.absolute,
    ),
    UnaryFn.ACOS: _both(np.arccos, complexes.acos),
    UnaryFn.ACOSH: _both(np.arccosh, complexes.acosh),
    UnaryFn.ASIN: _both(np.arcsin, complexes.asin),
    UnaryFn.ASIN_ACOS_KERNEL: Reference(complexes=complexes.precisely(complexes.asin_acos_kernel)),
    UnaryFn.ASINH: _both(np.arcsinh, complexes.asinh),
    UnaryFn.ATAN: _both(np.arctan, complexes.atan),
    UnaryFn.ATANH: _both(np.arctanh, complexes.atanh),
    UnaryFn.BESSEL_I1E: _directly(special.bessel_i1e),
    UnaryFn.CBRT: _both(np.cbrt, complexes.cbrt),
    UnaryFn.CEIL: _directly(floats.ceil),
    UnaryFn.COSH: _both(np.cosh, complexes.cosh),
    UnaryFn.COSINE: _both(np.cos, complexes.cosine),
    UnaryFn.COUNT_LEADING_ZEROS: Reference(integers=integers.leading_zeros),
    UnaryFn.DIGAMMA: _directly(special.digamma),
    UnaryFn.ERF: _directly(special.erf),
    UnaryFn.ERF_INV: _directly(special.erf_inv),
    UnaryFn.ERFC: _directly(special.erfc),
    UnaryFn.EXPONENTIAL: _both(np.exp, complexes.exp),
    UnaryFn.EXPONENTIAL_MINUS_ONE: _both(np.expm1, complexes.expm1),
    UnaryFn.FLOOR: _directly(floats.floor),
    UnaryFn.IMAG: Reference(floats=np.zeros_like, complexes=np.imag),
    UnaryFn.IS_FINITE: _directly(floats.is_finite),
    UnaryFn.LGAMMA: _directly(special.lgamma),
    UnaryFn.LOG: _both(np.log, complexes.log),
    UnaryFn.LOG_PLUS_ONE: _both(np.log1p, complexes.log1p),
    UnaryFn.LOGISTIC: _both(floats.logistic, complexes.logistic),
    UnaryFn.NEGATE: Reference(floats.directly(np.negative), np.negative, integers.negate),
    UnaryFn.NOT: _bitwise(np.invert, np.logical_not),
    UnaryFn.POPCNT: Reference(integers=integers.ones),
    UnaryFn.REAL: Reference(floats=np.asarray, complexes=np.real),
    UnaryFn.ROUND_NEAREST_AFZ: _directly(floats.round_half_away),
    UnaryFn.ROUND_NEAREST_EVEN: _directly(floats.round_half_even),
    UnaryFn.RSQRT: _both(floats.rsqrt, complexes.rsqrt),
    UnaryFn.SIGN: Reference(floats.directly(floats.sign), complexes.precisely(complexes.sign), integers.sign),
    UnaryFn.SINE: _both(np.sin, complexes.sine),
    UnaryFn.SINH: _both(np.sinh, complexes.sinh),
    UnaryFn.SQRT: Reference(floats.directly(np.sqrt), complexes.precisely(complexes.sqrt)),
    UnaryFn.TAN: _both(np.tan, complexes.tan),
    UnaryFn.TANH: _both(np.tanh, complexes.tanh),
}

BINARY: Mapping[BinaryFn, Reference] = {
    BinaryFn.ADD: Reference(floats.directly(np.add), np.add, modular(np.add), np.logical_or),
    BinaryFn.AND: _bitwise(np.bitwise_and, np.logical_and),
    BinaryFn.ATAN2: _both(np.arctan2, complexes.atan2),
    BinaryFn.COMPLEX: Reference(floats=bits.complex_of),
    BinaryFn.DIVIDE: Reference(floats.directly(np.true_divide), complexes.precisely(complexes.divide), integers.divide),
    BinaryFn.MAXIMUM: Reference(floats.directly(floats.larger), complexes.larger, integers.larger, np.logical_or),
    BinaryFn.MINIMUM: Reference(floats.directly(floats.smaller), complexes.smaller, integers.smaller, np.logical_and),
    BinaryFn.MULTIPLY: Reference(
        floats.directly(np.multiply), complexes.multiply, modular(np.multiply), np.logical_and
    ),
    BinaryFn.OR: _bitwise(np.bitwise_or, np.logical_or),
    BinaryFn.POLYGAMMA: _directly(special.polygamma),
    BinaryFn.POWER: Reference(floats.precisely(floats.power), complexes.precisely(complexes.power), integers.power),
    BinaryFn.REMAINDER: Reference(floats.directly(np.fmod), integers=integers.remainder),
    BinaryFn.SHIFT_LEFT: Reference(integers=integers.shift_left),
    BinaryFn.SHIFT_RIGHT_ARITHMETIC: Reference(integers=integers.shift_right_arithmetic),
    BinaryFn.SHIFT_RIGHT_LOGICAL: Reference(integers=integers.shift_right_logical),
    BinaryFn.SUBTRACT: Reference(floats.directly(np.subtract), np.subtract, modular(np.subtract)),
    BinaryFn.XOR: _bitwise(np.bitwise_xor, np.logical_xor),
    BinaryFn.ZETA: _directly(special.zeta),
}


def maximum(a: Array, b: Array) -> Array:
    """The larger of two elements, as `widened` gives them."""
    return BINARY[BinaryFn.MAXIMUM](widened(a), widened(b))


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two elements, as `widened` gives them."""
    return BINARY[BinaryFn.MINIMUM](widened(a), widened(b))


def reduced(function: Function, x: Array, dims: tuple[int, ...]) -> Array:
    """Combine all elements along some dims, of which none is empty, by halves."""
    kept = tuple(n for k, n in enumerate(x.shape) if k not in dims)
    rest = np.moveaxis(x, dims, range(len(dims))).reshape(-1, *kept)
    while len(rest) > 1:
        half = len(rest) // 2
        rest = np.concatenate([function(rest[:half], rest[half : 2 * half]), rest[2 * half :]])
    return rest[0]
