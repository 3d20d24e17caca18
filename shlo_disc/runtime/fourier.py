"""Fourier transforms of arrays on the host: SciPy's pocketfft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import Array

Transform: TypeAlias = Literal["FFT", "IFFT", "RFFT", "IRFFT"]
_NOT_SCALED, _BY_LENGTH = 0, 2  # what pocketfft divides the result by
_SHARED = 1 << 21  # steps (`_steps`) that pay for starting threads: they take 180 us, and starting two 60 to 80
_CACHE_WAY = 4096  # bytes: addresses so far apart share a set of a first-level cache
_CACHE_LINE = 64  # bytes
_SIDE_BY_SIDE = 4  # lines of complex64 in one of pocketfft's vectors


def bind_fft(transform: Transform, rank: int, threads: int) -> Callee:
    """What computes a transform of the last `rank` dimensions. Raises `ToolchainError` without SciPy."""
    forward = transform in {"FFT", "RFFT"}
    scale = _NOT_SCALED if forward else _BY_LENGTH
    to_complex, from_real, to_real = pocketfft()

    def of_complex(x: Array, axes: Sequence[int], found: Array, workers: int) -> None:
        if rank > 1 and _collides(found):
            # Of 1024 x 1024 complex64 (Zen 5) the columns take 1.76 ms in padded memory, and 4.03 ms 8 KiB apart.
            padded = _padded(found)
            to_complex(x, axes[-1:], forward, scale, padded, workers)
            to_complex(padded, axes[:-1], forward, scale, padded, workers)
            np.copyto(found, padded)
        elif rank == 1 and not forward and found.size < _SIDE_BY_SIDE * found.shape[-1]:
            # Lines that are not computed side by side take 1.5 times as long backwards as forwards.
            np.conjugate(x, out=found)
            to_complex(found, axes, True, scale, found, workers)
            np.conjugate(found, out=found)
        else:
            to_complex(x, axes, forward, scale, found, workers)

    def compute(operands: Sequence[Array], results: Sequence[Array]) -> None:
        (x,), (found,) = operands, results
        if not found.size:
            return
        axes = tuple(range(x.ndim - rank, x.ndim))
        steps = sum(_steps(x.shape[axis] if transform != "IRFFT" else found.shape[axis]) for axis in axes)
        workers = threads if max(x.size, found.size) * steps >= _SHARED else 1
        match transform:
            case "FFT" | "IFFT":
                of_complex(x, axes, found, workers)
            case "RFFT":
                from_real(x, axes, forward, scale, found, workers)
            case "IRFFT":
                to_real(x, axes, found.shape[-1], forward, scale, found, workers)

    return compute


@lru_cache(maxsize=1024)
def _steps(length: int) -> int:
    """What each element of a line costs, in about 0.09 ns: it meets as many others as each prime factor says.

    A length with a large prime factor is computed by three transforms of more than twice its size (Bluestein).
    """
    found, rest, factor = 0, length, 2
    while factor * factor <= rest:
        while rest % factor == 0:
            found, rest = found + factor, rest // factor
        factor += 1
    return min(found + (rest if rest > 1 else 0), 12 * (2 * length).bit_length())


def _collides(found: Array) -> bool:
    """Whether neighbours along an outer dimension share a set of the first-level cache, which has room for a few."""
    return found.size >= _SHARED and found.shape[-1] * found.itemsize % _CACHE_WAY == 0


def _padded(found: Array) -> Array:
    """Memory of the same shape whose lines are a cache line further apart."""
    *outer, last = found.shape
    return np.empty((*outer, last + _CACHE_LINE // found.itemsize), found.dtype)[..., :last]


@lru_cache(maxsize=1)
def pocketfft() -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
    """The functions below `scipy.fft`, which write where they are told to.

    Its own ones return fresh arrays, and take 5 us longer. A SciPy that has moved them is served by its own ones.
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
    """The same with what `scipy.fft` documents."""

    def to_complex(x: Array, axes: Sequence[int], forward: bool, scale: int, out: Array, workers: int) -> None:
        norm = "forward" if forward == (scale == _BY_LENGTH) else "backward"  # what `fft` and `ifft` call their scales
        out[...] = (fft.fftn if forward else fft.ifftn)(x, axes=axes, norm=norm, workers=workers)

    def from_real(x: Array, axes: Sequence[int], _forward: bool, _scale: int, out: Array, workers: int) -> None:
        out[...] = fft.rfftn(x, axes=axes, workers=workers)

    def to_real(
        x: Array, axes: Sequence[int], last: int, _forward: bool, _scale: int, out: Array, workers: int
    ) -> None:
        lengths = [x.shape[axis] for axis in axes[:-1]]
        out[...] = fft.irfftn(x, (*lengths, last), axes=axes, workers=workers)

    return to_complex, from_real, to_real
