"""What the examples of frameworks have in common: a library that may be missing, and the comparison with `jax.jit`."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import jax
import numpy as np


def library(module: str, package: str) -> Any:
    """Import a module; if its package is not installed, say so in one line, and exit with 0."""
    try:
        return import_module(module)
    except ImportError:
        print(f"needs: pip install {package}")
        raise SystemExit(0) from None


def wrong_cases(
    ours: Callable[..., Any], plain: Callable[..., Any], cases: Sequence[tuple[Any, ...]], tolerance: float = 1e-4
) -> int:
    """Count the cases in which two functions do not return the same pytree of arrays, within a tolerance."""
    return sum(not _alike(ours(*case), plain(*case), tolerance) for case in cases)


def _alike(found: Any, expected: Any, tolerance: float) -> bool:
    if jax.tree.structure(found) != jax.tree.structure(expected):
        return False
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    return all(
        (one.shape, one.dtype) == (other.shape, other.dtype) and _near(one, other, tolerance) for one, other in pairs
    )


def _near(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether arrays differ by at most the tolerance, as a part of the largest element (at least 1)."""
    difference = np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64))
    return bool(np.all(difference <= tolerance * max(1.0, float(np.max(np.abs(expected), initial=0.0)))))
