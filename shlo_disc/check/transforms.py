"""Errors of Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.check.significands import units
from shlo_disc.dynamic_ops.fourier import FftAttrs, Transform

Array = NDArray[Any]

TRANSFORM_ULPS = 16.0  # units of the norm of a line: SciPy's transforms of prime lengths are off by up to 14


def transformed_size(attrs: FftAttrs, x: Array, shape: Sequence[int]) -> Array:
    """The norm of the inputs of each result of a transform, which bounds its error (Higham 2002, 24.1)."""
    axes = tuple(range(-attrs.rank, 0))
    norm = np.sqrt((abs(x.astype(np.complex128)) ** 2).sum(axes, keepdims=True))
    scaled = attrs.transform in (Transform.IFFT, Transform.IRFFT)
    return norm / max(1, math.prod(shape[-attrs.rank :])) if scaled else norm


def with_overflow(attrs: FftAttrs, x: Array, results: Array, random: np.random.Generator) -> Array:
    """The results of a transform, but infinities and NaN at random where sums of its terms may be too large.

    Inverse transforms divide what they have added, so that the results themselves may be small. In between, terms are
    multiplied by numbers of magnitude 1, in two products for each part, and half of a real result's terms are implied.
    """
    axes = tuple(range(-attrs.rank, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        most = 4 * abs(x.astype(np.complex128)).sum(axes, keepdims=True)
    overflows = np.isfinite(x).all(axes, keepdims=True) & (most > np.finfo(results.dtype).max)
    if not overflows.any():
        return results
    found = results.copy()
    for part in (np.real, np.imag) if found.dtype.kind == "c" else (np.asarray,):
        drawn = random.choice([-np.inf, np.inf, np.nan, 0.0], results.shape)
        part(found)[...] = np.where(overflows & (drawn != 0), drawn, part(found))
    return found


def real_where_exact(attrs: FftAttrs, x: Array, points: int) -> Array:
    """Clear imaginary parts of a real transform at frequency 0 and, for even lengths, the highest: they are exact."""
    if attrs.transform is not Transform.RFFT or attrs.rank != 1:
        return x
    found, imaginary = x.copy(), np.imag(x).copy()
    for place in {0, points // 2} if points and points % 2 == 0 else {0}:
        part = imaginary[..., place : place + 1]
        part[np.isfinite(part)] = 0
    found.imag = imaginary
    return found


def without_dust(x: Array, norm: Array, ulps: float) -> Array:
    """The results of a transform, but 0 where they may cancel exactly.

    They may where a result, or a part of a complex one, is no more than rounding errors: of the largest results, or of
    the norm of the line.
    """
    is_finite = np.isfinite(x)
    largest = np.where(is_finite, abs(x), 0).max(axis=-1, keepdims=True, initial=0)
    found = np.where(is_finite & (abs(x) <= ulps * np.spacing(largest)), x.dtype.type(0), x)
    bound = TRANSFORM_ULPS * units(norm.astype(np.float64), np.real(x).dtype)
    if x.dtype.kind == "f":
        return np.where(abs(x) <= bound, x.dtype.type(0), found)
    for part in (np.real, np.imag):
        part(found)[abs(part(x)) <= bound] = 0
    return found
