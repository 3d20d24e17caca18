"""Functions of two elements."""

from __future__ import annotations

from enum import Enum

import numpy as np

from shlo_disc.functions import numpy_math, special_functions
from shlo_disc.functions.numpy_math import on_wide_pair
from shlo_disc.functions.record import (
    ANALYTIC,
    BITS,
    NUMBERS,
    ElementFunction,
    broadcasting,
    chlo,
    stablehlo,
)
from shlo_disc.functions.references import bits, complexes, floats, integers, special
from shlo_disc.functions.references.integers import modular
from shlo_disc.functions.references.reference import MAXIMUM, MINIMUM, Reference, bitwise, of_floats, precisely
from shlo_disc.ir.type_kind import TypeKind


class BinaryFn(Enum):
    """Functions of two elements, by their names in StableHLO or CHLO."""

    _value_: ElementFunction

    ADD = ElementFunction(
        "add",
        arity=2,
        ops=(stablehlo(TypeKind.TENSOR), broadcasting(TypeKind.TENSOR)),
        code="add_",
        evaluate=on_wide_pair(np.add),
        reference=Reference(floats.directly(np.add), np.add, modular(np.add), np.logical_or),
    )
    AND = ElementFunction(
        "and",
        arity=2,
        ops=(stablehlo(BITS), broadcasting(BITS)),
        code="and_",
        evaluate=on_wide_pair(np.bitwise_and),
        reference=bitwise(np.bitwise_and, np.logical_and),
        exact=True,
    )
    ATAN2 = ElementFunction(
        "atan2",
        arity=2,
        ops=(stablehlo(ANALYTIC), broadcasting(TypeKind.TENSOR & ~BITS)),
        code="atan2_",
        evaluate=numpy_math.atan2,
        reference=precisely(np.arctan2, complexes.atan2),
        cost=20,
    )
    COMPLEX = ElementFunction(
        "complex",
        arity=2,
        ops=(stablehlo(TypeKind.FLOAT, gives=TypeKind.COMPLEX), broadcasting(TypeKind.FLOAT, gives=TypeKind.COMPLEX)),
        code="complex_",
        evaluate=numpy_math.complex_of,
        reference=Reference(floats=bits.complex_of),
        exact=True,
    )
    DIVIDE = ElementFunction(
        "divide",
        arity=2,
        ops=(stablehlo(NUMBERS), broadcasting(TypeKind.TENSOR & ~TypeKind.BOOL)),
        code="div_",
        evaluate=numpy_math.divide,
        reference=Reference(floats.directly(np.true_divide), complexes.precisely(complexes.divide), integers.divide),
        cost=4,
    )
    MAXIMUM = ElementFunction(
        "maximum",
        arity=2,
        ops=(stablehlo(TypeKind.UNIFORM), broadcasting(TypeKind.TENSOR)),
        code="max_",
        evaluate=numpy_math.maximum,
        reference=MAXIMUM,
        exact=True,
    )
    MINIMUM = ElementFunction(
        "minimum",
        arity=2,
        ops=(stablehlo(TypeKind.UNIFORM), broadcasting(TypeKind.TENSOR)),
        code="min_",
        evaluate=numpy_math.minimum,
        reference=MINIMUM,
        exact=True,
    )
    MULTIPLY = ElementFunction(
        "multiply",
        arity=2,
        ops=(stablehlo(TypeKind.UNIFORM), broadcasting(TypeKind.TENSOR)),
        code="mul_",
        evaluate=on_wide_pair(np.multiply),
        reference=Reference(floats.directly(np.multiply), complexes.multiply, modular(np.multiply), np.logical_and),
    )
    OR = ElementFunction(
        "or",
        arity=2,
        ops=(stablehlo(BITS), broadcasting(BITS)),
        code="or_",
        evaluate=on_wide_pair(np.bitwise_or),
        reference=bitwise(np.bitwise_or, np.logical_or),
        exact=True,
    )
    POLYGAMMA = ElementFunction(
        "polygamma",
        arity=2,
        ops=(chlo(TypeKind.FLOAT, operands=("n", "x")), broadcasting(TypeKind.FLOAT)),
        code="polygamma_",
        evaluate=special_functions.polygamma,
        reference=of_floats(special.polygamma),
    )
    POWER = ElementFunction(
        "power",
        arity=2,
        ops=(stablehlo(NUMBERS), broadcasting(TypeKind.TENSOR & ~TypeKind.BOOL)),
        code="pow_",
        evaluate=numpy_math.power,
        reference=Reference(floats.precisely(floats.power), complexes.precisely(complexes.power), integers.power),
        cost=20,
    )
    REMAINDER = ElementFunction(
        "remainder",
        arity=2,
        ops=(stablehlo(NUMBERS), broadcasting(TypeKind.TENSOR & ~TypeKind.BOOL)),
        code="rem_",
        evaluate=numpy_math.remainder,
        reference=Reference(floats.directly(np.fmod), integers=integers.remainder),
        exact=True,
        cost=4,
    )
    SHIFT_LEFT = ElementFunction(
        "shift_left",
        arity=2,
        ops=(stablehlo(TypeKind.INTEGER), broadcasting(TypeKind.TENSOR)),
        code="shl",
        evaluate=numpy_math.shift_left,
        reference=Reference(integers=integers.shift_left),
        exact=True,
    )
    SHIFT_RIGHT_ARITHMETIC = ElementFunction(
        "shift_right_arithmetic",
        arity=2,
        ops=(stablehlo(TypeKind.INTEGER), broadcasting(TypeKind.TENSOR)),
        code="shr_a",
        evaluate=numpy_math.shift_right_arithmetic,
        reference=Reference(integers=integers.shift_right_arithmetic),
        exact=True,
    )
    SHIFT_RIGHT_LOGICAL = ElementFunction(
        "shift_right_logical",
        arity=2,
        ops=(stablehlo(TypeKind.INTEGER), broadcasting(TypeKind.TENSOR)),
        code="shr_l",
        evaluate=numpy_math.shift_right_logical,
        reference=Reference(integers=integers.shift_right_logical),
        exact=True,
    )
    SUBTRACT = ElementFunction(
        "subtract",
        arity=2,
        ops=(stablehlo(NUMBERS), broadcasting(TypeKind.TENSOR & ~TypeKind.BOOL)),
        code="sub_",
        evaluate=on_wide_pair(np.subtract),
        reference=Reference(floats.directly(np.subtract), np.subtract, modular(np.subtract)),
    )
    XOR = ElementFunction(
        "xor",
        arity=2,
        ops=(stablehlo(BITS), broadcasting(BITS)),
        code="xor_",
        evaluate=on_wide_pair(np.bitwise_xor),
        reference=bitwise(np.bitwise_xor, np.logical_xor),
        exact=True,
    )
    ZETA = ElementFunction(
        "zeta",
        arity=2,
        ops=(chlo(TypeKind.FLOAT, operands=("x", "q")), broadcasting(TypeKind.FLOAT)),
        code="zeta_",
        evaluate=special_functions.zeta,
        reference=of_floats(special.zeta),
    )
