"""Calls of a program with pytrees: in one step of C where it can, and inside of functions that JAX traces."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from shlo_disc.call_signature import Signature
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.partitions import Runnable

_ANY_ARGUMENTS = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)


class Served:
    """An object whose calls are those of a function, most often one of C.

    Python looks `__call__` up in the type, where a subclass has a slot of this name: it gives the function. A method
    that passes a call on takes 100 ns, where a small call takes 160.
    """

    __call__: Callable[..., Any]
    __signature__: inspect.Signature

    def serve_by(self, function: Callable[..., Any]) -> None:
        """Call this function from now on. Calls that are running are not affected."""
        self.__call__ = function
        self.__signature__ = _ANY_ARGUMENTS


def serve(executable: Runnable, signature: Signature | None) -> Callable[..., Any]:
    """A function that serves calls of a program with pytrees."""
    in_python = partial(_call_program, executable, signature)
    in_c = None if executable.entry is None else serve_in_c(executable.entry, signature, otherwise=in_python)
    return in_c or in_python


def serve_in_c(
    entry: Entry,
    signature: Signature | None,
    donated: Sequence[int] = (),
    otherwise: Callable[..., Any] | None = None,
) -> Callable[..., Any] | None:
    """A function of C that serves a whole call, if it supports the pytrees.

    Calls that need anything of Python are served by `otherwise`, or return `NotImplemented`. The function deletes the
    JAX arrays of the leaves that are `donated`, where `jax.jit` does.
    """
    if signature is None:
        args, result = tuple(range(entry.arguments)), tuple(range(entry.results))
        return entry.tree(args, result, args, donated, otherwise)
    args, kwargs, result = signature.example()
    return None if kwargs or signature.has_keys else entry.tree(args, result, signature.kept, donated, otherwise)


def _call_program(executable: Runnable, signature: Signature | None, /, *args: Any, **kwargs: Any) -> Any:
    try:
        if signature is not None:
            return signature.unflatten(executable.mirror(signature.flatten(args, kwargs)))
        refuse_keywords(kwargs)
        return executable.mirror(args)
    except ctypes.ArgumentError as error:  # ctypes raises it if there is no memory for one
        raise MemoryError("no memory for the arguments of a call") from error


def refuse_keywords(kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise ArgumentTypeError(f"found the keyword arguments {', '.join(kwargs)}, expected positional ones only")


def few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 8 else [*items[:6], f"and {len(items) - 6} more"])
