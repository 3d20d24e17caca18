"""Calls of a program with pytrees: in one step of C where it can, and inside of functions that JAX traces."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from shlo_disc.call_signature import Signature
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.xla.function import traceable


def quick_call(executable: Runnable, signature: Signature | None) -> Callable[..., Any]:
    """A function that serves calls of positional arguments; `NotImplemented` for those that it cannot."""
    served = None if executable.entry is None else served_by_c(executable.entry, signature)
    return served or partial(_call_positional, executable, signature)


def served_by_c(entry: Entry, signature: Signature | None, donated: Sequence[int] = ()) -> Callable[..., Any] | None:
    """The C function that serves a whole call, if it supports the pytrees.

    It returns `NotImplemented` for calls that need anything of Python, and deletes the JAX arrays of the leaves that
    are `donated`, where `jax.jit` does.
    """
    if signature is None:
        args, result = tuple(range(entry.arguments)), tuple(range(entry.results))
        return entry.tree(args, result, args, donated)
    args, kwargs, result = signature.example()
    return None if kwargs or signature.has_keys else entry.tree(args, result, signature.kept, donated)


def call_program(
    executable: Runnable, signature: Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    try:
        if signature is not None:
            return signature.unflatten(executable.mirror(signature.flatten(args, kwargs)))
        refuse_keywords(kwargs)
        return executable.mirror(args)
    except ctypes.ArgumentError as error:  # ctypes raises it if there is no memory for one
        raise MemoryError("no memory for the arguments of a call") from error


def function_for_jax(
    executable: Runnable, signature: Signature | None, quick: Callable[..., Any]
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (found := quick(*args)) is not NotImplemented:
            return found
        return call_program(executable, signature, args, kwargs)

    return traceable(executable, signature, call)


def _call_positional(executable: Runnable, signature: Signature | None, *args: Any) -> Any:
    return call_program(executable, signature, args, {})


def refuse_keywords(kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise ArgumentTypeError(f"found the keyword arguments {', '.join(kwargs)}, expected positional ones only")


def few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 8 else [*items[:6], f"and {len(items) - 6} more"])
