"""Functions that element formulas write with other functions; `dynamic_ops/composed.py` has the formulas."""

from __future__ import annotations

from enum import Enum

import numpy as np

from shlo_disc.functions.record import FLOAT_OR_COMPLEX, Elementwise, broadcasting, chlo
from shlo_disc.functions.references import complexes, floats
from shlo_disc.functions.references.integers import high_product
from shlo_disc.functions.references.reference import Reference, of_floats
from shlo_disc.ir.type_kind import TypeKind


class ComposedFn(Enum):
    """Functions of one or two elements, by their names in CHLO."""

    _value_: Elementwise

    CONJ = Elementwise(
        "conj",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        reference=Reference(np.conj, np.conj),
        exact=True,
    )
    IS_INF = Elementwise(
        "is_inf",
        ops=(chlo(TypeKind.FLOAT, gives=TypeKind.BOOL),),
        reference=of_floats(np.isinf),
        exact=True,
    )
    IS_NEG_INF = Elementwise(
        "is_neg_inf",
        ops=(chlo(TypeKind.FLOAT, gives=TypeKind.BOOL),),
        reference=of_floats(np.isneginf),
        exact=True,
    )
    IS_POS_INF = Elementwise(
        "is_pos_inf",
        ops=(chlo(TypeKind.FLOAT, gives=TypeKind.BOOL),),
        reference=of_floats(np.isposinf),
        exact=True,
    )
    MULHI = Elementwise(
        "mulhi",
        arity=2,
        ops=(chlo(TypeKind.INTEGER),),
        reference=Reference(integers=high_product),
        exact=True,
    )
    NEXT_AFTER = Elementwise(
        "next_after",
        arity=2,
        ops=(chlo(TypeKind.FLOAT, operands=("x", "y")), broadcasting(TypeKind.FLOAT)),
        reference=Reference(floats.next_after),
        exact=True,
    )
    SQUARE = Elementwise(
        "square",
        ops=(chlo(FLOAT_OR_COMPLEX),),
        reference=Reference(floats.directly(np.square), complexes.precisely(complexes.square)),
    )
