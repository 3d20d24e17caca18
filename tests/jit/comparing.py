# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Compile functions with `shlo_disc.jit`, and compare pytrees of arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from tests.pipeline.exports import FAST

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def jit(function: Any, **options: Any) -> Any:
    return shlo_disc.jit(function, options=FAST, **options)


def same(found: Any, wanted: Any) -> None:
    """Compare pytrees: structure, shapes, dtypes, weak types, and bits."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert isinstance(one, jax.Array)
        types = [jax.typeof(x) for x in (one, other)]
        assert [(t.shape, t.dtype, t.weak_type) for t in types[:1]] == [
            (t.shape, t.dtype, t.weak_type) for t in types[1:]
        ]
        np.testing.assert_array_equal(_numbers(one), _numbers(other))


def _numbers(array: Any) -> Any:
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)
