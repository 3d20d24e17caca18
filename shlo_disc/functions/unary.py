"""Functions of one element."""

from __future__ import annotations

from enum import Enum

import numpy as np

from shlo_disc.functions import complex_math, numpy_math, special_functions
from shlo_disc.functions.numpy_math import on_wide
from shlo_disc.functions.record import (
    ANALYTIC,
    BITS,
    FLOAT_OR_COMPLEX,
    NUMBERS,
    REALS,
    SIGNED,
    ElementFunction,
    chlo,
    stablehlo,
)
from shlo_disc.functions.references import complexes, floats, integers, special
from shlo_disc.functions.references.reference import Reference, bitwise, of_floats, precisely
from shlo_disc.ir.type_kind import TypeKind


class UnaryFn(Enum):
    """Functions of one element, by their names in StableHLO or CHLO."""

    _value_: ElementFunction

    ABS = ElementFunction(
        "abs",
        ops=(stablehlo(SIGNED, gives=REALS | TypeKind.SIGNED),),
        code="abs_",
        evaluate=on_wide(np.abs, complex_math.absolute),
        reference=Reference(
            floats.directly(floats.absolute), complexes.precisely(complexes.absolute), integers.absolute
        ),
        exact=True,
    )
    ACOS = ElementFunction(
        "acos",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="acos_",
        evaluate=on_wide(np.arccos, complex_math.acos),
        reference=precisely(np.arccos, complexes.acos),
    )
    ACOSH = ElementFunction(
        "acosh",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="acosh_",
        evaluate=on_wide(np.arccosh, complex_math.acosh),
        reference=precisely(np.arccosh, complexes.acosh),
    )
    ASIN = ElementFunction(
        "asin",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="asin_",
        evaluate=on_wide(np.arcsin, complex_math.asin),
        reference=precisely(np.arcsin, complexes.asin),
    )
    ASIN_ACOS_KERNEL = ElementFunction(
        "_asin_acos_kernel",
        ops=(chlo(TypeKind.COMPLEX),),
        code="asin_acos_kernel_",
        evaluate=special_functions.asin_acos_kernel,
        reference=Reference(complexes=complexes.precisely(complexes.asin_acos_kernel)),
    )
    ASINH = ElementFunction(
        "asinh",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="asinh_",
        evaluate=on_wide(np.arcsinh, complex_math.asinh),
        reference=precisely(np.arcsinh, complexes.asinh),
    )
    ATAN = ElementFunction(
        "atan",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="atan_",
        evaluate=on_wide(np.arctan, complex_math.atan),
        reference=precisely(np.arctan, complexes.atan),
    )
    ATANH = ElementFunction(
        "atanh",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="atanh_",
        evaluate=on_wide(np.arctanh, complex_math.atanh),
        reference=precisely(np.arctanh, complexes.atanh),
    )
    BESSEL_I1E = ElementFunction(
        "bessel_i1e",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="bessel_i1e_",
        evaluate=special_functions.odd_from_scipy("i1e"),
        reference=of_floats(special.bessel_i1e),
    )
    CBRT = ElementFunction(
        "cbrt",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="cbrt_",
        evaluate=on_wide(np.cbrt, complex_math.cbrt),
        reference=precisely(np.cbrt, complexes.cbrt),
        cost=20,
    )
    CEIL = ElementFunction(
        "ceil",
        ops=(stablehlo(REALS),),
        code="ceil_",
        evaluate=on_wide(np.ceil),
        reference=of_floats(floats.ceil),
        exact=True,
    )
    COSH = ElementFunction(
        "cosh",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="cosh_",
        evaluate=on_wide(np.cosh, complex_math.cosh),
        reference=precisely(np.cosh, complexes.cosh),
    )
    COSINE = ElementFunction(
        "cosine",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="cos_",
        evaluate=on_wide(np.cos, complex_math.cosine),
        reference=precisely(np.cos, complexes.cosine),
        cost=10,
    )
    COUNT_LEADING_ZEROS = ElementFunction(
        "count_leading_zeros",
        ops=(stablehlo(TypeKind.INTEGER),),
        code="clz",
        evaluate=numpy_math.leading_zeros,
        reference=Reference(integers=integers.leading_zeros),
        exact=True,
    )
    DIGAMMA = ElementFunction(
        "digamma",
        ops=(chlo(TypeKind.FLOAT),),
        code="digamma_",
        evaluate=special_functions.digamma,
        reference=of_floats(special.digamma),
    )
    ERF = ElementFunction(
        "erf",
        ops=(chlo(TypeKind.FLOAT),),
        code="erf_",
        evaluate=on_wide(numpy_math.erf),
        reference=of_floats(special.erf),
        cost=10,
    )
    ERF_INV = ElementFunction(
        "erf_inv",
        ops=(chlo(TypeKind.FLOAT),),
        code="erf_inv_",
        evaluate=special_functions.odd_from_scipy("erfinv"),
        reference=of_floats(special.erf_inv),
    )
    ERFC = ElementFunction(
        "erfc",
        ops=(chlo(TypeKind.FLOAT),),
        code="erfc_",
        evaluate=special_functions.from_scipy("erfc"),
        reference=of_floats(special.erfc),
    )
    EXPONENTIAL = ElementFunction(
        "exponential",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="exp_",
        evaluate=on_wide(np.exp, complex_math.exp),
        reference=precisely(np.exp, complexes.exp),
        cost=10,
    )
    EXPONENTIAL_MINUS_ONE = ElementFunction(
        "exponential_minus_one",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="expm1_",
        evaluate=on_wide(np.expm1, complex_math.expm1),
        reference=precisely(np.expm1, complexes.expm1),
        cost=20,
    )
    FLOOR = ElementFunction(
        "floor",
        ops=(stablehlo(REALS),),
        code="floor_",
        evaluate=on_wide(np.floor),
        reference=of_floats(floats.floor),
        exact=True,
    )
    IMAG = ElementFunction(
        "imag",
        ops=(stablehlo(FLOAT_OR_COMPLEX, gives=TypeKind.FLOAT),),
        code="imag_",
        evaluate=np.imag,
        reference=Reference(floats=np.zeros_like, complexes=np.imag),
        exact=True,
    )
    IS_FINITE = ElementFunction(
        "is_finite",
        ops=(stablehlo(REALS, gives=TypeKind.BOOL, operands=("x",), result="y"),),
        code="is_finite",
        evaluate=on_wide(np.isfinite),
        reference=of_floats(floats.is_finite),
        exact=True,
    )
    LGAMMA = ElementFunction(
        "lgamma",
        ops=(chlo(TypeKind.FLOAT),),
        code="lgamma_",
        evaluate=special_functions.lgamma,
        reference=of_floats(special.lgamma),
    )
    LOG = ElementFunction(
        "log",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="log_",
        evaluate=on_wide(np.log, complex_math.log),
        reference=precisely(np.log, complexes.log),
        cost=10,
    )
    LOG_PLUS_ONE = ElementFunction(
        "log_plus_one",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="log1p_",
        evaluate=on_wide(np.log1p, complex_math.log1p),
        reference=precisely(np.log1p, complexes.log1p),
        cost=20,
    )
    LOGISTIC = ElementFunction(
        "logistic",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="logistic_",
        evaluate=on_wide(numpy_math.logistic, complex_math.logistic),
        reference=precisely(floats.logistic, complexes.logistic),
        cost=10,
    )
    NEGATE = ElementFunction(
        "negate",
        ops=(stablehlo(NUMBERS),),
        code="neg_",
        evaluate=on_wide(np.negative),
        reference=Reference(floats.directly(np.negative), np.negative, integers.negate),
        exact=True,
    )
    NOT = ElementFunction(
        "not",
        ops=(stablehlo(BITS),),
        code="not_",
        evaluate=on_wide(np.invert),
        reference=bitwise(np.invert, np.logical_not),
        exact=True,
    )
    POPCNT = ElementFunction(
        "popcnt",
        ops=(stablehlo(TypeKind.INTEGER),),
        code="popcnt",
        evaluate=numpy_math.popcnt,
        reference=Reference(integers=integers.ones),
        exact=True,
    )
    REAL = ElementFunction(
        "real",
        ops=(stablehlo(FLOAT_OR_COMPLEX, gives=TypeKind.FLOAT),),
        code="real_",
        evaluate=np.real,
        reference=Reference(floats=np.asarray, complexes=np.real),
        exact=True,
    )
    ROUND_NEAREST_AFZ = ElementFunction(
        "round_nearest_afz",
        ops=(stablehlo(REALS),),
        code="round_afz",
        evaluate=on_wide(numpy_math.round_half_away),
        reference=of_floats(floats.round_half_away),
        exact=True,
    )
    ROUND_NEAREST_EVEN = ElementFunction(
        "round_nearest_even",
        ops=(stablehlo(REALS),),
        code="round_even",
        evaluate=on_wide(np.rint),
        reference=of_floats(floats.round_half_even),
        exact=True,
    )
    RSQRT = ElementFunction(
        "rsqrt",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="rsqrt_",
        evaluate=on_wide(numpy_math.rsqrt, complex_math.rsqrt),
        reference=precisely(floats.rsqrt, complexes.rsqrt),
        cost=4,
    )
    SIGN = ElementFunction(
        "sign",
        ops=(stablehlo(SIGNED),),
        code="sign_",
        evaluate=on_wide(numpy_math.sign, complex_math.sign),
        reference=Reference(floats.directly(floats.sign), complexes.precisely(complexes.sign), integers.sign),
        exact=True,
        cost=4,
    )
    SINE = ElementFunction(
        "sine",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="sin_",
        evaluate=on_wide(np.sin, complex_math.sine),
        reference=precisely(np.sin, complexes.sine),
        cost=10,
    )
    SINH = ElementFunction(
        "sinh",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        code="sinh_",
        evaluate=on_wide(np.sinh, complex_math.sinh),
        reference=precisely(np.sinh, complexes.sinh),
    )
    SQRT = ElementFunction(
        "sqrt",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="sqrt_",
        evaluate=on_wide(np.sqrt, complex_math.sqrt),
        reference=Reference(floats.directly(np.sqrt), complexes.precisely(complexes.sqrt)),
        cost=4,
    )
    TAN = ElementFunction(
        "tan",
        ops=(stablehlo(ANALYTIC, accuracy=True), chlo(FLOAT_OR_COMPLEX)),
        code="tan_",
        evaluate=on_wide(np.tan, complex_math.tan),
        reference=precisely(np.tan, complexes.tan),
        cost=20,
    )
    TANH = ElementFunction(
        "tanh",
        ops=(stablehlo(ANALYTIC, accuracy=True),),
        code="tanh_",
        evaluate=on_wide(np.tanh, complex_math.tanh),
        reference=precisely(np.tanh, complexes.tanh),
        cost=10,
    )
