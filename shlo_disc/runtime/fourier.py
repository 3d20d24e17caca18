"""Fourier transforms of arrays on the host: SciPy's pocketfft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, TypeAlias, cast

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import Array

Transform: TypeAlias = Literal["FFT", "IFFT", "RFFT", "IRFFT"]
_NOT_SCALED, _BY_LENGTH = 0, 2  # what pocketfft divides the result by
_SHARED = 1 << 16  # elements that pay for starting threads


def bind_fft(transform: Transform, rank: int, threads: int) -> Callee:
    """What computes a transform of the last `rank` dimensions. Raises `ToolchainError` without SciPy."""
    forward = transform in {"FFT", "RFFT"}
    scale = _NOT_SCALED if forward else _BY_LENGTH
    to_complex, from_real, to_real = pocketfft()

    def compute(operands: Sequence[Array], results: Sequence[Array]) -> None:
        (x,), (found,) = operands, results
        if not found.size:
            return
        axes = tuple(range(x.ndim - rank, x.ndim))
        workers = threads if found.size >= _SHARED else 1
        match transform:
            case "FFT" | "IFFT":
                to_complex(x, axes, forward, scale, found, workers)
            case "RFFT":
                from_real(x, axes, forward, scale, found, workers)
            case "IRFFT":
                to_real(x, axes, found.shape[-1], forward, scale, found, workers)

    return compute


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

    def to_complex(x: Array, axes: Sequence[int], forward: bool, _scale: int, out: Array, workers: int) -> None:
        out[...] = (fft.fftn if forward else fft.ifftn)(x, axes=axes, workers=workers)

    def from_real(x: Array, axes: Sequence[int], _forward: bool, _scale: int, out: Array, workers: int) -> None:
        out[...] = fft.rfftn(x, axes=axes, workers=workers)

    def to_real(
        x: Array, axes: Sequence[int], last: int, _forward: bool, _scale: int, out: Array, workers: int
    ) -> None:
        lengths = [x.shape[axis] for axis in axes[:-1]]
        out[...] = fft.irfftn(x, (*lengths, last), axes=axes, workers=workers)

    return to_complex, from_real, to_real
