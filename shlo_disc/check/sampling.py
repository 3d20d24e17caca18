"""Sizes and inputs to try a program with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.sizes import Point, free_symbols, point_of, random_points
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array: TypeAlias = NDArray[Any]
Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, ...], DType], Array]

_CORNERS = (0, 1, 2, 3, 7, 16, 17)  # all sizes equal
_MOST_ELEMENTS = 1 << 22  # of one input
_MIX = 0.25  # the share of special numbers among ordinary ones


def read_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Parse the sizes to try.

    >>> read_shapes("b=0,1,2; s=5")
    {'b': (0, 1, 2), 's': (5,)}
    """
    found = dict[str, tuple[int, ...]]()
    for part in filter(str.strip, text.split(";")):
        name, sign, values = part.partition("=")
        numbers = [value.strip() for value in values.split(",")]
        if not sign or not all(number.isdecimal() for number in numbers):
            raise ShloDiscError(f"expected sizes such as b=0,1,2;s=5, found {part.strip()!r}")
        found[name.strip()] = tuple(map(int, numbers))
    return found


def given_points(program: Program, shapes: Mapping[str, Sequence[int]], seed: int) -> Iterator[Point]:
    """All combinations of the named sizes that pass the program's checks; the other sizes are random.

    Raises `ShloDiscError` for a size that the program does not have, and if no combination passes.
    """
    for name in shapes:
        if name not in program.sizes:
            known = ", ".join(program.sizes) or "none, all its shapes are fixed"
            raise ShloDiscError(f"found the size '{name}', expected sizes of the program: {known}")
    random, found = Random(seed), False
    drawn = list(itertools.islice(random_points(program, random), 50))
    for values in itertools.product(*shapes.values()):
        wanted = dict(zip(shapes, values, strict=True))
        tried = itertools.chain(_solved(program, wanted), drawn)
        point = next((p for p in tried if all(program.sizes[n].evaluate(p) == v for n, v in wanted.items())), None)
        if point is not None:
            found = True
            yield point
    if not found:
        raise ShloDiscError("found no combination of these sizes that the program takes")


def _solved(program: Program, wanted: Mapping[str, int]) -> Iterator[Point]:
    """Points with the wanted values of free symbols; the other symbols take a few common values."""
    symbols = free_symbols(program)
    columns = [(wanted[s.name],) if s.name in wanted else (4, 3, 1, 8, 2, 16, 0) for s in symbols]
    for values in itertools.islice(itertools.product(*columns), 500):
        point = point_of(program, dict(zip(symbols, values, strict=True)))
        if point is not None:
            yield point


def varied_points(program: Program, count: int, seed: int, largest: int = 40) -> list[Point]:
    """`count` different points: corners first (all 0, all 1, …), then random ones; one point if all sizes are fixed."""
    symbols = free_symbols(program)
    if not symbols:
        return [{}]
    corners = [point_of(program, dict.fromkeys(symbols, value)) for value in _CORNERS if value <= largest]
    found = list[Point]()
    random = Random(seed)
    corner = [point for point in corners if point is not None]
    random.shuffle(corner)
    drawn = itertools.islice(random_points(program, random, largest), 20 * count)
    tried = itertools.chain(corner[: max(1, count // 2)], drawn)
    for point in tried:
        if point not in found and all(math.prod(shape) <= _MOST_ELEMENTS for shape in shapes_at(program, point)):
            found.append(point)
        if len(found) == count:
            break
    return found


def shapes_at(program: Program, point: Point) -> list[tuple[int, ...]]:
    """The shapes of the inputs at these sizes."""
    return [tuple([dim.evaluate(point) for dim in parameter.raw_shape]) for parameter in program.parameters]


def draw_inputs(program: Program, point: Point, distribution: str, seed: Sequence[int]) -> tuple[Array, ...]:
    """Draw the inputs of a call. Raises `ShloDiscError` if one would have too many elements."""
    rng, draw = np.random.default_rng(seed), DISTRIBUTIONS[distribution]
    shapes = shapes_at(program, point)
    for parameter, shape in zip(program.parameters, shapes, strict=True):
        if math.prod(shape) > _MOST_ELEMENTS:
            raise ShloDiscError(
                f"argument {parameter.tensor.name} of shape {list(shape)} is larger than the "
                f"{_MOST_ELEMENTS} elements that are drawn; give smaller sizes, or arrays by --inputs"
            )
    dtypes = [parameter.tensor.dtype for parameter in program.parameters]
    inputs = tuple([draw(rng, shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)])
    for dim in program.unbacked_dims:
        inputs[dim.argument].reshape(-1)[dim.element] = point[dim.symbol]
    return inputs


def _mixed(rng: np.random.Generator, usual: Array, unusual: Sequence[float]) -> Array:
    return np.where(rng.random(usual.shape) < _MIX, rng.choice(unusual, usual.shape), usual)


def _by_part(real: Callable[[np.random.Generator, tuple[int, ...], DType], Array], whole: Draw) -> Draw:
    """Combine a distribution of floats (also used for each part of complex numbers) and one of integers."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        target = numpy_dtype(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            if dtype.is_complex:
                return (real(rng, shape, dtype.part) + 1j * real(rng, shape, dtype.part)).astype(target)
            if dtype.is_float:
                return real(rng, shape, dtype).astype(target)
        return rng.random(shape) < 0.5 if dtype.is_bool else whole(rng, shape, dtype)

    return draw


def _integers(low: int, high: int) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        least, most = dtype.integer_bounds
        return rng.integers(max(low, least), min(high, most), shape, endpoint=True).astype(numpy_dtype(dtype))

    return draw


def _extreme_integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Small integers, some of them out of range as indices, mixed with the limits of the type."""
    least, most = dtype.integer_bounds
    ends = np.array([least, least + 1, most, most - 1, 0], dtype=object)
    small = _integers(-40, 40)(rng, shape, dtype)
    return np.where(rng.random(shape) < _MIX, rng.choice(ends, shape), small).astype(numpy_dtype(dtype))


def _normal(rng: np.random.Generator, shape: tuple[int, ...], _dtype: DType) -> Array:
    return rng.standard_normal(shape)


def _small(rng: np.random.Generator, shape: tuple[int, ...], _dtype: DType) -> Array:
    return rng.integers(-4, 5, shape) / 2


def _special(rng: np.random.Generator, shape: tuple[int, ...], _dtype: DType) -> Array:
    return _mixed(rng, np.rint(rng.standard_normal(shape) * 4), (np.nan, np.inf, -np.inf, -0.0, 0.0))


def _wide(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Magnitudes from 2**-reach to 2**reach, log-uniform: wide, but not likely to overflow at once."""
    reach = 4 if dtype.bits <= 8 else 30 if dtype.bits > 16 or dtype is DType.BF16 else 7
    return rng.choice((-1.0, 1.0), shape) * np.exp2(rng.uniform(-reach, reach, shape))


DISTRIBUTIONS: Mapping[str, Draw] = {
    "normal": _by_part(_normal, _integers(0, 6)),
    "small": _by_part(_small, _integers(-4, 12)),  # ties, exact sums; indices a little out of range
    "special": _by_part(_special, _extreme_integers),
    "wide": _by_part(_wide, _integers(-100, 100)),
}
