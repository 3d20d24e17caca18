"""Which loops a formula depends on: one that is missing would have it computed outside of the loop that it needs."""

from __future__ import annotations

import pytest

from shlo_disc.codegen.dependence import ROW, Dependence
from shlo_disc.codegen.kernel import Param, Scratch
from shlo_disc.expr.dim import Dim, Sym, const, of, symbol
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Binary, BinaryFn, Const, Fold, FoldResult, FromDim, InRange, Load, Scalar

F32 = DType.F32
I, J, K = of(Sym("%i")), of(Sym("%j")), of(Sym("%k"))
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
    "a sum of loops": (I * S + J, {"%i", "%j"}),
    "an element": (load(I + 1), {"%i"}),
    "scratch": (Load(SCRATCH, (J,)), {ROW, "%j"}),
    "an argument": (Binary(BinaryFn.ADD, TOTAL, load(I), F32), {"c", "%i"}),
    "an index": (FromDim(I * 2, DType.I32), {"%i"}),
    "what is compared": (InRange(I, const(0), S), {"%i"}),
    "the lower end": (InRange(S, J, S), {"%j"}),
    "the upper end": (InRange(S, const(0), K), {"%k"}),
    "a sum inside": (summed(load(I + K), S, ZERO), {"%i"}),
    "how long a sum is": (summed(load(K), J + 1, ZERO), {"%j"}),
    "where a sum starts": (summed(load(K), S, load(J)), {"%j"}),
}


@pytest.mark.parametrize("name", DEPENDS)
def test_every_loop_counts(name: str) -> None:
    node, names = DEPENDS[name]
    assert Dependence().of(node) == names
