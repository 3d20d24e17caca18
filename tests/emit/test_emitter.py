"""Printing formulas: random ones, compiled as C++ in one file, give what `expr/evaluate.py` says they mean."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.analysis.access import loads
from shlo_disc.device import headers
from shlo_disc.emit.indices import size_name
from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, of, symbol
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.scalar import Binary, Compare, Const, Convert, FromDim, InRange, Load, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Stage, Store
from shlo_disc.lower_cpu.rows import RowPrinter, extent
from shlo_disc.lower_cpu.templates import signature
from shlo_disc.runtime.building.toolchain import find_compiler

Array = NDArray[Any]

ROW, LANE, N = Sym("%x0"), Sym("%c0"), symbol("n")
ROWS, LANES = 6, 21  # four rows at once and two more; a vector and a tail
COUNT = 160
F32, I32, I64, U8, I1 = DType.F32, DType.I32, DType.I64, DType.UI8, DType.I1
# Small numbers, and divisors that are powers of two: every float operation below is exact in any order.
VALUES: Mapping[str, tuple[DType, Sequence[int]]] = {
    "f": (F32, (-1, 0, 1, 2)), "g": (F32, (-2, 1, 3)), "d": (F32, (-2, -1, 1, 2, 4)),
    "i": (I32, (-(2**31), 2**31 - 1, -1, 0, 1, 5, 1000)), "j": (I64, (-(2**63), 2**63 - 1, -7, 0, 1, 2**40)),
    "u": (U8, (0, 1, 7, 128, 255)), "m": (I1, (0, 1)),
}  # fmt: skip
PARAMS = {name: Param(name, dtype) for name, (dtype, _) in VALUES.items()}
MATRIX, PER_ROW = of(ROW) * N + of(LANE), of(ROW)


class Formulas:
    """Draws formulas of a dtype, up to a depth."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def draw(self, dtype: DType, depth: int) -> Scalar:
        if depth == 0 or self.random.random() < 0.1:
            return self._leaf(dtype)
        draw: Mapping[DType, Callable[[int], Scalar]] = {F32: self._float, I1: self._bool}
        return draw[dtype](depth - 1) if dtype in draw else self._integer(dtype, depth - 1)

    def _leaf(self, dtype: DType) -> Scalar:
        match self.random.randrange(6):
            case 0:
                return (
                    Const(self.random.choice((0.5, -1.0, 2.0, 3.0)), F32)
                    if dtype is F32
                    else _const(dtype, self.random)
                )
            case 1 if dtype in (I32, I64):
                return FromDim(self._dim(), dtype)
            case _:
                names = [name for name, (kind, _) in VALUES.items() if kind is dtype and name != "d"]
                return self._load(self.random.choice(names))

    def _load(self, name: str) -> Load:
        # the middle of the row backwards: no vector load; the row alone: the same for all lanes
        offsets = (MATRIX, MATRIX, PER_ROW, of(ROW) * N + (N - 1) - of(LANE), const(3))
        return Load(PARAMS[name], (self.random.choice(offsets),))

    def _dim(self) -> Dim:
        a, b = of(ROW), of(LANE)
        dims = (a + 2 * b, N - b, a - b * 3 + 1, (a + 7) // 3, maximum(a - 3, 1), minimum(N, a * 2), N * a - 5, b)
        return self.random.choice(dims)

    def _float(self, depth: int) -> Scalar:
        x, y = (self.draw(F32, depth) for _ in range(2))
        fn = self.random.choice(
            (BinaryFn.ADD, BinaryFn.SUBTRACT, BinaryFn.MULTIPLY, BinaryFn.MAXIMUM, BinaryFn.MINIMUM)
        )
        unary = self.random.choice((UnaryFn.NEGATE, UnaryFn.ABS))
        return self.random.choice((
            Binary(fn, x, y, F32), Binary(fn, x, y, F32), Binary(fn, x, y, F32), Binary(fn, x, y, F32),
            Binary(BinaryFn.DIVIDE, x, self._load("d"), F32),
            Binary(BinaryFn.SUBTRACT, x, Binary(BinaryFn.ADD, y, x, F32), F32),
            Unary(unary, x, F32), Select(self.draw(I1, depth), x, y), Convert(self.draw(I1, depth), F32),
            Convert(Binary(BinaryFn.AND, self.draw(I32, depth), Const(3, I32), I32), F32),
        ))  # fmt: skip

    def _integer(self, dtype: DType, depth: int) -> Scalar:
        x, y = (self.draw(dtype, depth) for _ in range(2))
        fns = (
            BinaryFn.ADD,
            BinaryFn.SUBTRACT,
            BinaryFn.MULTIPLY,
            BinaryFn.AND,
            BinaryFn.OR,
            BinaryFn.XOR,
            BinaryFn.MAXIMUM,
            BinaryFn.MINIMUM,
        )
        shifts = (BinaryFn.SHIFT_LEFT, BinaryFn.SHIFT_RIGHT_LOGICAL, BinaryFn.SHIFT_RIGHT_ARITHMETIC)
        divisions = (BinaryFn.DIVIDE, BinaryFn.REMAINDER)
        other = self.random.choice([d for d in (I32, I64, U8) if d is not dtype])
        return self.random.choice((
            Binary(self.random.choice(fns), x, y, dtype), Binary(self.random.choice(fns), x, y, dtype),
            Binary(self.random.choice(shifts), x, Const(self.random.randrange(8), dtype), dtype),
            Binary(self.random.choice(divisions), x, Const(self.random.choice((1, 2, 3, 7)), dtype), dtype),
            Unary(UnaryFn.NOT, x, dtype), Unary(UnaryFn.NEGATE if dtype is not U8 else UnaryFn.POPCNT, x, dtype),
            Select(self.draw(I1, depth), x, y),
            Convert(self.draw(other, depth), dtype), Convert(self.draw(I1, depth), dtype),
        ))  # fmt: skip

    def _bool(self, depth: int) -> Scalar:
        kind = self.random.choice((F32, I32, I64, U8))
        a, b = (self.draw(I1, depth) for _ in range(2))
        fn = self.random.choice((BinaryFn.AND, BinaryFn.OR, BinaryFn.XOR))
        return self.random.choice((
            Compare(self.random.choice(list(Direction)), self.draw(kind, depth), self.draw(kind, depth)),
            Binary(fn, a, b, I1), Unary(UnaryFn.NOT, a, I1), InRange(self._dim(), *self._ends()),
        ))  # fmt: skip

    def _ends(self) -> tuple[Dim, Dim]:
        """Of a range, which may be empty, as where a pad has nothing but its interior padding."""
        low, high = self.random.choice((const(0), const(2))), self.random.choice((N, const(-1), const(0), const(5)))
        return low, high


def _const(dtype: DType, random: Random) -> Const:
    if dtype is I1:
        return Const(random.random() < 0.5, I1)
    return Const(random.choice((0, 1, 5, 200 if dtype is U8 else -3)), dtype)


def kernel(formula: Scalar, *, flat: bool) -> RowKernel:
    """`out[row, lane] = formula`, as rows or as one map without rows."""
    out = Param("out", formula.dtype)
    used = {load.source.name for load in loads(formula)}
    axes = (Axis(ROW, const(ROWS)), Axis(LANE, N))
    stage = Stage(axes if flat else axes[1:], (False,) * (2 if flat else 1), (Store(out, MATRIX, formula),), ())
    params = (out, *(p for name, p in PARAMS.items() if name in used))
    return RowKernel(params, () if flat else axes[:1], (stage,), ())


def text_of(name: str, one: RowKernel) -> str:
    statements, sizes = RowPrinter(one).lines()
    assert set(sizes) <= {"n"}, "the only size is n"
    head = signature('extern "C"', name)
    return "\n".join([*head, *(f"const int64_t {size_name(s)} = dims[0];" for s in sizes), *statements, "}"])


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Scalar, RowKernel]]:
    formulas = Formulas(20)
    dtypes = (F32, F32, F32, I32, I64, U8, I1)
    roots = [formulas.draw(dtypes[k % len(dtypes)], 2 + k % 4) for k in range(COUNT)]
    return [(root, kernel(root, flat=k % 3 == 0)) for k, root in enumerate(roots)]


@pytest.fixture(scope="module")
def library(drawn: list[tuple[Scalar, RowKernel]], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("emitter")
    source, target = folder / "kernels.cc", folder / "kernels.o"
    texts = [text_of(f"formula_{k}", one) for k, (_, one) in enumerate(drawn)]
    source.write_text("\n\n".join(['#include "call/kernel.h"', *texts]))
    compiler = find_compiler()
    compiler.compile(source, target, 0, (headers.ROOT,))
    compiler.link([target], folder / "kernels.so")
    return ctypes.CDLL(str(folder / "kernels.so"))


def inputs() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    size = ROWS * LANES
    return {
        name: np.array(values, numpy_dtype(dtype))[rng.integers(0, len(values), size)]
        for name, (dtype, values) in VALUES.items()
    }


def run(library: ctypes.CDLL, name: str, one: RowKernel, arrays: Mapping[str, Array]) -> Array:
    out = np.zeros(ROWS * LANES, numpy_dtype(one.params[0].dtype))
    buffers = [out, *(arrays[p.name] for p in one.params[1:])]
    pointers = (ctypes.c_void_p * len(buffers))(*(b.ctypes.data for b in buffers))
    call = library[name]
    for begin, end in ((0, 4), (4, extent(one).evaluate({Sym("n"): LANES}))):
        call(None, pointers, (ctypes.c_int64 * 1)(LANES), ctypes.c_int64(begin), ctypes.c_int64(end), None)
    return out


def test_printed_formulas_mean_what_they_say(drawn: list[tuple[Scalar, RowKernel]], library: ctypes.CDLL) -> None:
    arrays = inputs()
    wrong = list[str]()
    for k, (root, one) in enumerate(drawn):
        found = run(library, f"formula_{k}", one, arrays).reshape(ROWS, LANES)
        points = [(0, 0), (0, 15), (1, 16), (3, 20), (4, 7), (5, 20), (5, 3), (2, 11)]
        for row, lane in points:
            wanted = evaluate(root, {ROW: row, LANE: lane, Sym("n"): LANES}, arrays)
            if not np.array_equal(found[row, lane], wanted, equal_nan=wanted.dtype.kind == "f"):
                wrong.append(f"{text_of(f'formula_{k}', one)}\nat {row}, {lane}: {found[row, lane]}, expected {wanted}")
                break
    assert not wrong, f"{len(wrong)} of {COUNT}:\n" + "\n\n".join(wrong[:5])


def test_the_formulas_take_both_ways(drawn: list[tuple[Scalar, RowKernel]]) -> None:
    texts = [text_of("f", one) for _, one in drawn]
    vectors = [text for text in texts if "left" in text]
    assert len(vectors) > COUNT // 4
    assert len(vectors) < COUNT


def test_no_needless_parentheses() -> None:
    a, b, c = (Load(PARAMS[name], (MATRIX,)) for name in "fgd")

    def text(x: Scalar) -> str:
        line = next(line for line in text_of("f", kernel(x, flat=False)).splitlines() if "store(" in line)
        return line.partition(", ")[2]

    def add(x: Scalar, y: Scalar) -> Binary:
        return Binary(BinaryFn.ADD, x, y, F32)

    def over(x: Scalar, y: Scalar) -> Binary:
        return Binary(BinaryFn.DIVIDE, x, y, F32)

    def times(x: Scalar, y: Scalar) -> Binary:
        return Binary(BinaryFn.MULTIPLY, x, y, F32)

    assert "load(f + (n1 + c0)) + load(g + (n1 + c0)) / load(d + (n1 + c0))" in text(add(a, over(b, c)))
    assert "(load(f + (n1 + c0)) + load(g + (n1 + c0))) / load(d + (n1 + c0))" in text(over(add(a, b), c))
    assert "times(load(f + (n1 + c0)) + load(g + (n1 + c0)), load(d + (n1 + c0)))" in text(times(add(a, b), c))
    assert "load(f + (n1 + c0)) + (load(g + (n1 + c0)) + load(d + (n1 + c0)))" in text(add(a, add(b, c)))
    assert "load(f + (n1 + c0)) + load(g + (n1 + c0)) + load(d + (n1 + c0))" in text(add(add(a, b), c))
