"""The arrays of a call: what a program takes for each leaf of the arguments, and how it is made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from shlo_disc.jit.abstraction import Shape
from shlo_disc.jit.jax_modules import NUMPY, jax_module
from shlo_disc.records import record


@record
class LeafType:
    """All of an array's type but its sizes. `weak`: Python's numbers, which take the type of what they meet.

    `key` is the implementation of a random key, which is passed as its data.
    """

    dtype: Any
    rank: int
    weak: bool = False
    key: str | None = None


@record
class Leaf:
    """One leaf of a call: the array that a program takes, its type and its shape. `value` may be a tracer."""

    value: Any
    type: LeafType
    shape: Shape
    is_traced: bool = False


def read_leaf(value: Any) -> Leaf:
    """What a program takes for a leaf, with JAX's own rules for types. Raises `TypeError` as JAX does."""
    jax = jax_module()

    if isinstance(value, NUMPY):
        return _of_numpy(jax, np.asarray(value))
    if not isinstance(value, jax.Array) and hasattr(value, "__jax_array__"):
        value = value.__jax_array__()
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(value)
        is_traced = isinstance(data, jax.core.Tracer)  # in a branch of a traced function also of a key that is none
        key = str(jax.random.key_impl(value))
        return Leaf(data, LeafType(np.dtype(data.dtype), data.ndim, key=key), tuple(data.shape), is_traced)
    aval = jax.typeof(value)  # raises for what is no array
    kind = LeafType(np.dtype(aval.dtype), len(aval.shape), bool(aval.weak_type))
    if isinstance(value, jax.core.Tracer):
        return Leaf(value, kind, tuple(aval.shape), is_traced=True)
    if isinstance(value, jax.Array):
        return Leaf(value, kind, tuple(aval.shape))
    return Leaf(np.asarray(value, aval.dtype), kind, tuple(aval.shape))


def read_spec(value: Any) -> Leaf:
    """The type and shape of a `jax.ShapeDtypeStruct`, or of an array."""
    jax = jax_module()

    if not isinstance(value, jax.ShapeDtypeStruct):
        return read_leaf(value)
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        data = jax.eval_shape(jax.random.key_data, value)
        key = str(value.dtype._impl.name)  # noqa: SLF001  JAX has no public name for it
        return Leaf(None, LeafType(np.dtype(data.dtype), len(data.shape), key=key), tuple(data.shape))
    return Leaf(None, LeafType(np.dtype(value.dtype), len(value.shape), bool(value.weak_type)), tuple(value.shape))


def as_given(types: Sequence[LeafType], arrays: Sequence[Any]) -> list[Any]:
    """The leaves as the function was called with them: random keys are made of their data."""
    if not any(one.key for one in types):
        return list(arrays)
    jax = jax_module()

    return [
        x if one.key is None else jax.random.wrap_key_data(x, impl=one.key)
        for one, x in zip(types, arrays, strict=True)
    ]


def _of_numpy(jax: Any, array: Any) -> Leaf:
    dtype = _canonical(jax, array.dtype, jax.config.jax_enable_x64)
    value = array if array.dtype == dtype else array.astype(dtype)
    return Leaf(value, LeafType(dtype, array.ndim), array.shape)


@lru_cache(maxsize=64)
def _canonical(jax: Any, dtype: Any, x64: bool) -> Any:
    del x64
    return np.dtype(jax.typeof(np.empty((), dtype)).dtype)


def key_name(value: Any) -> str | None:
    """The implementation of a random key; None for any other value."""
    jax = jax_module()

    dtype = getattr(value, "dtype", None)
    if dtype is None or not jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return None
    return str(jax.random.key_impl(value))
