"""Where two runs of a program differ by more than rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.check.significands import units
from shlo_disc.functions.numpy_math import wide

Array: TypeAlias = NDArray[Any]
# One result of runs of these numbers, each rounded in another way.
Samples: TypeAlias = Callable[[int, range], Sequence[Array]]

# Runs that are drawn: a few, which mostly suffice, and more before a difference is reported; not many at once.
FEW_RUNS = (2, 8)
MANY_RUNS = (*FEW_RUNS, *range(32, 129, 24), *range(176, 513, 48))
_FOR_SHAPES = 32  # runs, in one of which a result has the size that was found
_NEAR = 4.0  # units in the last place that need no further excuse
_BESIDE = 1.0  # the same, of what lies outside of all runs
_SPREAD = 0.125  # times what the runs are apart
_FAR = 1024.0  # units that runs are apart where a comparison goes either way: then the same distance beside them, too
_CHAOTIC = 3  # different integers in legal runs: such as of the last bits of a float, which say nothing


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much floats may differ: the allowed error times `scale`, and `absolute` beside it."""

    scale: float = 1.0
    absolute: float = 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """The worst element of one result."""

    result: int
    index: tuple[int, ...]
    found: str
    expected: str
    count: int = 0  # elements that differ; 0 if it is not about elements
    of: int = 0
    largest: float = np.nan  # absolute difference over all of them; NaN if that has no meaning
    ulps: float = np.nan  # the same in units in the last place
    shape: tuple[int, ...] = ()
    dtype: str = ""

    def __str__(self) -> str:
        where = f"result {self.result}"
        if not self.count:
            return f"{where}: found {self.found}, expected {self.expected}"
        where += f", {self.dtype}{list(self.shape)}"
        far = "" if np.isnan(self.largest) else f"; off by up to {self.largest:.4g}"
        far += "" if np.isnan(self.ulps) or not far else f" ({self.ulps:.4g} ulp)"
        return (
            f"{where}: {self.count} of {self.of} elements differ{far}; "
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
    """Give the first result that differs from what the reference gives, at its worst element; None if all agree.

    Integers and booleans have to be equal, floats within 4 units in the last place, or among `samples` of legal runs,
    or not farther outside than an eighth of what these are apart; than all of it if that is much, for then few runs say
    little. An integer that has several values in legal runs, and
    a result of another size there, are not compared. `skipped` results are not looked at. `rounds`: how many runs
    there are after each round; there is another one while elements differ.
    """
    if len(found) != len(expected):
        return Difference(0, (), f"{len(found)} results", f"{len(expected)}")
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if number in skipped:
            continue
        if one.dtype != other.dtype:
            return _mistyped(number, one, other)
        if one.shape != other.shape:
            if any(run.shape == one.shape for run in samples(number, range(_FOR_SHAPES))):
                continue  # data decides the size
            return _mistyped(number, one, other)
        wrong = _wrong(one, other, tolerance)
        runs, first = list[Array](), 0
        for end in rounds:
            if wrong.any():
                runs += [run for run in samples(number, range(first, end)) if run.shape == one.shape]
                wrong &= ~_excused(one, other, runs, tolerance)
            first = end
        if wrong.any():
            return _worst(number, one, other, wrong)
    return None


def identical(
    found: Sequence[Array], expected: Sequence[Array], nan_signs: Callable[[int], Sequence[Array]] = lambda _: ()
) -> Difference | None:
    """Give the first result whose bits differ.

    `nan_signs(k)` are values of result k with other signs of NaNs in the program: elements that differ between them
    are made of the bits of a NaN, and may differ.
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
    """Where the bits are equal; a NaN equals any NaN, for no rule says which sign and payload an operation gives."""
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
    """The elements that are apart by more than a few units in the last place."""
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
    """The elements that legal runs explain: what was found lies among theirs, or not far outside.

    What overflows in some runs and not in others may be any number beyond those.
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
            beside: Array = np.where(apart > _FAR * unit, apart, _SPREAD * apart)
            reach = (beside + _BESIDE * unit) * tolerance.scale + tolerance.absolute
            least = np.where((everyone == -np.inf).any(axis=0), -np.inf, low - reach)
            most = np.where((everyone == np.inf).any(axis=0), np.inf, high + reach)
            inside = (one >= least) & (one <= most)
            same = np.stack([(one == x) | (np.isnan(one) & np.isnan(x)) for x in everyone]).any(axis=0)
        excused &= inside | same
    return excused


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _parts(x: Array) -> tuple[Array, ...]:
    """Real numbers in f64: one array, or two of complex numbers."""
    if x.dtype.kind == "c":
        return np.real(x).astype(np.float64), np.imag(x).astype(np.float64)
    return (x.astype(np.float64),)


def _magnitude(x: Array) -> Array:
    parts = [abs(part) for part in _parts(x)]
    if len(parts) == 1:
        return parts[0]
    return np.max([np.where(np.isfinite(part), part, 0.0) for part in parts], axis=0)


def _worst(number: int, found: Array, expected: Array, wrong: Array) -> Difference:
    """Describe the element that is off the most; one that is no number on one side alone comes first."""
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
