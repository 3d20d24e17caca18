"""JAX's modules, which are imported when they are needed. They have no useful types: everything of them is `Any`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

# For `isinstance`. They have the type Any: a test must not turn something untyped into something partly typed.
INTEGERS: Any = (int, np.integer)
SEQUENCES: Any = (tuple, list)
MAPPINGS: Any = (dict,)
NUMPY: Any = (np.ndarray, np.generic)


@cache
def jax_module(name: str = "jax") -> Any:
    """A module of JAX by its name."""
    return import_module(name)


@contextmanager
def without_mesh() -> Generator[None]:
    """Trace and lower for one device. JAX has a public way out of meshes outside of its traces alone."""
    config, mesh, sharding = (jax_module(name) for name in ("jax._src.config", "jax._src.mesh", "jax.sharding"))
    devices = (mesh if hasattr(mesh, "device_context") else config).device_context  # older versions have it in `config`
    before = devices.swap_local(mesh.empty_concrete_mesh)
    try:
        with sharding.use_abstract_mesh(mesh.empty_abstract_mesh):
            yield
    finally:
        devices.set_local(before)


def context() -> object:
    """All of JAX's configuration that traces depend on, of this thread."""
    return context_function()()


def is_outside_of_traces() -> bool:
    """Whether JAX neither traces nor transforms a function in this thread. JAX has no public name for it."""
    return _trace_state_clean()()


@cache
def _trace_state_clean() -> Callable[[], bool]:
    return import_module("jax._src.core").trace_state_clean


@cache
def context_function() -> Callable[[], object]:
    """What returns it. JAX has no public name for it."""
    return import_module("jax._src.config").trace_context
