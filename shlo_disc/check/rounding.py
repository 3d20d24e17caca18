"""How far correct runs of a program may be apart: Monte Carlo arithmetic.

Every run of floating-point ops is one of many legal ones: sums are added in another order, a function is a few units in
the last place off, a narrow float is kept in a wider one. Parker's Monte Carlo arithmetic ("Monte Carlo Arithmetic:
exploiting randomness in floating-point arithmetic", UCLA CSD-970002, 1997) draws such runs: the reference interpreter
is run several times, and what each op rounds is moved by a random part of what an implementation may be off. What the
results are apart then is the conditioning of the program at these inputs, through whatever ops: where a comparison
could go either way, or a sum cancels, results differ a lot, and everywhere else hardly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Body, Op, Program
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.reference import Watch, by_definition, interpret

Array = NDArray[Any]

# Ops whose results are those of exact arithmetic, or correctly rounded in every implementation.
_EXACT = frozenset({
    "abs", "and", "bitcast_convert", "ceil", "clamp", "compare", "complex", "conj", "convert",
    "count_leading_zeros", "d_broadcast", "d_case", "d_concatenate", "d_constant", "d_dynamic_slice",
    "d_dynamic_update_slice", "d_from_dims", "d_gather", "d_iota", "d_map", "d_pad", "d_pivots_to_permutation",
    "d_reshape", "d_reverse", "d_rng_bits", "d_rng_state", "d_slice", "d_sort", "d_transpose", "d_while", "floor",
    "imag", "is_finite", "is_inf", "is_neg_inf", "is_pos_inf", "maximum", "minimum", "mulhi", "negate",
    "next_after", "not", "or", "popcnt", "real", "reduce_precision", "remainder", "round_nearest_afz",
    "round_nearest_even", "select", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "xor",
})  # fmt: skip
_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "sqrt"})  # to the nearest, or beside it
_ULPS_ROUNDED, _ULPS_FUNCTION = 1.0, 8.0  # of a function, in our prelude, in NumPy and in XLA
_COMBINES = frozenset({"and", "compare", "d_constant", "maximum", "minimum", "not", "or", "select", "xor"})  # exactly


def perturbed_runs(
    program: Program, inputs: Sequence[Array], count: int, seed: int, watch: Callable[[int], Watch] | None = None
) -> list[list[Array]]:
    """Run a program `count` times, each time rounded in another way that an implementation may round.

    `watch(k)` is told of the ops of run number k.
    """
    return [
        interpret(
            program,
            inputs,
            watch(number) if watch is not None else _unwatched,
            _Perturbed(np.random.default_rng((seed, number))).evaluate,
        )
        for number in range(count)
    ]


def _unwatched(_op: Op[object], _results: Arrays) -> None:
    pass


class _Perturbed:
    """Evaluates ops, and moves what they round."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def evaluate(self, op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
        """The results of one op.

        A result that is short, such as 2 or 0.75, is taken for exact. A sum of n terms may be off by the error of its
        partial sums: sqrt(n) units of its terms at random (Higham and Mary, "A new approach to probabilistic rounding
        error analysis", 2019). Terms come in any order.
        """
        if op.name in _EXACT or not any(x.dtype.is_float or x.dtype.is_complex for x in op.results):
            return by_definition(op, inputs, run)
        if op.name in _ROUNDED:
            return tuple([self._moved(x, _ULPS_ROUNDED) for x in by_definition(op, inputs, run)])
        if any(body.ops for body in op.bodies) and all(_combines_exactly(body) for body in op.bodies):
            return by_definition(op, inputs, run)
        if not (op.bodies or op.name.startswith("d_")):
            return tuple([self._moved(x, _ULPS_FUNCTION) for x in by_definition(op, inputs, run)])
        if isinstance(op.attrs, ReduceAttrs):
            inputs = self._shuffled(inputs, op.attrs.dims)
        first = by_definition(op, inputs, run)
        terms = _terms(inputs, first)
        moved = tuple([self._moved(x, _ULPS_ROUNDED * terms**0.5) for x in inputs])
        return tuple([self._moved(x, _ULPS_ROUNDED * terms**0.5) for x in by_definition(op, moved, run)])

    def _shuffled(self, inputs: Arrays, dims: Sequence[int]) -> Arrays:
        """The terms of a reduction of one array in another order, which counts where partial results overflow."""
        if len(inputs) != 2:
            return inputs
        x, start = inputs
        last = np.moveaxis(x, dims, range(-len(dims), 0))
        lines = last.reshape(*last.shape[: last.ndim - len(dims)], math.prod(last.shape[last.ndim - len(dims) :]))
        mixed = self._random.permuted(lines, axis=-1).reshape(last.shape)
        return np.moveaxis(mixed, range(-len(dims), 0), dims), start

    def _moved(self, x: Array, ulps: float) -> Array:
        """Move what is not short by up to so many units in the last place, of the larger part of complex numbers."""
        if x.dtype.kind == "c":
            unit = np.spacing(np.maximum(abs(np.real(x)), abs(np.imag(x))))
            noise = self._noise(x.shape) * unit + 1j * self._noise(x.shape) * unit
            return np.where(_is_short(np.real(x)) & _is_short(np.imag(x)), x, x + ulps * noise).astype(x.dtype)
        if not _is_float(x.dtype):
            return x
        wide = x.astype(np.float64)
        moved = wide + np.rint(self._noise(x.shape) * max(1.0, ulps)) * _unit(x)
        # A function may give a short number that it does not have exactly: 0 for a subnormal one, 0.5 for what is near.
        exact = (_is_short(x) & (ulps != _ULPS_FUNCTION)) | ~np.isfinite(wide)
        found = np.where(exact, x, moved.astype(x.dtype))
        share = self._random.choice([0.0, 0.5, 1.0])  # no rule says which sign a NaN has: all alike, or any
        negated = np.isnan(wide) & (self._random.random(x.shape) < share)
        return np.where(negated, np.copysign(x, -np.copysign(1.0, wide).astype(x.dtype)), found)

    def _noise(self, shape: tuple[int, ...]) -> Array:
        """Random numbers from -1 to 1, the ends most often: rounding errors of the largest size."""
        return np.clip(self._random.uniform(-1.5, 1.5, shape), -1, 1)


def _combines_exactly(body: Body) -> bool:
    return all(op.name in _COMBINES for op in body.ops)


def _terms(inputs: Arrays, results: Arrays) -> float:
    """How many terms a result sums up, at most: for a product of matrices, the contracted size."""
    sizes = [x.size for x in inputs if _is_float(x.dtype) or x.dtype.kind == "c"]
    largest, result = max(sizes, default=1), max(1, min(x.size for x in results))
    several = [size for size in sizes if size > 1]
    product = several[0] * several[1] / result if len(several) >= 2 else largest
    return max(1.0, largest / result, min(product, largest) ** 0.5, 4.0)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def significand_bits(dtype: np.dtype[Any]) -> int:
    """The bits of a float's significand, without the one that is not stored."""
    return _finfo(dtype).nmant


def _finfo(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return cast("Any", np.finfo(dtype))
    import ml_dtypes  # noqa: PLC0415  # whoever has an array of such a type has the package

    return cast("Any", ml_dtypes.finfo(dtype))


def _unit(x: Array) -> Array:
    """One unit in the last place of each element, in f64."""
    return units(x.astype(np.float64), x.dtype)


def units(wide: Array, dtype: np.dtype[Any]) -> Array:
    """One unit in the last place of `dtype` at each of these numbers; that of the least normal number below it."""
    info = _finfo(dtype)
    exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))[1] - 1
    least = int(np.frexp(float(info.smallest_normal))[1]) - 1
    return np.ldexp(1.0, np.maximum(exponent, least) - info.nmant)


def _is_short(x: Array) -> Array:
    """Whether the lower half of the significand is empty: a number that was rounded is seldom so."""
    wide = x.astype(np.float64)
    significand, _ = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    scaled = np.ldexp(significand, 1 + significand_bits(x.dtype) // 2)
    return scaled == np.rint(scaled)
