"""Fourier transforms of arrays on the host: SciPy's pocketfft."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import Array

Transform: TypeAlias = Literal["FFT", "IFFT", "RFFT", "IRFFT"]
Way: TypeAlias = Callable[[Array, Array], object]
"""Fills its second array with the transform of the first."""
_NOT_SCALED, _BY_LENGTH = 0, 2  # pocketfft's codes of what it divides the result by
_SHARED = 1 << 21  # steps (`_steps`) from which threads pay off: these take 180 us, starting two threads 60 to 80
_LARGE = 1 << 15  # elements: the columns of smaller arrays stay in a first-level cache
_TWO_SETS = 2048  # bytes: addresses at this stride fall into two sets of a first-level cache
_CACHE_LINE = 64  # bytes
_SIDE_BY_SIDE = 4  # lines of complex64 in one of pocketfft's vectors
_CONJUGATED = 512  # elements from which two conjugations, of 0.3 us each, pay off


def bind_fft(transform: Transform, rank: int, threads: int) -> Callee:
    """A function that transforms the last `rank` dimensions. Raises `ToolchainError` without SciPy."""
    pocketfft()

    @lru_cache(maxsize=256)
    def way(shape: tuple[int, ...], found: tuple[int, ...], item: int) -> Way:
        return _way(transform, rank, threads, shape, found, item)

    def compute(operands: Sequence[Array], results: Sequence[Array]) -> None:
        (x,), (found,) = operands, results
        way(x.shape, found.shape, found.itemsize)(x, found)

    return compute


def _way(
    transform: Transform, rank: int, threads: int, shape: tuple[int, ...], found: tuple[int, ...], item: int
) -> Way:
    """A function that transforms arrays of one shape into arrays of another, whose elements have `item` bytes."""
    forward = transform in {"FFT", "RFFT"}
    scale = _NOT_SCALED if forward else _BY_LENGTH
    to_complex, from_real, to_real = pocketfft()
    axes = tuple(range(len(shape) - rank, len(shape)))
    lengths = found if transform == "IRFFT" else shape
    elements = max(math.prod(shape), math.prod(found))
    workers = threads if elements * sum(_steps(lengths[axis]) for axis in axes) >= _SHARED else 1

    def in_padded_memory(x: Array, found: Array) -> None:
        padded = _padded(found)
        to_complex(x, axes[-1:], forward, scale, padded, workers)
        to_complex(padded, axes[:-1], forward, scale, padded, workers)
        np.copyto(found, padded)

    def by_conjugates(x: Array, found: Array) -> None:
        np.conjugate(x, out=found)
        to_complex(found, axes, True, scale, found, workers)
        np.conjugate(found, out=found)

    match transform:
        case _ if not math.prod(found):
            return _nothing
        case "FFT" | "IFFT" if rank > 1 and elements >= _LARGE and shape[-1] * item % _TWO_SETS == 0:
            # 1024 x 1024 complex64 (Zen 5): columns take 1.76 ms in padded memory, 4.03 ms at a stride of 8 KiB.
            return in_padded_memory
        case "IFFT" if rank == 1 and item == 8 and _CONJUGATED <= elements < _SIDE_BY_SIDE * shape[-1]:
            # Lines of complex64 that fill no vector take up to 1.5 times as long backwards as forwards.
            return by_conjugates
        case "FFT" | "IFFT":
            return lambda x, found: to_complex(x, axes, forward, scale, found, workers)
        case "RFFT":
            return lambda x, found: from_real(x, axes, forward, scale, found, workers)
        case "IRFFT":
            return lambda x, found: to_real(x, axes, lengths[-1], forward, scale, found, workers)


def _nothing(_x: Array, _found: Array) -> None:
    """Do nothing: the result has no elements."""


@lru_cache(maxsize=1024)
def _steps(length: int) -> int:
    """The cost of each element of a line, in units of about 0.09 ns: the sum of the length's prime factors.

    A length with a large prime factor is computed by three transforms of more than twice its size (Bluestein).
    """
    found, rest, factor = 0, length, 2
    while factor * factor <= rest:
        while rest % factor == 0:
            found, rest = found + factor, rest // factor
        factor += 1
    return min(found + (rest if rest > 1 else 0), 12 * (2 * length).bit_length())


def _padded(found: Array) -> Array:
    """Memory of the same shape whose lines are a cache line further apart."""
    *outer, last = found.shape
    return np.empty((*outer, last + _CACHE_LINE // found.itemsize), found.dtype)[..., :last]


@lru_cache(maxsize=1)
def pocketfft() -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
    """The internal functions of `scipy.fft`, which take the array to write to.

    The public ones return fresh arrays, and take 5 us longer. They are the fallback if SciPy has moved the internal
    ones.
    """
    try:
        fft = cast("Any", import_module("scipy.fft"))
    except ImportError as error:
        raise ToolchainError(
            "the program computes Fourier transforms, for which SciPy is needed, and there is none\n"
            "  help: pip install scipy"
        ) from error
    try:
        inner = cast("Any", import_module("scipy.fft._pocketfft.pypocketfft"))
    except ImportError:
        return _public(fft)
    return inner.c2c, inner.r2c, inner.c2r


def _public(fft: Any) -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
    """The same with the public functions of `scipy.fft`."""

    def to_complex(x: Array, axes: Sequence[int], forward: bool, scale: int, out: Array, workers: int) -> None:
        norm = "forward" if forward == (scale == _BY_LENGTH) else "backward"  # `fft`'s names of scales
        out[...] = (fft.fftn if forward else fft.ifftn)(x, axes=axes, norm=norm, workers=workers)

    def from_real(x: Array, axes: Sequence[int], _forward: bool, _scale: int, out: Array, workers: int) -> None:
        out[...] = fft.rfftn(x, axes=axes, workers=workers)

    def to_real(
        x: Array, axes: Sequence[int], last: int, _forward: bool, _scale: int, out: Array, workers: int
    ) -> None:
        lengths = [x.shape[axis] for axis in axes[:-1]]
        out[...] = fft.irfftn(x, (*lengths, last), axes=axes, workers=workers)

    return to_complex, from_real, to_real
