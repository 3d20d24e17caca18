"""The tests of facets fail with every fault that is put into an element rule, or into the evaluator's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

import pytest
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.references import functions
from shlo_disc.dynamic_ops.references.functions import Reference
from shlo_disc.dynamic_ops.registry import OPS
from shlo_disc.expr import numpy_math
from shlo_disc.expr.scalar import BinaryFn, UnaryFn
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.mutants import is_seen, unseen_faults

Array: TypeAlias = NDArray[Any]
Function: TypeAlias = Callable[..., Array]
KINDS: Mapping[str, Callable[[DType], bool]] = {
    "floats": lambda dtype: dtype.is_float,
    "complexes": lambda dtype: dtype.is_complex,
    "integers": lambda dtype: dtype.is_integer,  # (of booleans, several functions are one)
}

# Faults that change nothing, by the names of the op and of the fault, and why.
EQUIVALENT: Mapping[tuple[str, str], str] = {
    ("real", "no real 0"): "of a real number it is that number",
    ("bitcast_convert", "shift_right_logical for shift_left 1"): "the low word is moved by 0 bits",
    ("bitcast_convert", "no second operand of shift_left 1"): "the same",
    ("bitcast_convert", "shift_left for shift_right_logical 1"): "the same",
    ("bitcast_convert", "no second operand of shift_right_logical 1"): "the same",
    ("mulhi", "shift_right_logical for shift_right_arithmetic 0"): "what differs is cut off after",
}


@pytest.mark.parametrize("name", [name for name, one in OPS.items() if one.element is not None])
def test_every_fault_of_a_formula_is_seen(name: str) -> None:
    assert unseen_faults(name) == [fault for op, fault in EQUIVALENT if op == name]


def _alike(name: str) -> Iterator[str]:
    """The other ops with as many operands and no attributes, as this one has."""
    table = UnaryFn if name in {fn.value for fn in UnaryFn} else BinaryFn
    yield from (fn.value for fn in table if fn.value != name)


@pytest.mark.parametrize("name", [fn.value for table in (UnaryFn, BinaryFn) for fn in table])
def test_the_rule_of_another_op_is_seen(name: str) -> None:
    assert not [other for other in _alike(name) if not is_seen(name, rule=OPS[other].element)]


def _kinds(reference: Reference) -> set[str]:
    return {one.name for one in fields(reference) if getattr(reference, one.name) is not None} & KINDS.keys()


@pytest.mark.parametrize("fn", [*UnaryFn, *BinaryFn], ids=lambda fn: fn.value)
def test_another_entry_of_the_table_is_seen(fn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "UNARY" if isinstance(fn, UnaryFn) else "BINARY"
    table: Mapping[Any, Function] = getattr(numpy_math, name)
    references: Mapping[Any, Reference] = getattr(functions, name)
    unseen = list[tuple[str, str]]()
    for kind in sorted(_kinds(references[fn])):
        for other, reference in references.items():
            if other is not fn and kind in _kinds(reference):
                monkeypatch.setattr(numpy_math, name, {**table, fn: table[other]})
                if not is_seen(fn.value, kind=KINDS[kind]):
                    unseen.append((kind, other.value))
    assert not unseen
