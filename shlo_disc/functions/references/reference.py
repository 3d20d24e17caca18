"""The references of functions of one and of two elements, by the kind of their operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shlo_disc.functions.references import complexes, floats, integers
from shlo_disc.functions.references.formats import dtype_of, widened
from shlo_disc.functions.references.integers import modular
from shlo_disc.ir.dtypes import Array, DType
from shlo_disc.records import record

Function = Callable[..., Array]


@record
class Reference:
    """One function of elements, for each kind of operands that it takes."""

    floats: Function | None = None
    complexes: Function | None = None
    integers: Function | None = None
    booleans: Function | None = None

    def __call__(self, *operands: Array) -> Array:
        """Apply the function to arrays of one shape and one dtype; the result may have another dtype."""
        dtype = dtype_of(operands[0])
        if (function := self._of(dtype)) is None:
            raise TypeError(f"the function takes no {dtype.value}")
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))

    def takes(self, dtype: DType) -> bool:
        """Whether the function is defined for elements of a type."""
        return self._of(dtype) is not None

    @property
    def kinds(self) -> str:
        """The kinds of elements that the function takes, for errors: "real numbers", "integers"."""
        if self.floats is not None and self.integers is not None and self.complexes is None:
            return "real numbers"
        kinds = {"floats": self.floats, "complex numbers": self.complexes, "integers": self.integers}
        kinds["booleans"] = self.booleans
        return " or ".join([kind for kind, function in kinds.items() if function is not None])

    def _of(self, dtype: DType) -> Function | None:
        if dtype.is_complex:
            return self.complexes
        if dtype.is_float:
            return self.floats
        return self.booleans if dtype.is_bool else self.integers


def precisely(real: Function, complex_: Function) -> Reference:
    """The reference of a function of floats and of complex numbers, both computed in the next wider type."""
    return Reference(floats=floats.precisely(real), complexes=complexes.precisely(complex_))


def of_floats(function: Function) -> Reference:
    """The reference of a function of floats that chooses its own precision."""
    return Reference(floats=floats.directly(function))


def bitwise(of_bits: Function, of_booleans: Function) -> Reference:
    """The reference of a function of bits."""
    return Reference(integers=modular(of_bits), booleans=of_booleans)


MAXIMUM = Reference(floats.directly(floats.larger), complexes.larger, integers.larger, np.logical_or)
MINIMUM = Reference(floats.directly(floats.smaller), complexes.smaller, integers.smaller, np.logical_and)


def maximum(a: Array, b: Array) -> Array:
    """The larger of two elements, as `widened` gives them."""
    return MAXIMUM(widened(a), widened(b))


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two elements, as `widened` gives them."""
    return MINIMUM(widened(a), widened(b))


def reduced(function: Function, x: Array, dims: tuple[int, ...]) -> Array:
    """Reduce dims, of which none is empty, by combining halves."""
    kept = tuple(n for k, n in enumerate(x.shape) if k not in dims)
    rest = np.moveaxis(x, dims, range(len(dims))).reshape(-1, *kept)
    while len(rest) > 1:
        half = len(rest) // 2
        rest = np.concatenate([function(rest[:half], rest[half : 2 * half]), rest[2 * half :]])
    return rest[0]
