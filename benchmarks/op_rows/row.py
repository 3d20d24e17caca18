"""What a row of the table of ops is: a program, how its inputs are drawn, and the sizes it is measured at."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import export
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Sizes = tuple[int, ...]
Draw = Callable[[np.random.Generator, Sizes, Mapping[str, int]], Array]

WIDE = frozenset(map(np.dtype, ("float64", "int64", "uint64", "complex128")))

# Small, medium, large, and odd: a prime, or many tiny rows.
LINES: tuple[Sizes, ...] = ((1_000,), (100_000,), (4_000_000,), (99_991,))
ROWS: tuple[Sizes, ...] = ((10, 100), (100, 1_000), (2_000, 2_000), (30_011, 3))


@dataclass(frozen=True, slots=True)
class Input:
    """An array of a shape such as `"n, 3"`."""

    dtype: np.dtype[Any]
    shape: str
    draw: Draw


@dataclass(frozen=True, slots=True)
class Row:
    """A program of `inputs`; `sizes` are values of their size names, in the order in which the shapes name them.

    It is exported once, with symbolic sizes under `constraints`; a `static` one for each size, where JAX cannot.
    """

    family: str
    name: str
    program: Callable[..., Any]
    inputs: tuple[Input, ...]
    sizes: tuple[Sizes, ...]
    constraints: tuple[str, ...] = ()
    static: bool = False

    @property
    def wide(self) -> bool:
        """Whether JAX has to allow types of 64 bits."""
        return any(one.dtype in WIDE for one in self.inputs)

    def names(self, sizes: Sizes) -> Mapping[str, int]:
        """Give every size its value."""
        found = dict.fromkeys(x for one in self.inputs for x in _entries(one.shape) if not x.isdigit())
        return dict(zip(found, sizes, strict=True))

    def draw(self, sizes: Sizes) -> tuple[Array, ...]:
        """Draw the inputs."""
        rng, names = np.random.default_rng(1), self.names(sizes)
        shapes = [tuple(int(x) if x.isdigit() else names[x] for x in _entries(one.shape)) for one in self.inputs]
        pairs = zip(self.inputs, shapes, strict=True)
        return tuple(one.draw(rng, shape, names).astype(one.dtype, copy=False) for one, shape in pairs)

    def export(self, sizes: Sizes | None) -> export.Exported:
        """Export the program: for all sizes, or for given ones."""
        if sizes is not None:
            specs = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in self.draw(sizes)]
        else:
            scope = export.SymbolicScope(self.constraints)
            specs = [
                jax.ShapeDtypeStruct(export.symbolic_shape(one.shape, scope=scope), one.dtype) for one in self.inputs
            ]
        return export.export(jax.jit(self.program))(*specs)


def _entries(shape: str) -> list[str]:
    return [entry.strip() for entry in shape.split(",") if entry.strip()]


def normal(shape: str, dtype: DTypeLike = np.float32) -> Input:
    """Normally distributed numbers; complex ones in both parts."""

    def draw(rng: np.random.Generator, shape: Sizes, _: Mapping[str, int]) -> Array:
        found = rng.standard_normal(shape, np.float32)
        return found + 1j * rng.standard_normal(shape, np.float32) if np.dtype(dtype).kind == "c" else found

    return Input(np.dtype(dtype), shape, draw)


def uniform(shape: str, low: float, high: float, dtype: DTypeLike = np.float32) -> Input:
    """Numbers that are evenly distributed."""
    return Input(np.dtype(dtype), shape, lambda rng, shape, _: rng.uniform(low, high, shape))


def integers(shape: str, low: int, high: int, dtype: DTypeLike = np.int32) -> Input:
    """Integers of `[low, high)`."""
    return Input(np.dtype(dtype), shape, lambda rng, shape, _: rng.integers(low, high, shape, dtype=np.int64))


def indices(shape: str, below: str) -> Input:
    """Indices into an axis of the size `below`."""
    return Input(np.dtype(np.int32), shape, lambda rng, shape, names: rng.integers(0, names[below], shape))


def booleans(shape: str) -> Input:
    """True and false, in no order."""
    return Input(np.dtype(np.bool_), shape, lambda rng, shape, _: rng.random(shape) < 0.5)


def ascending(shape: str) -> Input:
    """Sorted along the last axis."""
    return Input(np.dtype(np.float32), shape, lambda rng, shape, _: np.sort(rng.standard_normal(shape), axis=-1))
