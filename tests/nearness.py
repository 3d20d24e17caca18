"""How far products may be from exact ones: a bound for each element, by the types of operands, sums and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}  # from 1 to the next


@dataclass(frozen=True, slots=True)
class Near:
    """Numbers in a wider type, and how far from each a result may be before it is rounded to its own type."""

    exact: Array
    error: Array

    def check(self, found: Any, what: str = "") -> None:
        """Raise AssertionError unless every element is within its error, and within a rounding to the type it has."""
        got = np.asarray(found)
        assert got.shape == self.exact.shape, what
        if got.dtype.kind in "iu":
            np.testing.assert_array_equal(got, self.exact.astype(got.dtype), what)
            return
        room = self.error + EPSILON[got.dtype.name] * np.abs(self.exact)
        apart = np.abs(got.astype(self.exact.dtype) - self.exact)
        worst = np.unravel_index(np.argmax(apart - room), got.shape) if got.size else ()
        assert np.all(apart <= room), f"{what}: {got[worst]} for {self.exact[worst]} at {worst}, room {room[worst]}"

    def tanh(self) -> Near:
        """The hyperbolic tangents: errors do not grow."""
        exact = np.tanh(self.exact)
        return Near(exact, self.error + 4 * np.finfo(np.float32).eps * np.abs(exact))


def product(x: Array | Near, w: Array, operands: float = 0.0) -> Near:
    """The product of matrices: exact for integers, which wrap; else with the error of n sums in f32, or f64 of f64.

    `operands`: the relative error of each operand, such as 2^-11 where they are rounded to TF32.
    """
    left, carried = (x.exact, x.error) if isinstance(x, Near) else (x, np.zeros(x.shape))
    if w.dtype.kind in "iu":
        exact = left.astype(np.int64) @ w.astype(np.int64)
        return Near(exact, np.zeros(exact.shape))
    wide = np.longdouble if w.dtype == np.float64 else np.float64
    sums = float(np.finfo(np.float64 if w.dtype == np.float64 else np.float32).eps)
    left, right, depth = left.astype(wide), w.astype(wide), w.shape[0]
    sizes = np.abs(left) @ np.abs(right)
    return Near(left @ right, (depth * sums / 2 + 2 * operands) * sizes + carried @ np.abs(right))
