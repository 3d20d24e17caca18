"""The decision: what costs least by the model is taken, at every size, and both forms of a decision agree with it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.expr.dim import Dim, Sym, const, maximum, symbol
from shlo_disc.expr.scalar import Arg
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Param
from shlo_disc.lower_cpu.products.blocks import Blocks
from shlo_disc.lower_cpu.products.multiplication import kernel_named
from shlo_disc.lower_cpu.products.selection import TOLERANCE, block_of, select
from shlo_disc.schedules.candidates import (
    MICRO_KERNELS,
    Candidate,
    Hardware,
    MicroKernel,
    blocks,
    candidates,
    parse_candidate,
    variants,
)
from shlo_disc.schedules.model import Costs, Rates, Shape, cost, fewest_runs, occupancy
from shlo_disc.schedules.tables import CostTable, Schedules, Scheduling, TunedProduct, analytic, parse_schedules
from shlo_disc.size_expr import SizeExpr, evaluate

pytestmark = pytest.mark.quick

HARDWARE = Hardware(64, 24, 32 << 10, 1 << 20)
FEW, MANY = MicroKernel("stream", 12), MicroKernel("tiles", 6)
SIZE = st.integers(1, 5000)
RATE = st.integers(0, 20_000)
RATES = st.builds(Rates, RATE, RATE, RATE, RATE, RATE, RATE, RATE, RATE, RATE, st.integers(1, 1 << 18))


def table(**rates: Rates) -> CostTable:
    """Costs of f32, by hand."""
    kernels = {"few": FEW, "many": MANY}
    return CostTable("by hand", "measured", (("f32", tuple((kernels[name], one) for name, one in rates.items())),))


# `few` takes 100 for each row and element, `many` 60, and 4000 more for each 192 rows: equal from 101 rows on.
BY_HAND = table(few=Rates(0, 0, 0, 100, 0, 0, 0, 0, 0, 1), many=Rates(0, 4000, 0, 60, 0, 0, 0, 0, 0, 1))


def product(m: Dim, n: Dim, k: Dim, batch: Dim | None = None, column_stride: int = 1) -> DotKernel:
    """A product of f32 in memory."""
    a, b = Param("p0", DType.F32), Param("p1", DType.F32)
    return DotKernel(
        params=(a, b),
        batch=() if batch is None else (Axis(Sym("%b0"), batch),),
        row=Axis(Sym("%i"), m), column=Axis(Sym("%j"), n), depth=k,
        a=MatrixView(a, const(0), k, const(1)), b=MatrixView(b, const(0), n, const(column_stride)),
        accumulator=Arg("acc", DType.F32), epilogue=(), precision=Precision.DEFAULT,
    )  # fmt: skip


class Decision:
    """What a product is compiled to take, evaluated as the VM does."""

    def __init__(self, kernel: DotKernel, scheduling: Scheduling) -> None:
        self.names = dict[str, SizeExpr]()
        self.chosen = select(kernel, kernel_named("f32"), scheduling, self._name)

    def _name(self, formula: Dim) -> Dim:
        if formula.constant is not None or isinstance(formula.atom, Sym):
            return formula
        name = f"schedule{len(self.names)}"
        self.names[name] = formula.size_expr()
        return symbol(name)

    def at(self, **sizes: int) -> tuple[Candidate, tuple[int, int]]:
        """The candidate, and its block as the host program finds it."""
        values = dict(sizes)
        for name, formula in self.names.items():
            values[name] = evaluate(formula, values)
        rows, columns = (evaluate(one.size_expr(), values) for one in block_of(self.chosen))
        return self.chosen.candidates[evaluate(self.chosen.number.size_expr(), values)], (rows, columns)


def test_a_decision_made_by_hand_changes_where_costs_do() -> None:
    decision = Decision(product(symbol("m"), const(768), const(768)), Scheduling(Schedules(BY_HAND)))
    taken = [decision.at(m=m)[0].kernel for m in range(1, 4097)]
    changes = [k + 2 for k, (a, b) in enumerate(pairwise(taken)) if a != b]
    assert taken[0] == FEW
    assert taken[-1] == MANY
    # 100 m <= 1.04 (60 m + 4000) up to 110 rows; later `many` is never dearer, not even where it packs again
    assert changes == [111]


def test_constant_sizes_leave_nothing_to_decide() -> None:
    decision = Decision(product(const(500), const(768), const(768)), Scheduling(Schedules(BY_HAND)))
    assert decision.names == {}
    assert decision.chosen.number == const(0)
    assert [one.kernel for one in decision.chosen.candidates] == [MANY]


@settings(max_examples=30, deadline=None)
@given(few=RATES, many=RATES, n=SIZE, k=SIZE, m=st.lists(st.integers(1, 4096), min_size=1), threads=st.integers(1, 5))
def test_what_is_taken_costs_least(few: Rates, many: Rates, n: int, k: int, m: list[int], threads: int) -> None:
    costs = table(few=few, many=many)
    by_steps = Decision(product(symbol("m"), const(n), const(k)), Scheduling(Schedules(costs), threads))
    by_costs = Decision(product(symbol("m"), symbol("n"), symbol("k")), Scheduling(Schedules(costs), threads))
    rates = costs.rates("f32")
    for rows in m:
        shape = Shape(rows, min(n, 4096), min(k, 4096))
        found = {one: cost(one, rates[one.kernel], shape, threads) for one in candidates((FEW, MANY), threads)}
        least = min(found.values())
        for decision, slack in ((by_steps, TOLERANCE), (by_costs, 1e-9)):
            taken, block = decision.at(m=rows, n=n, k=k)
            if taken.kernel in decision_kernels(by_costs) or decision is by_steps:
                assert found[taken] <= least * (1 + slack) + 1
            assert block == (taken.rows, taken.columns)


def decision_kernels(decision: Decision) -> set[MicroKernel]:
    """The micro-kernels that are left to choose from, all of them if each is the best somewhere."""
    kernels = {one.kernel for one in decision.chosen.candidates}
    return kernels if len(kernels) > 1 else set()


@given(
    rows=st.integers(1, 4), columns=st.integers(1, 12), seed=st.integers(0, 1 << 30),
    tolerance=st.sampled_from([0.0, 0.1, 1.0]),
)  # fmt: skip
def test_runs_are_the_fewest_that_stay_close(rows: int, columns: int, seed: int, tolerance: float) -> None:
    costs: Costs = np.random.default_rng(seed).integers(1, 9, (rows, columns))
    runs = fewest_runs(costs, tolerance)
    taken = [next(row for first, row in reversed(runs) if first <= at) for at in range(columns)]
    assert all(costs[row, at] <= costs[:, at].min() * (1 + tolerance) for at, row in enumerate(taken))
    least = [0] * (columns + 1)  # how many runs the rest needs, by dynamic programming
    for at in reversed(range(columns)):
        fine = costs <= costs.min(axis=0) * (1 + tolerance)
        ends = [next((e for e in range(at, columns) if not fine[row, e]), columns) for row in range(rows)]
        least[at] = 1 + min(least[end] for end in ends if end > at)
    assert len(runs) == least[0]


@given(few=RATES, m=SIZE, n=SIZE, k=SIZE, batch=st.integers(1, 9), threads=st.integers(1, 5))
def test_numbers_arrays_and_dims_cost_the_same(few: Rates, m: int, n: int, k: int, batch: int, threads: int) -> None:
    for one in candidates((FEW, MANY), threads):
        number = cost(one, few, Shape(m, n, k, batch), threads)
        array = cost(one, few, Shape(np.array([m]), n, k, batch), threads, np.maximum)
        names = (symbol("m"), symbol("n"), symbol("k"), symbol("b"))
        dim: Dim = cost(one, few, Shape(*names), threads, maximum)
        assert number == int(array[0]) == dim.evaluate({Sym("m"): m, Sym("n"): n, Sym("k"): k, Sym("b"): batch})


def test_few_rows_are_shared_by_columns_and_few_columns_by_rows() -> None:
    costs = analytic(HARDWARE)
    for m, n in ((4, 256), (2000, 16)):
        for threads in (2, 4):
            decision = Decision(product(const(m), const(n), const(512)), Scheduling(Schedules(costs), threads))
            (chosen,) = decision.chosen.candidates
            assert occupancy(chosen, Shape(m, n, 512), threads) > 0.85, (m, n, chosen.name)


def test_measured_times_of_a_product_overrule_the_model() -> None:
    counts, slow, fast = (1, 4096), (10**9, 10**12), (10**3, 10**6)
    tuned = TunedProduct("f32 ? x 768 x 768", counts, ((FEW, slow), (MANY, fast)))
    decision = Decision(product(symbol("m"), const(768), const(768)), Scheduling(Schedules(BY_HAND, (tuned,))))
    assert [one.kernel for one in decision.chosen.candidates] == [MANY]
    assert "measured" in decision.chosen.how
    other = Decision(product(symbol("m"), const(512), const(768)), Scheduling(Schedules(BY_HAND, (tuned,))))
    assert len(other.chosen.candidates) == 2


def test_measured_times_choose_tiles_and_depths_that_only_tuning_tries() -> None:
    narrow, other = MicroKernel("stream", 8, 2, 64), MicroKernel("own", 6, depth=64)
    tuned = TunedProduct("f32 ? x 768 x 768", (1,), ((FEW, (10**9,)), (MANY, (10**9,)), (narrow, (10,)), (other, (1,))))
    decision = Decision(product(symbol("m"), const(768), const(768)), Scheduling(Schedules(BY_HAND, (tuned,))))
    assert [one.kernel for one in decision.chosen.candidates] == [narrow]
    (line,) = Blocks(const(1), const(1), decision.chosen).table
    assert line.endswith("= {{2, 8, 2, 0, 0, 64}};")


def test_where_nothing_is_known_the_prelude_chooses_and_says_so() -> None:
    decision = Decision(
        product(symbol("m"), const(768), const(768)), Scheduling(Schedules(CostTable("?", "measured", ())))
    )
    assert decision.chosen.candidates == ()
    assert "the prelude chooses" in decision.chosen.how


def test_columns_that_are_apart_are_left_to_the_prelude() -> None:
    apart = product(symbol("m"), const(768), const(768), column_stride=768)
    decision = Decision(apart, Scheduling(Schedules(BY_HAND), 4))
    assert {one.kernel.form for one in decision.chosen.candidates} == {"own"}


@given(few=RATES, many=RATES, counts=st.lists(SIZE, min_size=1, unique=True))
def test_schedules_are_the_same_after_a_trip_through_text(few: Rates, many: Rates, counts: list[int]) -> None:
    times = tuple(range(1, len(counts) + 1))
    tuned = TunedProduct("f32 ? x 7 x 9", tuple(counts), tuple((kernel, times) for kernel in (*variants(FEW), MANY)))
    given_ = Schedules(table(few=few, many=many), (tuned,))
    assert parse_schedules(given_.to_json()) == given_


def test_candidates_have_names_and_fill_the_registers() -> None:
    kernels = tuple(variant for kernel in MICRO_KERNELS for variant in variants(kernel))
    assert len({kernel.name for kernel in kernels}) == len(set(kernels)) == 10
    for threads in (1, 4):
        for one in candidates(kernels, threads):
            assert parse_candidate(one.name) == one
            assert one.columns % 64 == 0, "packed columns come in panels of 64"
    assert len(blocks(1)) == 1
