"""The tests of facets fail with every fault that is put into an element rule, or into the evaluator's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace

import pytest

from shlo_disc.dynamic_ops.registry import OPS
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.references.reference import Reference
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.mutants import is_seen, unseen_faults

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
    table = UnaryFn if name in {fn.value.name for fn in UnaryFn} else BinaryFn
    yield from (fn.value.name for fn in table if fn.value.name != name)


@pytest.mark.parametrize("name", [fn.value.name for table in (UnaryFn, BinaryFn) for fn in table])
def test_the_rule_of_another_op_is_seen(name: str) -> None:
    assert not [other for other in _alike(name) if not is_seen(name, rule=OPS[other].element)]


def _kinds(reference: Reference) -> set[str]:
    return {one.name for one in fields(reference) if getattr(reference, one.name) is not None} & KINDS.keys()


@pytest.mark.parametrize("fn", [*UnaryFn, *BinaryFn], ids=lambda fn: fn.value.name)
def test_the_evaluation_of_another_function_is_seen(fn: UnaryFn | BinaryFn, monkeypatch: pytest.MonkeyPatch) -> None:
    unseen = list[tuple[str, str]]()
    for kind in sorted(_kinds(fn.value.reference)):
        for other in type(fn):
            if other is not fn and kind in _kinds(other.value.reference):
                with monkeypatch.context() as patch:
                    patch.setattr(fn, "_value_", replace(fn.value, evaluate=other.value.evaluate))
                    if not is_seen(fn.value.name, kind=KINDS[kind]):
                        unseen.append((kind, other.value.name))
    assert not unseen
