"""Which results may take the place of an operand: by hand-made kernels, one per rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.expr.dim import Dim, Sym, const, of, symbol
from shlo_disc.expr.scalar import Arg, Binary, Const, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.inplace import epilogue_pairs, row_pairs, scatter_pairs
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Param, RowKernel, ScatterKernel, Stage, Start, Store

F32 = DType.F32
ROW, LANE, LATER = Axis(Sym("%x0"), symbol("b")), Axis(Sym("%c0"), symbol("s")), Axis(Sym("%c1"), symbol("s"))
SOURCE, TARGET, OTHER = Param("p0", F32), Param("p1", F32), Param("p2", F32)
PAIR = ((SOURCE, TARGET),)


def at(axis: Axis) -> Dim:
    return of(ROW.symbol) * LANE.extent + of(axis.symbol)


def load(offset: Dim, source: Param = SOURCE) -> Load:
    return Load(source, (offset,))


def plus(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.ADD, a, b, F32)


def stage(axis: Axis, *stores: Store) -> Stage:
    return Stage((axis,), (False,), stores, ())


def rows(*stages: Stage) -> RowKernel:
    return RowKernel((SOURCE, TARGET, OTHER), (ROW,), stages, ())


BEFORE = stage(LANE, Store(OTHER, at(LANE), load(at(LANE))))
HERE = stage(LANE, Store(TARGET, at(LANE), load(at(LANE))))
BLIND = stage(LANE, Store(TARGET, at(LANE), Const(1.0, F32)))
IN_EVERY_LANE = stage(LANE, Store(OTHER, at(LANE), load(of(ROW.symbol))))
ONCE_IN_A_ROW = Stage((), (), (Store(TARGET, of(ROW.symbol), Const(1.0, F32)),), ())


@pytest.mark.parametrize(
    ("kernel", "spread", "allowed"),
    [
        (rows(HERE), None, True),
        (rows(BEFORE, BLIND), None, True),
        (rows(BLIND, BEFORE), None, False),
        (rows(stage(LANE, *BEFORE.stores, *BLIND.stores)), None, True),
        (rows(stage(LANE, *BLIND.stores, *BEFORE.stores)), None, False),
        (rows(stage(LANE, Store(TARGET, at(LANE), load(at(LANE) + 1)))), None, False),
        (rows(stage(LANE, Store(TARGET, at(LANE), load(of(LANE.symbol))))), None, False),
        # Each thread of a row reads the number; the one that overwrites it does not wait for them.
        (rows(IN_EVERY_LANE, ONCE_IN_A_ROW), None, False),
        (rows(IN_EVERY_LANE, ONCE_IN_A_ROW), (0, 0), False),
        (rows(stage(LATER, Store(OTHER, at(LATER), load(at(LATER)))), BLIND), None, False),
        (rows(BEFORE, BLIND), (0, 0), True),
        (rows(BEFORE, BLIND), (0, 1), False),
        (rows(BEFORE, BLIND), (None, None), False),
        (rows(HERE, BLIND), None, False),
    ],
    ids=[
        "in the store itself", "in a stage before", "in a stage after", "in an earlier store", "in a later store",
        "its neighbour", "another row's", "in every lane", "in every lane, dealt alike", "over other loops",
        "dealt alike", "dealt otherwise", "dealt in no known way", "written twice",
    ],
)  # fmt: skip
def test_an_element_of_a_row_is_overwritten_after_its_only_reads(
    kernel: RowKernel, spread: Sequence[int | None] | None, allowed: bool
) -> None:
    pairs = [pair for pair in row_pairs(kernel, spread) if pair == PAIR[0]]
    assert bool(pairs) is allowed


def test_other_types_and_results_that_are_read_make_no_pair() -> None:
    wide = Param("p0", DType.F64)
    assert not row_pairs(rows(stage(LANE, Store(TARGET, at(LANE), load(at(LANE), wide)))))
    assert row_pairs(rows(HERE, stage(LANE, Store(SOURCE, at(LANE), Const(1.0, F32))))) == ()


ROWS, COLUMNS, DEPTH = Axis(Sym("%m"), symbol("m")), Axis(Sym("%n"), symbol("n")), symbol("k")
PRODUCT = Arg("acc", F32)
PLACE = of(ROWS.symbol) * COLUMNS.extent + of(COLUMNS.symbol)


def product(a: Param, added: Param) -> DotKernel:
    """A product whose epilogue adds an element at the place of the result."""
    views = MatrixView(a, const(0), DEPTH, const(1)), MatrixView(OTHER, const(0), COLUMNS.extent, const(1))
    epilogue = (Store(TARGET, PLACE, plus(PRODUCT, load(PLACE, added))),)
    params = tuple(dict.fromkeys((a, OTHER, added, TARGET)))
    return DotKernel(params, (), ROWS, COLUMNS, DEPTH, *views, PRODUCT, epilogue, Precision.DEFAULT)


def test_a_product_is_stored_over_what_its_epilogue_alone_reads() -> None:
    """An operand is read for other elements when the first ones are stored."""
    added = Param("p3", F32)
    assert epilogue_pairs(product(SOURCE, added)) == ((added, TARGET),)
    assert epilogue_pairs(product(SOURCE, SOURCE)) == ()


POINT = Axis(Sym("%u"), symbol("u"))
SCATTER = ScatterKernel(
    params=(SOURCE, TARGET, OTHER),
    starts=(Start(SOURCE, TARGET, symbol("n")),),
    axes=(POINT,),
    window=(),
    apart=True,
    unique=False,
    slabs=None,
    in_bounds=Const(True, DType.I1),
    carries=(PRODUCT,),
    targets=(Store(TARGET, of(POINT.symbol), plus(PRODUCT, load(of(POINT.symbol), OTHER))),),
    sweep=None,
    reads_ahead=False,
)
READING = (Store(TARGET, of(POINT.symbol), plus(PRODUCT, load(of(POINT.symbol)))),)


def test_a_scatter_overwrites_an_operand_that_only_its_copy_reads() -> None:
    assert scatter_pairs(SCATTER) == PAIR
    assert scatter_pairs(replace(SCATTER, targets=READING)) == ()
    assert scatter_pairs(replace(SCATTER, targets=READING, reads_ahead=True)) == PAIR
    assert scatter_pairs(replace(SCATTER, in_bounds=load(of(POINT.symbol)), reads_ahead=True)) == ()
    twice = (Start(SOURCE, TARGET, symbol("n")), Start(SOURCE, OTHER, symbol("n")))
    assert scatter_pairs(replace(SCATTER, starts=twice)) == ()
    assert scatter_pairs(replace(SCATTER, starts=(Start(None, TARGET, symbol("n")),))) == ()
