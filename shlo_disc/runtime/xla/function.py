"""A compiled program as a Python function of pytrees, for functions that JAX traces and for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime.interop import is_tracer
from shlo_disc.runtime.partitions import Runnable


class Pytrees(Protocol):
    """How pytrees become flat arrays, and back: `call_signature.Signature`."""

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Sequence[Any]:
        """The arrays of the arguments. Raises `ArgumentTypeError` for another structure."""
        ...

    def unflatten(self, leaves: Sequence[object], /) -> Any:
        """The structure of the results."""
        ...


def traceable(executable: Runnable, pytrees: Pytrees | None, call: Callable[..., Any]) -> Callable[..., Any]:
    """The function that `Compiled.as_jax` returns; `call` calls the program outside of traced functions."""

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves = args if pytrees is None else pytrees.flatten(args, kwargs)
        if not any(map(is_tracer, leaves)):
            return call(*args, **kwargs)
        from shlo_disc.runtime.xla.primitive import call_in_trace  # noqa: PLC0415  few programs are called in a trace

        if pytrees is not None:
            return pytrees.unflatten(call_in_trace(executable, leaves))
        if kwargs:
            raise ArgumentTypeError(f"found the keyword arguments {', '.join(kwargs)}, expected positional ones only")
        return tuple(call_in_trace(executable, leaves))

    run.__name__ = run.__qualname__ = executable.artifact.name
    return run
