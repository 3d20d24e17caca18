"""An element of a result has the same bits wherever it is: in a full vector, in the last one, alone, in any chunk.

Compilers contract a product into a sum where they see both, and so not in all copies of a loop. A sum of two products
can be contracted in two ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.pipeline.every_op import accepted

Array = NDArray[Any]
TYPES = (DType.F32, DType.F64, DType.C64, DType.C128)  # narrower floats are computed in f32
COUNT = 600
# A function of one element differed from that of a vector for one number in 200, or in 10,000. Few elements that are
# scattered are computed one by one, and many in vectors.
TURNS, MANY = 200, 60_000
MAGNITUDES = (1e-3, 0.1, 1.0, 1.0, 3.0, 10.0, 100.0, 1e4)


def values(dtype: DType, rng: np.random.Generator, count: int = COUNT) -> Array:
    parts = rng.standard_normal((2, count)) * rng.choice(MAGNITUDES, (2, count))
    return (parts[0] + 1j * parts[1] if dtype.is_complex else parts[0]).astype(numpy_dtype(dtype))


def bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def program(dtype: DType) -> tuple[str, list[str]]:
    """A function of all ops that take `%x` and `%y` alone, for any number of elements; and these ops."""
    ops = [op for op in accepted(dtype) if "({" not in op and "%c" not in op]
    lines = [f"  %{k} = {op}".replace("tensor<3x", "tensor<?x") for k, op in enumerate(ops)]
    x, types = f"tensor<?x{dtype.value}>", ", ".join([line.rpartition("-> ")[2] for line in lines])
    returned = f"  return {', '.join(f'%{k}' for k in range(len(ops)))} : {types}"
    return "\n".join([f"func.func @main(%x: {x}, %y: {x}) -> ({types}) {{", *lines, returned, "}"]), ops


@pytest.mark.parametrize("dtype", TYPES)
def test_an_element_has_the_same_bits_at_every_place(dtype: DType) -> None:
    text, ops = program(dtype)
    run = shlo_disc.compile(text, options=shlo_disc.CompileOptions(fusion="none"))
    rng = np.random.default_rng()
    x, y = values(dtype, rng), values(dtype, rng)
    whole = run(x, y)
    for first in range(0, COUNT - 40, 37):  # each element in other lanes, and in vectors that are not full
        last = first + int(rng.integers(1, 40))
        for op, part, result in zip(ops, run(x[first:last], y[first:last]), whole, strict=True):
            unlike = np.flatnonzero((bits(part) != bits(result[first:last])).any(1))
            assert not unlike.size, f"{op}: {x[first + unlike[0]]}, {y[first + unlike[0]]} gives other bits elsewhere"


def sums(dtype: DType, *, scattered: bool) -> tuple[str, list[str]]:
    """Each of these ops plus `%z`; `scattered`: of pairs of elements that `%i` picks, which are computed one by one."""
    type_ = f"tensor<2x?x{dtype.value}>"
    result = f"tensor<?x2x{dtype.value}>" if scattered else type_
    ops = [op for op in program(dtype)[1] if op.rpartition("-> ")[2].startswith(f"tensor<3x{dtype.value}>")]
    lines = list[str]()
    for k, op in enumerate(ops):
        lines += [f"  %{k} = {op}".replace("tensor<3x", "tensor<2x?x"), f"  %s{k} = stablehlo.add %{k}, %z : {type_}"]
        lines += [
            f'  %g{k} = "stablehlo.gather"(%s{k}, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
            "collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1>}>"
            f" : ({type_}, tensor<?xi32>) -> {result}"
        ] * scattered
    returned = [f"%{'g' if scattered else 's'}{k}" for k in range(len(ops))]
    arguments = ", ".join([f"%{name}: {type_}" for name in "xyz"])
    types = ", ".join([result] * len(returned))
    head = f"func.func @main({arguments}, %i: tensor<?xi32>) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {', '.join(returned)} : {types}", "}"]), ops


@pytest.mark.slow
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_functions_are_rounded_before_they_are_added(dtype: DType, scattered: bool) -> None:
    """A product that a function returns was contracted into a sum of the program: exp(inf) - inf was -inf, not NaN.

    Without fusion every function is stored before it is added.
    """
    text, ops = sums(dtype, scattered=scattered)
    fused, apart = (shlo_disc.compile(text, options=shlo_disc.CompileOptions(fusion=one)) for one in ("full", "none"))
    rng = np.random.default_rng()
    largest = float(np.finfo(numpy_dtype(dtype)).max)
    special = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 1, largest, 800, -800, 100, 89]).astype(numpy_dtype(dtype))
    for turn in range(TURNS + 1):
        size = int(rng.integers(1, 40 if turn % 4 else 8)) if turn < TURNS else MANY
        x, y, z = (values(dtype, rng, 2 * size).reshape(2, size) for _ in range(3))
        if turn % 2:
            x, z = rng.choice(special, (2, 2, size))
        if turn % 4 == 2:
            z[...] = 0  # the last place of the function remains
        numbers = np.arange(size, dtype=np.int32)
        for op, one, other in zip(ops, fused(x, y, z, numbers), apart(x, y, z, numbers), strict=True):
            unlike: Array = (bits(one.reshape(-1)) != bits(other.reshape(-1))).any(1).reshape(one.shape)
            unlike &= ~(np.isnan(one) & np.isnan(other))
            where = tuple(np.argwhere(unlike)[0]) if unlike.any() else ()
            at = where[::-1] if scattered else where
            told = f"{op}: {x[at]}, {y[at]}, {z[at]} gives {one[where]}, not {other[where]}"
            assert not unlike.any(), told
