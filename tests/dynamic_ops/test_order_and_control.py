"""Ops without an element rule: what their references compute, by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.create import ConstantAttrs
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.order import ScatterAttrs, SelectAndScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.scalar import Const
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.facets import run_body
from tests.dynamic_ops.sampling import ADD, F32, I32, NONE, Array, body, dims, sample, tensor

pytestmark = pytest.mark.quick

INF, NAN = np.inf, np.nan
LESS = body(1, [F32, F32, I32, I32], ("compare", (0, 1), CompareAttrs(Direction.LT, total=True), DType.I1))
AT_LEAST = body(1, [F32, F32], ("compare", (0, 1), CompareAttrs(Direction.GE), DType.I1))
ROWS = ScatterAttrs(
    update_window_dims=(1,), inserted_window_dims=(0,), input_batching_dims=(), scatter_indices_batching_dims=(),
    scatter_dims_to_operand_dims=(0,), index_vector_dim=1, unique_indices=False,
)  # fmt: skip

ONES = replace(ROWS, update_window_dims=())


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


@dataclass
class Counted:
    """Runs bodies, and counts the runs."""

    runs: int = 0

    def run(self, body: Body | Program, arguments: Arrays) -> Arrays:
        self.runs += 1
        return run_body(body, arguments)


def run(op: Op[object], *inputs: Array) -> list[list[float]]:
    return [x.tolist() for x in definition(op).reference(op, inputs, run_body)]


def test_sort_keeps_the_order_of_equals_and_puts_nan_last() -> None:
    keys, positions = f32(2, NAN, 1, 2, -INF), np.arange(5, dtype=np.int32)
    one = sample("d_sort", [keys, positions], SortAttrs(0, stable=True), (5,), bodies=(LESS,)).op
    both = Op(one.name, one.operands, one.attrs, one.operands, one.bodies, NOWHERE)
    assert run(both, keys, positions)[1] == [4, 2, 0, 3, 1]


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ([0, 2, 0], [[5, 5], [0, 0], [2, 2]]),
        ([-1, 3, 1], [[0, 0], [4, 4], [0, 0]]),  # a row outside is skipped
        ([], [[0, 0], [0, 0], [0, 0]]),
    ],
)
def test_scatter_adds_and_skips_what_lies_outside(indices: list[int], expected: list[list[float]]) -> None:
    x = np.zeros((3, 2), np.float32)
    updates = np.repeat(f32(1, 2, 4)[: len(indices), None], 2, axis=1)
    where = np.array(indices, np.int32)
    one = sample("d_scatter", [x, where, updates], ROWS, (3, 2), bodies=(ADD,))
    assert run(one.op, *one.inputs) == [expected]


@pytest.mark.parametrize(
    ("indices", "runs", "expected"),
    [
        (np.arange(300), 1, 1.0),  # all at once
        (np.arange(300) % 100, 3, 3.0),  # each element takes three
        (np.zeros(5, np.int64), 5, 5.0),
        (np.full(300, 1000), 0, 0.0),
    ],
)
def test_scatter_runs_its_body_once_for_each_turn_of_an_element(indices: Array, runs: int, expected: float) -> None:
    """One run for every update took the interpreter minutes, and campaigns of random programs gave up."""
    counted = Counted()
    where = indices.astype(np.int32)
    one = sample(
        "d_scatter", [np.zeros(300, np.float32), where, np.ones(len(where), np.float32)], ONES, (300,), bodies=(ADD,)
    )
    (found,) = definition(one.op).reference(one.op, one.inputs, counted.run)
    assert (counted.runs, found.max()) == (runs, expected)


def test_scatter_combines_updates_of_an_element_in_their_order() -> None:
    """(1 + 1e8) - 1e8 is 0 in f32, and (1e8 - 1e8) + 1 is 1; an unsigned index beyond all signed ones is outside."""
    where = np.array([1, 1, 0, 2**64 - 1, 0], np.uint64)
    updates = f32(1e8, -1e8, 1e8, 7, -1e8)
    one = sample("d_scatter", [f32(1, 0), where, updates], ONES, (2,), bodies=(ADD,))
    assert run(one.op, *one.inputs) == [[0, 0]]


def test_scatter_moves_unsigned_indices_beyond_all_signed_ones_to_the_end() -> None:
    where = np.array([2**64 - 1], np.uint64)
    one = sample("d_scatter", [f32(0, 0, 0), where, f32(7)], replace(ONES, clamps=True), (3,), bodies=(ADD,))
    assert run(one.op, *one.inputs) == [[0, 0, 7]]


def test_a_reduction_to_nothing_runs_no_body() -> None:
    """A reduction of 2049 x 2049 positions of 0 elements each took minutes."""
    counted = Counted()
    one = sample(
        "d_reduce", [np.zeros((2049, 0, 2049), np.float32), f32(0)[0]], ReduceAttrs((0, 2)), (0,), bodies=(ADD,)
    )
    (found,) = definition(one.op).reference(one.op, one.inputs, counted.run)
    assert (counted.runs, found.shape) == (0, (0,))


def test_select_and_scatter_gives_each_window_to_its_largest() -> None:
    attrs = SelectAndScatterAttrs(dims(2), dims(2), dims(0))
    inputs = [f32(1, 3, 5, 4), f32(10, 20), np.array(0.5, np.float32)]
    one = sample("d_select_and_scatter", inputs, attrs, (4,), bodies=(AT_LEAST, ADD))
    assert run(one.op, *one.inputs) == [[0.5, 10.5, 20.5, 0.5]]


def test_while_runs_as_long_as_its_condition_holds() -> None:
    double = body(1, [F32], ("add", (0, 0), NONE, F32))
    limit = body(
        1,
        [F32],
        ("d_constant", (), ConstantAttrs(Const(100.0, F32)), F32),
        ("compare", (0, 1), CompareAttrs(Direction.LT), DType.I1),
    )
    start = np.array(3, np.float32)
    one = sample("d_while", [start], NONE, (), bodies=(limit, double))
    assert run(one.op, start) == [192.0]


@pytest.mark.parametrize(("index", "expected"), [(0, 10.0), (1, 20.0), (2, 20.0), (-1, 20.0)])
def test_case_takes_the_last_branch_for_an_index_outside(index: int, expected: float) -> None:
    def branch(value: float) -> Body:
        result = tensor("r", (), F32)
        op: Op[object] = Op("d_constant", (), ConstantAttrs(Const(value, F32)), (result,), (), NOWHERE)
        return Body((), (op,), (result,))

    chosen = np.array(index, np.int32)
    one = sample("d_case", [chosen], NONE, (), F32, bodies=(branch(10.0), branch(20.0)))
    assert run(one.op, chosen) == [expected]
