"""Functions of Python that a program calls: `jax.pure_callback`, `jax.debug.print` and others.

JAX refuses to export them, as a text cannot hold a function. A program of `jit` belongs to this process: while JAX
lowers one, each callback becomes a custom call whose attribute `number` names the function, and which takes and gives a
token if it is ordered.
"""

from __future__ import annotations

import itertools
import threading
import traceback
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from shlo_disc.custom_calls import register_custom_call
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.target_names import HOST

TARGET = "shlo_disc_python"

_functions = dict[int, Callable[..., Any]]()
_numbers = itertools.count(1)


class _LoweringThread(threading.local):
    numbers: list[int] | None = None  # of the callbacks of the function that is lowered


_state = _LoweringThread()


@contextmanager
def callbacks_as_custom_calls() -> Generator[Callbacks]:
    """While this thread lowers a function, let its callbacks be custom calls of `TARGET`."""
    _watch_callbacks()
    numbers = list[int]()
    before, _state.numbers = _state.numbers, numbers
    try:
        yield Callbacks(numbers)
    finally:
        _state.numbers = before


class Callbacks:
    """The callbacks of a program. They are forgotten when this dies, so it has to live as long as the program."""

    def __init__(self, numbers: list[int]) -> None:
        weakref.finalize(self, _forget, numbers)


def count() -> int:
    """How many callbacks programs may call."""
    return len(_functions)


def _forget(numbers: list[int]) -> None:
    for number in numbers:
        _functions.pop(number, None)


@lru_cache(maxsize=1)
def _watch_callbacks() -> None:
    """Let JAX's rules ask this module how to lower a callback; JAX has no public way to replace them."""
    register_custom_call(TARGET, _call)
    module = jax_module("jax._src.callback")
    original = module.emit_python_callback

    def emit(ctx: Any, callback: Callable[..., Any], token: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        if _state.numbers is None or tuple(ctx.module_context.platforms) != (HOST,):
            return original(ctx, callback, token, *args, **kwargs)
        operands, given, results = args
        number = next(_numbers)
        _functions[number] = callback
        _state.numbers.append(number)
        rule = jax_module("jax").ffi.ffi_lowering(TARGET, has_side_effect=kwargs["has_side_effect"])
        tokens = [] if token is None else [token]  # of ordered callbacks: taken and given first
        types = [jax_module("jax._src.core").abstract_token] * len(tokens)
        lowered = ctx.replace(avals_in=[*types, *given], avals_out=[*types, *results])
        # Libraries add the third result, which has to stay alive, to this list: here that is nothing.
        ctx.module_context.keepalives = _WithoutNone(ctx.module_context.keepalives)
        found = rule(lowered, *tokens, *operands, number=np.int64(number))
        return found[len(tokens) :], found[0] if tokens else None, None

    for place in (module, jax_module("jax.interpreters.mlir")):
        place.emit_python_callback = emit


class _WithoutNone(list[Any]):
    """What has to stay alive, with the list that it replaces."""

    def __init__(self, replaced: list[Any]) -> None:
        super().__init__(replaced)
        self._replaced = replaced

    def append(self, one: Any) -> None:
        if one is not None:
            super().append(one)
            self._replaced.append(one)


def _call(*operands: Any, number: int) -> tuple[Any, ...]:
    """Call a function; its errors are those of `jax.jit`."""
    jax = jax_module()

    try:
        found = _functions[number](*[np.array(one) for one in operands])
        return tuple([_canonical(jax, np.asarray(one)) for one in found])
    except Exception as error:  # a function may raise anything
        raise jax.errors.JaxRuntimeError(f"INTERNAL: a callback failed:\n{traceback.format_exc()}") from error


def _canonical(jax: Any, array: Any) -> Any:
    """An array with JAX's type for it."""
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)
