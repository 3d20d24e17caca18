"""What elementwise ops refuse: kinds of elements that the specification lists, or CHLO takes, and nothing computes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.functions.table import BY_OP, FUNCTIONS
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

KINDS: Mapping[TypeKind, DType] = {
    TypeKind.BOOL: DType.I1,
    TypeKind.SIGNED: DType.I32,
    TypeKind.UNSIGNED: DType.UI32,
    TypeKind.FLOAT: DType.F32,
    TypeKind.COMPLEX: DType.C64,
}
NO_INTEGERS = (DType.I1, DType.F32, DType.C64)
REFUSED: Mapping[str, tuple[DType, ...]] = {
    "chlo.bessel_i1e": (DType.C64,),
    **dict.fromkeys(("stablehlo.remainder", "chlo.broadcast_remainder"), (DType.C64,)),
    **{f"chlo.broadcast_shift_{way}": NO_INTEGERS for way in ("left", "right_arithmetic", "right_logical")},
}


def test_kinds_without_a_meaning_are_these() -> None:
    """A reference that loses a kind of elements would make a program that was accepted one that is refused."""
    found = {
        name: tuple([x for kind, x in KINDS.items() if kind in op.takes and not function.reference.takes(x)])
        for name, (function, op) in BY_OP.items()
    }
    assert {name: dtypes for name, dtypes in found.items() if dtypes} == REFUSED


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        ("chlo.bessel_i1e", "complex<f32>", "is supported for floats only, found complex<f32>"),
        ("stablehlo.remainder", "complex<f32>", "is supported for real numbers only, found complex<f32>"),
        ("chlo.broadcast_shift_left", "f32", "is supported for integers only, found f32"),
        ("chlo.next_after", "f6E2M3FN", "is not supported for floats of 6 bits, found f6E2M3FN"),
    ],
)
def test_they_are_refused_by_name(name: str, dtype: str, message: str) -> None:
    type_ = f"tensor<3x{dtype}>"
    operands, types = [", ".join([x] * BY_OP[name][0].arity) for x in ("%x", type_)]
    text = f'func.func @main(%x: {type_}) -> {type_} {{\n  %0 = "{name}"({operands}) : ({types}) -> {type_}\n'
    with pytest.raises(UnsupportedOpError, match=f"op '{name}' {message}"):
        legalize(parse_module(f"{text}  return %0 : {type_}\n}}"))


def test_ops_name_as_many_operands_as_their_function_has() -> None:
    assert not [op for function in FUNCTIONS for op in function.ops if len(op.operands) not in (0, function.arity)]
