"""Ops of other dialects that compute sizes: every rule refuses a program, and MLIR refuses it too."""

from __future__ import annotations

from typing import Any

import pytest

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dialects.record import Check
from shlo_disc.dialects.table import OTHER_OPS
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify
from tests.parse.other_dialects import LENIENT, program
from tests.verify.jaxlib_verifier import Judge

pytestmark = pytest.mark.quick

# The op and the rule, a program, and what is found. Programs of `arith.addi` stand for all ops with its rules.
REFUSED = (
    ("arith.addi I1", '"arith.addi"(%f, %f) : (f32, f32) -> f32', "'lhs' to hold .* single integers, found f32"),
    ("arith.addi C1", '"arith.addi"(%i, %n) : (index, i64) -> index', "to have one type, found index, .*i64"),
    ("arith.addi C1", '"arith.addi"(%i, %i) : (index, index) -> i64', "to have one type, found index, .*i64"),
    (
        "arith.extui C1",
        '"arith.extui"(%p) : (tensor<2xi1>) -> i32',
        "to have the shape of 'in', tensor<2xi1>, found i32",
    ),
    ("arith.extui C2", '"arith.extui"(%n) : (i64) -> i32', "more bits than those of i64, found i32"),
    ("arith.extui C2", '"arith.extui"(%m) : (i32) -> index', "integers of a fixed number of bits, found index"),
    ("arith.trunci C2", '"arith.trunci"(%m) : (i32) -> i32', "fewer bits than those of i32, found i32"),
    (
        "arith.index_cast C2",
        '"arith.index_cast"(%m) : (i32) -> i64',
        "one of 'in' and 'out' to be of type index, found none",
    ),
    ("arith.index_cast C2", '"arith.index_cast"(%i) : (index) -> index', "to be of type index, found both"),
    (
        "arith.constant C1",
        '"arith.constant"() <{value = 0 : index}> : () -> i64',
        "the type of 'value', index, found i64",
    ),
    ("arith.constant", '"arith.constant"() : () -> i64', "an attribute 'value', .*, found none"),
    (
        "arith.cmpi C1",
        '"arith.cmpi"(%i, %n) <{predicate = 0 : i64}> : (index, i64) -> i1',
        "one type, found index, .*i64",
    ),
    ("arith.cmpi C2", '"arith.cmpi"(%i, %i) <{predicate = 0 : i64}> : (index, index) -> i32', "of type i1, found i32"),
    ("arith.cmpi C3", '"arith.cmpi"(%i, %i) <{predicate = 10 : i64}> : (index, index) -> i1', "from 0 to 9, found 10"),
    ("arith.select C1", '"arith.select"(%c, %i, %n) : (i1, index, i64) -> index', "one type, found index, .*i64"),
    (
        "arith.select C2",
        '"arith.select"(%n, %i, %i) : (i64, index, index) -> index',
        "'condition' to be i1, .*, found i64",
    ),
    ("tensor.dim C1", '"tensor.dim"(%x, %n) : (tensor<?x4xf32>, i64) -> index', "of type index, found i64"),
    ("tensor.dim C2", '"tensor.dim"(%x, %i) : (tensor<?x4xf32>, index) -> i64', "of type index, found i64"),
    (
        "tensor.dim C3",
        '"tensor.dim"(%k, %i) : (tensor<index>, index) -> index',
        "to have dimensions, found tensor<index>",
    ),
    ("tensor.from_elements C1", '"tensor.from_elements"(%i) : (index) -> tensor<2xindex>', "2 elements of .*, found 1"),
    ("tensor.from_elements C2", '"tensor.from_elements"(%n) : (i64) -> tensor<1xindex>', "of type index, found i64"),
    (
        "tensor.from_elements",
        '"tensor.from_elements"(%i) : (index) -> tensor<?xindex>',
        "known sizes, found tensor<.xindex>",
    ),
    ("tensor.extract C1", '"tensor.extract"(%t, %n) : (tensor<2xindex>, i64) -> index', "of type index, found i64"),
    ("tensor.extract C2", '"tensor.extract"(%t) : (tensor<2xindex>) -> index', "1 indices, one for each .*, found 0"),
    ("tensor.extract C3", '"tensor.extract"(%t, %i) : (tensor<2xindex>, index) -> i64', "an element of .*, found i64"),
    (
        "tensor.cast C1",
        '"tensor.cast"(%t) : (tensor<2xindex>) -> tensor<3xindex>',
        "compatible with .*, found tensor<3xindex>",
    ),
    (
        "tensor.cast C1",
        '"tensor.cast"(%t) : (tensor<2xindex>) -> tensor<2xi64>',
        "compatible with .*, found tensor<2xi64>",
    ),
    ("shape.shape_of C1", '"shape.shape_of"(%x) : (tensor<?x4xf32>) -> tensor<index>', "to have rank 1, found"),
    (
        "shape.broadcast C1",
        '"shape.broadcast"(%t, %k) : (tensor<2xindex>, tensor<index>) -> !shape.shape',
        "have rank 1",
    ),
    (
        "shape.broadcast C2",
        '"shape.broadcast"(%t, %t) : (tensor<2xindex>, tensor<2xindex>) -> tensor<index>',
        "have rank 1",
    ),
    (
        "shape.shape_eq C2",
        '"shape.shape_eq"(%t, %t) : (tensor<2xindex>, tensor<2xindex>) -> i32',
        "of type i1, found i32",
    ),
    (
        "shape.cstr_eq",
        '"shape.cstr_eq"(%t, %t) : (tensor<2xindex>, tensor<2xindex>) -> i1',
        "to hold witnesses, found i1",
    ),
    ("shape.concat C1", '"shape.concat"(%k, %t) : (tensor<index>, tensor<2xindex>) -> !shape.shape', "to have rank 1"),
    ("shape.concat C2", '"shape.concat"(%t, %k) : (tensor<2xindex>, tensor<index>) -> !shape.shape', "to have rank 1"),
    (
        "shape.concat C3",
        '"shape.concat"(%t, %t) : (tensor<2xindex>, tensor<2xindex>) -> tensor<index>',
        "to have rank 1",
    ),
    ("shape.to_extent_tensor C2", '"shape.to_extent_tensor"(%s) : (!shape.shape) -> tensor<index>', "to have rank 1"),
    (
        "shape.from_extent_tensor C1",
        '"shape.from_extent_tensor"(%k) : (tensor<index>) -> !shape.shape',
        "to have rank 1",
    ),
    (
        "shape.const_shape",
        '"shape.const_shape"() <{shape = dense<1> : tensor<1xi64>}> : () -> !shape.shape',
        "of type index",
    ),
    ("shape.const_size", '"shape.const_size"() <{value = 1 : i64}> : () -> !shape.size', "'value' of type index"),
    ("shape.rank C1", '"shape.rank"(%k) : (tensor<index>) -> index', "to have rank 1, found tensor<index>"),
    ("arith.addi I1", '"arith.addi"(%e, %e) : (ui32, ui32) -> ui32', "'lhs' to hold .* found ui32"),
    ("shape.shape_of C2", '"shape.shape_of"(%x) : (tensor<?x4xf32>) -> tensor<3xindex>', "2 elements, found tensor<3"),
    (
        "shape.const_shape C2",
        '"shape.const_shape"() <{shape = dense<[1, 2]> : tensor<2xindex>}> : () -> tensor<3xindex>',
        "to have 2 elements, found tensor<3xindex>",
    ),
    (
        "shape.broadcast C3",
        '"shape.broadcast"(%t, %s) : (tensor<2xindex>, !shape.shape) -> tensor<2xindex>',
        "an error",
    ),
    ("index.add C1", '"index.add"(%n, %i) : (i64, index) -> index', "'lhs' of type index, found i64"),
    ("index.add C2", '"index.add"(%i, %n) : (index, i64) -> index', "'rhs' of type index, found i64"),
    (
        "shape.split_at C1",
        '"shape.split_at"(%k, %i) : (tensor<index>, index) -> (!shape.shape, !shape.shape)',
        "rank 1",
    ),
    (
        "shape.split_at C2",
        '"shape.split_at"(%t, %i) : (tensor<2xindex>, index) -> (tensor<index>, !shape.shape)',
        "'head'",
    ),
    (
        "shape.split_at C3",
        '"shape.split_at"(%t, %i) : (tensor<2xindex>, index) -> (!shape.shape, tensor<index>)',
        "'tail'",
    ),
    ("shape.split_at C4", '"shape.split_at"(%t, %n) : (tensor<2xindex>, i64) -> (!shape.shape, !shape.shape)', "i64"),
    ("shape.from_extents C1", '"shape.from_extents"(%i, %n) : (index, i64) -> !shape.shape', "'extents' .*, found i64"),
    (
        "shape.dim C1",
        '"shape.dim"(%x, %i) : (tensor<?x4xf32>, index) -> i32',
        "'extent' of type index or .*, found i32",
    ),
    ("shape.get_extent C2", '"shape.get_extent"(%t, %n) : (tensor<2xindex>, i64) -> index', "'dim' .*, found i64"),
    ("shape.get_extent C2", '"shape.get_extent"(%t, %i) : (tensor<2xindex>, index) -> i64', "'extent' .*, found i64"),
    ("shape.get_extent C3", '"shape.get_extent"(%s, %i) : (!shape.shape, index) -> index', "an error, .*, found index"),
    ("shape.get_extent C3", '"shape.get_extent"(%t, %z) : (tensor<2xindex>, !shape.size) -> index', "an error"),
    ("shape.rank C2", '"shape.rank"(%t) : (tensor<2xindex>) -> i32', "of type index or !shape.size, found i32"),
    ("shape.num_elements C2", '"shape.num_elements"(%t) : (tensor<2xindex>) -> i32', "or !shape.size, found i32"),
    (
        "shape.num_elements C3",
        '"shape.num_elements"(%s) : (!shape.shape) -> index',
        "type !shape.shape do, found index",
    ),
    ("shape.add C1", '"shape.add"(%n, %n) : (i64, i64) -> i64', "of type index or !shape.size, found"),
    ("shape.add C2", '"shape.add"(%i, %z) : (index, !shape.size) -> index', "an error, .* !shape.size do, found index"),
    ("shape.max I1", '"shape.max"(%i, %i) : (index, index) -> index', "to hold sizes, found index"),
    ("shape.size_to_index C2", '"shape.size_to_index"(%n) : (i64) -> index', "of type index or .*, found i64"),
    ("shape.size_to_index C1", '"shape.size_to_index"(%z) : (!shape.size) -> i64', "of type index, found i64"),
    ("shape.index_to_size C1", '"shape.index_to_size"(%n) : (i64) -> !shape.size', "of type index, found i64"),
    (
        "shape.cstr_require C1",
        '"shape.cstr_require"(%n) <{msg = "a"}> : (i64) -> !shape.witness',
        "of type i1, found i64",
    ),
    (
        "shape.cstr_require",
        '"shape.cstr_require"(%c) : (i1) -> !shape.witness',
        "an attribute 'msg', a string, found none",
    ),
    ("shape.const_witness", '"shape.const_witness"() <{passing = 1 : i64}> : () -> !shape.witness', "true or false"),
    ("shape.assuming_all I1", '"shape.assuming_all"(%c) : (i1) -> !shape.witness', "to hold witnesses, found i1"),
    (
        "shape.assuming C1",
        '"shape.assuming"(%w) ({\n    ^bb0(%a: index):\n      "shape.assuming_yield"(%a) : (index) -> ()\n'
        "    }) : (!shape.witness) -> index",
        "a region without arguments, found 1",
    ),
    (
        "shape.assuming C2",
        '"shape.assuming"(%w) ({\n      "shape.assuming_yield"(%n) : (i64) -> ()\n    }) : (!shape.witness) -> index',
        r"as they are yielded, \(i64\), found \(index\)",
    ),
)


def _program(op: str) -> str:
    return program(f"%0{':2' if 'split_at' in op else ''} = {op}")


@pytest.mark.parametrize(("rule", "op", "found"), REFUSED)
def test_a_rule_refuses_a_program(rule: str, op: str, found: str) -> None:
    module = parse_module(_program(op))
    with pytest.raises(VerifyError, match=found) as caught:
        verify(module)
    name, _, label = rule.partition(" ")
    assert str(caught.value).startswith("<string>:3:")
    assert name in str(caught.value)
    assert not label or f"({label} of {name})" in str(caught.value)


def test_mlir_refuses_the_same() -> None:
    with Judge() as judge:
        lenient = {rule for rule, op, _ in REFUSED if judge.complaint(_program(op)) is None}
    assert lenient <= LENIENT


def _rule(check: Check) -> tuple[str, tuple[object, ...]]:
    """What tells a rule from another: the function, and what it was made with."""
    made: Any = check
    return made.__qualname__, tuple([cell.cell_contents for cell in made.__closure__ or ()])


def test_every_rule_refuses_something() -> None:
    """Ops share rules: each is tried with one of its ops."""
    tried = {rule for rule, _, _ in REFUSED}
    rules = {
        f"{name} {label}": _rule(check)
        for name, record in OTHER_OPS.items()
        for label, check in record.constraints.items()
    }
    done = {rules[rule] for rule in tried & rules.keys()}
    assert [rule for rule, key in rules.items() if key not in done] == []
