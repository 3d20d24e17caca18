"""What is shared in dims and formulas is looked at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shlo_disc.expr.dim import Sym, maximum, symbol
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.scalar import Arg, Binary, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType


def test_a_shared_part_is_evaluated_once() -> None:
    class Values(dict[Sym, int]):
        reads = 0

        def __getitem__(self, key: Sym) -> int:
            self.reads += 1
            return super().__getitem__(key)

    s, t = symbol("s"), symbol("t")
    dim = s
    for _ in range(10):
        dim = dim + t * maximum(dim - 1, 0)
    values = Values({Sym("s"): 2, Sym("t"): 1})
    assert dim.evaluate(values) == 2**10 + 1
    assert values.reads < 200  # of 2^10 ways from the root to s


def test_look_ups_with_equal_nodes_leave_no_chain() -> None:
    first = maximum(symbol("s"), 0)
    for _ in range(100):
        assert first == maximum(symbol("s"), 0)
    links, node = 0, first
    while (node := getattr(node, "_twin", None)) is not None:
        links += 1
    assert links <= 2


def test_a_shared_formula_is_computed_once() -> None:
    class Arguments(dict[str, NDArray[np.uint32]]):
        reads = 0

        def __getitem__(self, key: str) -> NDArray[np.uint32]:
            self.reads += 1
            return super().__getitem__(key)

    formula: Scalar = Arg("x", DType.UI32)
    for _ in range(10):
        formula = Binary(BinaryFn.ADD, formula, formula, DType.UI32)
    arguments = Arguments(x=np.array(3, np.uint32))
    assert evaluate(formula, {}, {}, arguments) == 3 * 2**10
    assert arguments.reads == 2  # of 2^10 ways from the root to x
