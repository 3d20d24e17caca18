"""JAX's modules, which are imported when they are needed. They have no useful types: everything of them is `Any`."""

from __future__ import annotations

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


def context() -> object:
    """All of JAX's configuration that traces depend on, of this thread. JAX has no public name for it."""
    return _trace_context()()


@cache
def _trace_context() -> Any:
    return import_module("jax._src.config").trace_context
