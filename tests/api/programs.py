"""Small exported programs that several tests of the surface call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from numpy.typing import NDArray

import shlo_disc

Floats = NDArray[np.float32]


def spec(*shape: object, dtype: object = jnp.float32) -> Any:
    """What an argument looks like: sizes are numbers or symbolic dims."""
    return cast("Any", jax.ShapeDtypeStruct)(shape, dtype)


def dims(names: str, *constraints: str) -> Any:
    """Symbolic sizes of one scope."""
    return cast("Any", export.symbolic_shape)(names, constraints=constraints)


def exported(
    function: Callable[..., object], *specs: object, platforms: Sequence[str] | None = None, **named: object
) -> Any:
    """Export `function` for these arguments."""
    jitted = cast("Any", jax).jit(function)
    return cast("Any", export.export)(jitted, platforms=platforms)(*specs, **named)


def compiled(function: Callable[..., object], *specs: object, **named: Any) -> shlo_disc.Compiled:
    """Export and compile."""
    return shlo_disc.compile(exported(function, *specs, **named))


def zeros(*shape: int) -> Floats:
    return np.zeros(shape, np.float32)


def counted(*shape: int) -> Floats:
    """0, 1, 2 … in this shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
