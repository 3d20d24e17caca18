"""How far correct runs of a program may differ: Monte Carlo arithmetic.

A floating-point program has many legal runs: sums may be added in another order, functions may be a few units in the
last place off, narrow floats may be kept in wider ones. Parker's Monte Carlo arithmetic ("Monte Carlo Arithmetic:
exploiting randomness in floating-point arithmetic", UCLA CSD-970002, 1997) samples them: the reference interpreter runs
several times, and each rounded result is perturbed by a random part of the error that an implementation may make. The
spread of the results then measures the conditioning of the program at these inputs, across all ops: it is large where a
comparison could go either way or a sum cancels, and small elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.access import VIEWS
from shlo_disc.check.function_errors import CORRECTLY_ROUNDED, Implementation, disagreement
from shlo_disc.check.products import added_in_turn, overflow_in_turn
from shlo_disc.check.significands import is_float, is_held, is_short, lowest_bit, unit_of, units
from shlo_disc.check.transforms import TRANSFORM_ULPS, real_where_exact, transformed_size, with_overflow, without_dust
from shlo_disc.dynamic_ops import contract, create, linear_algebra
from shlo_disc.dynamic_ops.create import IotaAttrs
from shlo_disc.dynamic_ops.fourier import FftAttrs
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.dynamic_ops.move import BroadcastAttrs
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody, Trait
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.reference import Watch, by_definition, interpret
from shlo_disc.dynamic_ops.registry import ops_with
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]

# Ops whose results are those of exact arithmetic, or correctly rounded in every implementation.
_EXACT = ops_with(Trait.EXACT)
# Ops that combine two elements exactly.
_COMBINES = frozenset({"and", "compare", create.CONSTANT.name, "maximum", "minimum", "not", "or", "select", "xor"})
_SUMS = ops_with(Trait.SUM)  # sums of short numbers are exact; transforms and factorizations have other intermediates
_MULTIPLIES = contract.DotAttrs | contract.ConvAttrs | GroupedDotAttrs
# The results that hold vectors, which are unique up to their sign, as columns and as rows.
_VECTORS: Mapping[str, tuple[int, int | None]] = {
    linear_algebra.SYEVD.name: (0, None),
    linear_algebra.GESDD.name: (1, 2),
    linear_algebra.GESVD.name: (1, 2),
}
_ELIMINATES = frozenset(
    one.name for one in (linear_algebra.TRSM, linear_algebra.POTRF, linear_algebra.CHOLESKY, linear_algebra.GETRF)
)
# Units in the last place between two implementations of an addition, each of which rounds by up to half a unit.
_SUMMED = 0.75

_ALIKE = 0.125  # units for each term: sums of equal terms may round to the same side every time
_FEW = 4096.0  # terms that are summed sequentially at most; longer sums consist of partial sums


class Noise(Enum):
    """How the errors of one op's elements are correlated."""

    APART = "each element has its own: sums in any order, narrow floats that are kept in wider ones"
    ALIKE = "equal numbers have equal errors: whatever is computed twice, such as what a broadcast has copied"
    TOGETHER = "all elements have the same: a polynomial is off to one side in a whole interval"


# Error of `a * (1 / b)` in units: half a unit in the reciprocal, which may double in the product, and half a unit.
_BY_RECIPROCAL = 2.0
_ROUNDED_ONCE = 61  # of the pairs: errors are 0 there, and sums that `_summed` computes in f64 are rounded once
NAN_SIGNS = range(-2, 0)  # the numbers of two runs that differ only in the signs of NaNs


def perturbed_runs(
    program: Program,
    inputs: Sequence[Array],
    numbers: Iterable[int],
    implementation: Implementation,
    watch: Callable[[int], Watch] | None = None,
) -> list[list[Array]]:
    """Run a program once for each of `numbers`, every time with different legal rounding.

    Equal numbers give equal runs. An odd run has the errors of the run before with opposite signs, so the spread of a
    pair is never less than the error of one run. One pair rounds sums once: where nothing but rounding decides, few
    runs may have what the most exact one has. The runs of `NAN_SIGNS` round like the reference, and have opposite
    signs of NaNs. `watch(k)` observes the ops of run number k.
    """
    nothing = frozenset[Tensor]()
    products, reciprocals = (
        (_unrounded(program), _reciprocals(program)) if implementation == "xla" else (nothing, nothing)
    )
    return [
        interpret(
            program,
            inputs,
            watch(number) if watch is not None else _unwatched,
            _Perturbed(number, implementation, products, reciprocals).evaluate,
        )
        for number in numbers
    ]


def _unwatched(_op: Op[object], _results: Arrays) -> None:
    pass


class _Perturbed:
    """Evaluates ops, and perturbs results that they round."""

    def __init__(
        self, number: int, implementation: Implementation, products: frozenset[Tensor], reciprocals: frozenset[Tensor]
    ) -> None:
        pair, self._sign = number // 2, 1.0 - 2.0 * (number % 2)
        self._rounds = number not in NAN_SIGNS
        self._random, self._is_first = np.random.default_rng(abs(pair)), pair == 0 or not self._rounds
        self._is_rounded_once = self._rounds and pair == _ROUNDED_ONCE
        self._noise = tuple(Noise)[pair % len(Noise)]
        # Sums of equal terms are equal if one loop computes them, as of columns with equal weights.
        self._noise_of_sums = Noise.ALIKE if self._noise is Noise.ALIKE else Noise.APART
        self._implementation: Implementation = implementation
        self._products, self._reciprocals = products, reciprocals
        self._cancels = pair % 4 == 3
        self._sums_exactly, self._adds_in_turn = pair % 2 == 1, pair % 4 == 2
        # Errors of transforms are mostly far smaller than their bound: what lies within it takes finer steps, too.
        self._transform_ulps = TRANSFORM_ULPS * (2.0 ** -self._random.integers(0, 10) if pair % 4 == 1 else 1.0)

    def evaluate(self, op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
        """Evaluate one op with other rounding and other signs of NaNs."""
        found = self._rounded(op, inputs, run) if self._rounds else by_definition(op, inputs, run)
        return tuple(map(self._signed, found))

    def _rounded(self, op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
        """Evaluate one op as another order of sums or another library's function would round it.

        A short result, such as 2 or 0.75, is taken for exact. A sum of n terms may be off by the error of its partial
        sums: sqrt(n) units of its terms at random (Higham and Mary, "A new approach to probabilistic rounding error
        analysis", 2019). Terms come in any order.
        """
        is_exact = op.name in _EXACT and not (op.name == "abs" and inputs[0].dtype.kind == "c")
        if is_exact or not any(x.dtype.is_float or x.dtype.is_complex for x in op.results):
            return by_definition(op, inputs, run)
        if any(body.ops for body in op.bodies) and all(_combines_exactly(body) for body in op.bodies):
            return by_definition(op, inputs, run)
        if op.name in ("add", "subtract"):
            inputs = tuple(
                [
                    self._moved(x, 1.0, Noise.APART, exactly=True) if t in self._products else x
                    for t, x in zip(op.operands, inputs, strict=True)
                ]
            )
        if not (op.bodies or op.name.startswith("d_")):
            ulps = disagreement(self._implementation, op.name, op.results[0].dtype)
            exactly = op.name in CORRECTLY_ROUNDED
            if op.name == "divide" and op.operands[1] in self._reciprocals:
                ulps, exactly = _BY_RECIPROCAL, False
            first = by_definition(op, inputs, run)
            moved = (self._moved(x, ulps, self._noise, exactly) for x in first)
            return tuple([_at_roots(op, inputs, x, y) for x, y in zip(first, moved, strict=True)])
        if isinstance(op.attrs, ReduceAttrs):
            inputs = self._shuffled(inputs, op.attrs.dims)
        terms = _terms(inputs, op)
        ulps, exactly = max(1.0, _SUMMED * terms**0.5, _ALIKE * min(terms, _FEW)), op.name in _SUMS
        moved = tuple([self._moved(x, ulps, self._noise, exactly) for x in inputs])  # equal terms may cancel exactly
        summed = self._summed(op, moved, run)
        results = tuple([self._moved(x, ulps, self._noise_of_sums, exactly) for x in summed])
        if exactly and _only_adds(op) and any(is_float(x.dtype) for x in inputs):
            sizes = self._sizes(op, inputs, run)
            unit = _unit_of_terms(op, moved)
            every = zip(results, sizes, summed, strict=True)
            results = tuple([np.where(is_held(size, unit), exact, self._beside(x, size)) for x, size, exact in every])
        if isinstance(op.attrs, FftAttrs):
            sizes = transformed_size(op.attrs, inputs[0], results[0].shape)
            if self._cancels:  # not what is moved: a transform of it would not cancel
                results = tuple([without_dust(x, sizes, ulps) for x in by_definition(op, inputs, run)])
            else:
                results = tuple([self._beside(x, sizes, self._transform_ulps) for x in results])
            if self._adds_in_turn:
                results = tuple([with_overflow(op.attrs, inputs[0], x, self._random) for x in results])
            results = tuple([real_where_exact(op.attrs, x, inputs[0].shape[-1]) for x in results])
        return self._turned(results, *_VECTORS[op.name]) if op.name in _VECTORS else results

    def _sizes(self, op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
        """The sums of the terms' magnitudes. They are not perturbed: a region may run for each of many positions."""
        self._rounds = False
        try:
            return by_definition(op, tuple([abs(x) if is_float(x.dtype) else x for x in inputs]), run)
        finally:
            self._rounds = True

    def _summed(self, op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
        """Evaluate an op; in every second pair of runs, what sums numbers of up to 32 bits sums in f64.

        These are reductions, products, and eliminations, which fused multiply-add does not round in between.
        NumPy adds rows one to the other, so that many equal rows would all have equal errors. A product that is too
        large for its type may be added unrounded: infinity stays what it is, where -inf would make NaN of it. In one of
        four pairs such terms are added one after the other.
        """
        if self._adds_in_turn and overflow_in_turn(op, inputs):
            return added_in_turn(op, inputs, run, self._random)
        is_sum = isinstance(op.attrs, ReduceAttrs | _MULTIPLIES) and _only_adds(op)
        if not (self._sums_exactly and (is_sum or op.name in _ELIMINATES)):
            return by_definition(op, inputs, run)
        op_in_wide = replace(op, results=_tensors_in_wide(op.results), bodies=tuple(map(_body_in_wide, op.bodies)))
        wide = tuple([x.astype(_wider(x.dtype)) for x in inputs])
        with np.errstate(over="ignore", invalid="ignore"):
            found = by_definition(op_in_wide, wide, run)
            return tuple([x.astype(numpy_dtype(t.dtype)) for x, t in zip(found, op.results, strict=True)])

    def _turned(self, results: Arrays, columns: int, rows: int | None) -> Arrays:
        """Change vectors of a decomposition, which are unique up to a sign, or a complex number of magnitude 1.

        `columns` and `rows`: the numbers of the results that hold vectors as such; both vectors of a pair change alike.
        """
        if len(results) < 3:
            return results  # values and info: no vectors were requested
        turned, left = list(results), results[columns]
        angle = self._random.choice([0.0, np.pi], (*left.shape[:-2], max(left.shape[-1], _rows(results, rows))))
        if left.dtype.kind == "c":
            angle = angle + self._random.uniform(0, np.pi, angle.shape)
        sign = np.exp(1j * angle) if left.dtype.kind == "c" else np.rint(np.cos(angle))
        turned[columns] = (left * sign[..., None, : left.shape[-1]]).astype(left.dtype)
        if rows is not None:
            right = results[rows]
            turned[rows] = (right * np.conj(sign)[..., : right.shape[-2], None]).astype(right.dtype)
        return tuple(turned)

    def _shuffled(self, inputs: Arrays, dims: Sequence[int]) -> Arrays:
        """Shuffle the terms of a reduction of one array, which matters where partial results overflow."""
        if len(inputs) != 2:
            return inputs
        x, start = inputs
        last = np.moveaxis(x, dims, range(-len(dims), 0))
        lines = last.reshape(*last.shape[: last.ndim - len(dims)], math.prod(last.shape[last.ndim - len(dims) :]))
        mixed = self._random.permuted(lines, axis=-1).reshape(last.shape)
        return np.moveaxis(mixed, range(-len(dims), 0), dims), start

    def _moved(self, x: Array, ulps: float, noise: Noise, exactly: bool) -> Array:
        """Perturb elements by up to `ulps` units in the last place, of the larger part of complex numbers.

        If the op rounds `exactly`, short numbers stay. Other functions may miss a short result, such as 0.5, or give 0
        for a subnormal number.
        """
        if x.dtype.kind == "c":
            parts = (np.real(x), np.imag(x))
            unit = np.spacing(np.max([np.where(np.isfinite(part), abs(part), 0) for part in parts], axis=0))
            real, imaginary = (part + np.rint(self._drawn(part, noise) * ulps) * unit for part in parts)
            moved = np.empty_like(x)
            moved.real, moved.imag = real, imaginary  # (a product with 1j makes NaN of infinity)
            kept = is_short(parts[0]) & is_short(parts[1]) if exactly else False
            return np.where(kept, x, moved)
        if not is_float(x.dtype):
            return x
        wide = x.astype(np.float64)
        moved = wide + np.rint(self._drawn(wide, noise) * ulps) * unit_of(x)
        kept = ~np.isfinite(wide) | (is_short(x) if exactly else False)
        return np.where(kept, x, moved.astype(x.dtype))

    def _beside(self, x: Array, size: Array, ulps: float = 1.0) -> Array:
        """Perturb a sum, also a short one, by units of the sum of its terms' magnitudes."""
        if x.dtype.kind == "c":
            moved = np.empty_like(x)
            moved.real, moved.imag = [self._beside(part, size, ulps) for part in (np.real(x), np.imag(x))]
            return moved
        if not is_float(x.dtype):
            return x
        wide = x.astype(np.float64)
        steps = self._drawn(wide, self._noise_of_sums) * ulps
        moved = wide + (np.rint(steps) if ulps >= 1 else steps) * units(size.astype(np.float64), x.dtype)
        return np.where(np.isfinite(moved), moved, wide).astype(x.dtype)

    def _signed(self, x: Array) -> Array:
        """Change signs of NaNs, which are unspecified: all alike in the first two runs, at random in others."""
        if not is_float(x.dtype):
            return x
        wide = x.astype(np.float64)
        negated = np.isnan(wide)
        if negated.any():
            if self._is_first:
                negated &= np.signbit(wide) == (self._sign > 0)
            else:
                negated &= self._random.random(x.shape) < self._random.choice([0.0, 0.5, 1.0])
            x = np.where(negated, np.copysign(x, -np.copysign(1.0, wide).astype(x.dtype)), x)
        return x

    def _drawn(self, x: Array, noise: Noise) -> Array:
        """Random numbers from -1 to 1 for the elements, mostly the ends: errors of the largest size."""
        match noise:
            case Noise.APART:
                drawn = self._random.random(x.shape)
            case Noise.ALIKE:
                drawn = _hashed(abs(x), self._random)
            case Noise.TOGETHER:
                drawn = np.full(x.shape, self._random.random())
            case _:
                assert_never(noise)
        if self._is_rounded_once:
            return np.zeros(x.shape)
        # Functions are odd, or even.
        sign = self._sign if noise is Noise.APART else np.copysign(self._sign, self._sign * x)
        return sign * np.clip(6 * drawn - 3, -1, 1)


def _at_roots(op: Op[object], inputs: Arrays, result: Array, moved: Array) -> Array:
    """The moved result, but an exact 0 at 0 or 1, as of tanh and log, stays: every implementation gives it.

    lgamma is excluded; so are complex results, which are moved by units of their larger part.
    """
    if len(inputs) != 1 or op.name == "lgamma" or not is_float(result.dtype) or not is_float(inputs[0].dtype):
        return moved
    (x,) = inputs
    return np.where(((x == 0) | (x == 1)) & (result == 0), result, moved)


def _unrounded(program: Program) -> frozenset[Tensor]:
    """Products, and views of them, that an addition may use unrounded: XLA fuses the two."""
    found = set[Tensor]()
    for op in program.body.walk():
        if op.name in ("multiply", "square") or (op.name in VIEWS and op.operands[0] in found):
            found.update(op.results)
    return frozenset(found)


def _reciprocals(program: Program) -> frozenset[Tensor]:
    """Divisors for which XLA multiplies by the reciprocal, so that 69 / 69 need not be 1.

    They are values that a broadcast repeats, and values that XLA folds: literals, sizes, and what is computed from
    these alone.
    """
    repeated, constant = set[Tensor](), set(program.constants)
    for op in program.body.walk():
        if not op.bodies and not isinstance(op.attrs, IotaAttrs) and constant.issuperset(op.operands):
            constant.update(op.results)
        if isinstance(op.attrs, BroadcastAttrs) or (op.name in VIEWS and op.operands[0] in repeated):
            repeated.update(op.results)
    return frozenset(repeated | constant)


def _rows(results: Arrays, number: int | None) -> int:
    return 0 if number is None else results[number].shape[-2]


def _hashed(x: Array, random: np.random.Generator) -> Array:
    """Hash the elements' bits to numbers from 0 to 1: multiply by a random odd number and shift, twice."""
    bits = np.ascontiguousarray(x, np.float64).view(np.uint64)
    for factor in random.integers(1 << 63, 1 << 64, 2, np.uint64, endpoint=False):
        bits = bits * (factor | np.uint64(1))
        bits ^= bits >> np.uint64(32)
    return ((bits >> np.uint64(11)) * 2.0**-53).reshape(x.shape)


_WIDE = {DType.C64: DType.C128, DType.F32: DType.F64, **{one: DType.F64 for one in DType if one.is_narrow_float}}


def _tensors_in_wide(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple([replace(t, dtype=_WIDE.get(t.dtype, t.dtype)) for t in tensors])


def _body_in_wide(body: Body) -> Body:
    """A body that adds in the types that sums are kept in; the same one if it takes anything but its arguments."""
    wide = dict(zip(body.arguments, _tensors_in_wide(body.arguments), strict=True))
    ops = list[Op[object]]()
    for op in body.ops:
        if op.name != "add" or not wide.keys() >= set(op.operands):
            return body
        wide.update(zip(op.results, _tensors_in_wide(op.results), strict=True))
        ops.append(replace(op, operands=tuple([wide[t] for t in op.operands]), results=(wide[op.results[0]],)))
    return Body(tuple([wide[t] for t in body.arguments]), tuple(ops), tuple([wide[t] for t in body.results]))


def _wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if is_float(dtype) else dtype


def _only_adds(op: Op[object]) -> bool:
    """Whether an op only adds its operands, or products of them."""
    return all(inner.name in ("add", create.CONSTANT.name) for body in op.bodies for inner in body.ops)


def _unit_of_terms(op: Op[object], inputs: Arrays) -> int:
    """The binary logarithm of a power of 2 that divides all terms of a sum: elements, or products of such."""
    units = [lowest_bit(x) for x in inputs if is_float(x.dtype)]
    return sum(units) if isinstance(op.attrs, _MULTIPLIES) else min(units)


def _combines_exactly(body: Body) -> bool:
    return all(op.name in _COMBINES for op in body.ops)


def _terms(inputs: Arrays, op: Op[object]) -> float:
    """The number of terms that a result sums, at most: for a matrix product, the contracted size."""
    sizes = [x.size for x in inputs if is_float(x.dtype) or x.dtype.kind == "c"]
    largest, result = max(sizes, default=1), max(1, min(math.prod(create.concrete_shape(x.shape)) for x in op.results))
    several = [size for size in sizes if size > 1]
    product = several[0] * several[1] / result if len(several) >= 2 else largest
    return max(1.0, largest / result, min(product**0.5, largest), 4.0)
