"""Which loops a formula depends on: one that is missing would have it computed outside of the loop that it needs."""

from __future__ import annotations

import pytest

from shlo_disc.expr.dim import Dim, Sym, const, of, symbol
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Binary, Const, Fold, FoldResult, FromDim, InRange, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import ROW, Dependence
from shlo_disc.kernels.kernel import Param, Scratch

pytestmark = pytest.mark.quick

F32 = DType.F32
ROWS, LANES, STEPS = of(Sym("%i")), of(Sym("%j")), of(Sym("%k"))
S = symbol("s")
PARAM, SCRATCH, TOTAL = Param("p0", F32), Scratch("t0", F32, S), Arg("c", F32)


def load(index: Dim) -> Load:
    return Load(PARAM, (index,))


def summed(element: Scalar, extent: Dim, init: Scalar) -> FoldResult:
    """A sum over %k inside of a formula."""
    update = Binary(BinaryFn.ADD, TOTAL, element, F32)
    return FoldResult(Fold(((Sym("%k"), extent),), (TOTAL,), (init,), (update,)), 0)


ZERO = Const(0.0, F32)
DEPENDS: dict[str, tuple[Node, set[str]]] = {
    "a size": (S, set()),
    "a sum of loops": (ROWS * S + LANES, {"%i", "%j"}),
    "an element": (load(ROWS + 1), {"%i"}),
    "scratch": (Load(SCRATCH, (LANES,)), {ROW, "%j"}),
    "an argument": (Binary(BinaryFn.ADD, TOTAL, load(ROWS), F32), {"c", "%i"}),
    "an index": (FromDim(ROWS * 2, DType.I32), {"%i"}),
    "what is compared": (InRange(ROWS, const(0), S), {"%i"}),
    "the lower end": (InRange(S, LANES, S), {"%j"}),
    "the upper end": (InRange(S, const(0), STEPS), {"%k"}),
    "a sum inside": (summed(load(ROWS + STEPS), S, ZERO), {"%i"}),
    "how long a sum is": (summed(load(STEPS), LANES + 1, ZERO), {"%j"}),
    "where a sum starts": (summed(load(STEPS), S, load(LANES)), {"%j"}),
}


@pytest.mark.parametrize("name", DEPENDS)
def test_every_loop_counts(name: str) -> None:
    node, names = DEPENDS[name]
    assert Dependence().of(node) == names
