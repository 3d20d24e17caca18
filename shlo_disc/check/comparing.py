"""Compare the results of two runs of a program, allowing for rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.check.significands import has_infinities, units
from shlo_disc.diagnostics import counted
from shlo_disc.functions.numpy_math import wide
from shlo_disc.records import record

Array: TypeAlias = NDArray[Any]
# Samples of one result: takes its number and the numbers of the runs, each of which rounds differently.
Samples: TypeAlias = Callable[[int, range], Sequence[Array]]

# Runs after each round: a few mostly suffice; more are drawn, in steps, before a difference is reported.
FEW_RUNS = (2, 8)
MANY_RUNS = (*FEW_RUNS, *range(32, 129, 24), *range(176, 513, 48))
_FOR_SHAPES = (8, 32, 128, 256)  # runs that are searched for one with the shape found
_NEAR = 4.0  # units in the last place that are always accepted
_BESIDE = 1.0  # units in the last place that are accepted outside the range of all runs
_SPREAD = 0.125  # fraction of that range that is accepted outside it, too
_FAR = 1024.0  # units: of a wider range, as where a comparison goes either way, all of it is accepted outside,
_MOSTLY = 0.5  # and of one wider than this fraction of the element: of short types 1024 units are several powers of 2
_ENOUGH = 128  # runs that say where values wander
_HELD = 1 << 24  # elements of all runs together, at most, for which this is asked
_OFTEN = 1 / 16  # of the runs have a value where no other run has it: that much of what is legal does (Good 1953)
_CHAOTIC = 3  # distinct integers in legal runs, as from the last bits of a float: then they are not compared


@record
class Tolerance:
    """The allowed error of floats: the derived one times `scale`, plus `absolute`."""

    scale: float = 1.0
    absolute: float = 0.0


@record
class Difference:
    """A difference in one result, described by its worst element."""

    result: int
    index: tuple[int, ...]
    found: str
    expected: str
    count: int = 0  # elements that differ; 0 if types, shapes or the numbers of results differ
    of: int = 0
    largest: float = np.nan  # largest absolute difference; NaN if it is undefined
    ulps: float = np.nan  # largest difference in units in the last place
    shape: tuple[int, ...] = ()
    dtype: str = ""

    def __str__(self) -> str:
        where = f"result {self.result}"
        if not self.count:
            return f"{where}: found {self.found}, expected {self.expected}"
        where += f", {self.dtype}{list(self.shape)}"
        far = "" if np.isnan(self.largest) else f"; off by up to {self.largest:.4g}"
        far += "" if np.isnan(self.ulps) or not far else f" ({self.ulps:.4g} ulp)"
        differ = "differs" if self.count == 1 else "differ"
        return (
            f"{where}: {self.count} of {counted(self.of, 'element')} {differ}{far}; "
            f"at {list(self.index)} found {self.found}, expected {self.expected}"
        )


def compare(
    found: Sequence[Array],
    expected: Sequence[Array],
    samples: Samples,
    tolerance: Tolerance,
    skipped: frozenset[int],
    rounds: Sequence[int] = MANY_RUNS,
) -> Difference | None:
    """Find the first result that differs from the reference's, described by its worst element; None if all agree.

    Integers and booleans have to be equal, or within the range of the legal runs that `samples` draws. Floats have to
    be within 4 units in the last place of the reference, or within the range of the legal runs, widened on both sides
    by one unit and an eighth of its width (by its whole width above 1024 units or half of the element, where few runs
    say little), or at a place of their own, as values of many of these runs are. An integer with at least 3 distinct
    values in legal runs is not compared. If a shape differs from the reference's but occurs in a legal run, nothing is
    compared: rounding decides a size, as by how often a loop runs, and with it all that the loop computes. Elements
    that differ are right if legal runs give their result another shape. `skipped` results are not compared. `rounds`:
    the number of runs after each round; another round is drawn while elements differ.
    """
    if len(found) != len(expected):
        return Difference(0, (), counted(len(found), "result"), f"{len(expected)}")
    compared = [k for k in range(len(found)) if k not in skipped]
    mistyped = [k for k in compared if found[k].dtype != expected[k].dtype or found[k].shape != expected[k].shape]
    for number in mistyped:
        one, other = found[number], expected[number]
        if one.dtype != other.dtype or not _may_have_shape(one.shape, number, samples):
            return _mistyped(number, one, other)
    for number in () if mistyped else compared:
        one, other = found[number], expected[number]
        wrong = _wrong(one, other, tolerance)
        runs, first = list[Array](), 0
        for end in rounds:
            if wrong.any():
                runs += samples(number, range(first, end))
                if any(run.shape != one.shape for run in runs):
                    wrong[...] = False
                    break
                wrong &= ~_excused(one, other, runs, tolerance)
            first = end
        if wrong.any() and not _wanders(one, other, wrong, runs):
            return _worst(number, one, other, wrong)
    return None


def _may_have_shape(shape: tuple[int, ...], number: int, samples: Samples) -> bool:
    """Whether a legal run gives the result this shape."""
    rounds = pairwise((0, *_FOR_SHAPES))
    return any(run.shape == shape for first, end in rounds for run in samples(number, range(first, end)))


def identical(
    found: Sequence[Array], expected: Sequence[Array], nan_signs: Callable[[int], Sequence[Array]] = lambda _: ()
) -> Difference | None:
    """Find the first result whose bits differ.

    `nan_signs(k)`: result k in two runs with opposite signs of NaNs. Elements that differ between these depend on the
    bits of a NaN, and are not compared.
    """
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.shape != other.shape:
            return _mistyped(number, one, other)
        wrong = ~_same_bits(one, other)
        if wrong.any():
            runs = nan_signs(number)
            if len(runs) == 2 and runs[0].shape == runs[1].shape == one.shape:
                wrong &= _same_bits(*runs)
        if wrong.any():
            return _worst(number, one, other, wrong)
    return None


def _mistyped(number: int, found: Array, expected: Array) -> Difference:
    one, other = [f"{x.dtype}{list(x.shape)}" for x in (found, expected)]
    return Difference(number, (), one, other)


def _same_bits(one: Array, other: Array) -> Array:
    """Mask of elements with equal bits; all NaNs are equal, as sign and payload of a NaN are unspecified."""
    size = max(1, one.dtype.itemsize)
    parts = [np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(-1, size) for x in (one, other)]
    same = (parts[0] == parts[1]).all(axis=1).reshape(one.shape)
    if same.all() or one.dtype.kind not in "fcV":
        return same
    with np.errstate(invalid="ignore"):  # signalling NaNs
        pairs = zip(_parts(one[~same]), _parts(other[~same]), strict=True)
        same[~same] = np.all([_equal_numbers(a, b) for a, b in pairs], axis=0)
    return same


def _equal_numbers(one: Array, other: Array) -> Array:
    return (np.isnan(one) & np.isnan(other)) | ((one == other) & (np.signbit(one) == np.signbit(other)))


def _wrong(found: Array, expected: Array, tolerance: Tolerance) -> Array:
    """Mask of elements that differ by more than a few units in the last place."""
    if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
        return found != expected
    wrong = np.zeros(expected.shape, bool)
    size = _magnitude(expected)
    for one, other in zip(_parts(found), _parts(expected), strict=True):
        unit = units(size, _real(expected.dtype))
        wrong |= ~_within(one, other, _NEAR * unit * tolerance.scale + tolerance.absolute)
    return wrong


def _within(one: Array, other: Array, allowed: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return (one == other) | (np.isnan(one) & np.isnan(other)) | (abs(one - other) <= allowed)


def _excused(found: Array, expected: Array, runs: Sequence[Array], tolerance: Tolerance) -> Array:
    """Mask of elements that legal runs explain: the value found is within their range, or not far outside.

    Where some runs overflow, any value beyond the finite ones is accepted. In types without infinities a number that is
    too large is NaN, of no sign: where some runs are NaN and others are not, any value is accepted.
    """
    if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
        everyone = np.sort(wide(np.stack([expected, *runs])), axis=0)
        different = 1 + (everyone[1:] != everyone[:-1]).sum(axis=0)
        return ((everyone[0] <= wide(found)) & (wide(found) <= everyone[-1])) | (different >= _CHAOTIC)
    excused = np.ones(expected.shape, bool)
    size = _magnitude(expected)
    for number, (one, other) in enumerate(zip(_parts(found), _parts(expected), strict=True)):
        everyone = np.stack([other, *[_parts(run)[number] for run in runs]])
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = np.isfinite(everyone)
            low = np.where(numbers, everyone, np.inf).min(axis=0, initial=np.inf)
            high = np.where(numbers, everyone, -np.inf).max(axis=0, initial=-np.inf)
            unit = units(size, _real(expected.dtype))
            apart: Array = np.maximum(high - low, 0)
            far = np.fmin(_FAR * unit, np.maximum(_MOSTLY * size, unit))  # also where the element is NaN
            beside: Array = np.where(np.greater(apart, far), apart, _SPREAD * apart)
            reach = (beside + _BESIDE * unit) * tolerance.scale + tolerance.absolute
            least = np.where((everyone == -np.inf).any(axis=0), -np.inf, low - reach)
            most = np.where((everyone == np.inf).any(axis=0), np.inf, high + reach)
            inside = (one >= least) & (one <= most)
            if not has_infinities(expected.dtype):
                inside |= ~np.isnan(one) & np.isnan(everyone).any(axis=0) & numbers.any(axis=0)
            same = np.stack([(one == x) | (np.isnan(one) & np.isnan(x)) for x in everyone]).any(axis=0)
        excused &= inside | same
    return excused


def _wanders(found: Array, expected: Array, wrong: Array, runs: Sequence[Array]) -> bool:
    """Whether rounding decides where some values are, and the wrong ones are such values at places of their own.

    Where it decides which of 400 equal averages is the least, the gradient of the least is at one of 400 places, and
    few of these occur in 128 runs. Then many legal runs are as wrong as `found` if each is held against all others:
    they have as many elements outside the range of the others, and these have such values.
    """
    runs = runs[: _HELD // max(1, expected.size)]
    everyone: Array = np.stack([expected, *runs])
    if len(everyone) < _ENOUGH or expected.dtype.kind != "f" or not np.isfinite(everyone).all():
        return False
    everyone = everyone.astype(np.float64)
    at: Array = found[wrong].astype(np.float64)
    unit: Array = units(abs(expected.astype(np.float64)), expected.dtype)
    ordered: Array = np.sort(everyone, axis=0)
    low: Array = np.maximum(ordered[0], np.where(np.equal(everyone, ordered[0]), ordered[1], -np.inf))  # of all others
    high: Array = np.minimum(ordered[-1], np.where(np.equal(everyone, ordered[-1]), ordered[-2], np.inf))
    apart: Array = np.maximum(high - low, 0)
    reach: Array = apart + _FAR * unit  # farther than noise reaches: the tails of many elements are no places
    outside: Array = np.logical_or(everyone < low - reach, everyone > high + reach)
    counts: Array = outside.reshape(len(everyone), -1).sum(axis=1)
    if (counts > 0).mean() < _OFTEN or wrong.sum() > counts.max():
        return False
    values: Array = everyone[outside]
    margin = _SPREAD * np.ptp(values)
    return bool(((at >= values.min() - margin) & (at <= values.max() + margin)).all())


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _parts(x: Array) -> tuple[Array, ...]:
    """Real numbers in f64: one array, or the real and imaginary parts."""
    if x.dtype.kind == "c":
        return np.real(x).astype(np.float64), np.imag(x).astype(np.float64)
    return (x.astype(np.float64),)


def _magnitude(x: Array) -> Array:
    parts = [abs(part) for part in _parts(x)]
    if len(parts) == 1:
        return parts[0]
    return np.max([np.where(np.isfinite(part), part, 0.0) for part in parts], axis=0)


def _worst(number: int, found: Array, expected: Array, wrong: Array) -> Difference:
    """Describe the element with the largest error; a NaN on one side alone counts as infinitely far off."""
    if expected.dtype.kind in "biu" or "int" in expected.dtype.name:
        gaps = np.where(wrong, abs(found.astype(np.float64) - expected.astype(np.float64)), -1.0)
        ulps = np.nan
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            pairs = zip(_parts(found), _parts(expected), strict=True)
            off = np.max([np.nan_to_num(abs(a - b), nan=np.inf) for a, b in pairs], axis=0)
            gaps = np.where(wrong, off, -1.0)
            unit = units(_magnitude(expected), _real(expected.dtype))
            ulps = float(np.where(wrong & np.isfinite(gaps), gaps / unit, -1.0).max())
    place = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    largest = float(gaps[place])
    return Difference(
        result=number,
        index=tuple(int(k) for k in place),
        found=str(found[place]),
        expected=str(expected[place]),
        count=int(wrong.sum()),
        of=wrong.size,
        largest=largest if np.isfinite(largest) else np.nan,
        ulps=ulps if ulps >= 0 else np.nan,
        shape=expected.shape,
        dtype=str(expected.dtype),
    )
