"""Calls that C serves although they are not arrays alone: with keywords, constants, or Python's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.jax_modules import context

Serve: TypeAlias = "Callable[..., Any]"
_NUMBERS = frozenset({bool, int, float, complex})


class QuickCalls:
    """What serves a call in C, by all of the call that is no array: constants, the types of numbers, JAX's settings."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._serve = dict[object, tuple[Serve, Mapping[int, Any]]]()

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The results of a call with the keywords of static arguments alone; `NotImplemented` if C cannot serve it."""
        if not self._serve:
            return NotImplemented
        try:
            found = self._serve.get(self._key(args, kwargs))
        except TypeError:  # a constant without hash
            return NotImplemented
        if found is None:
            return NotImplemented
        serve, numbers = found
        static = self._parameters.static_numbers
        return serve(
            *[
                np.asarray(value, numbers[place]) if place in numbers else value
                for place, value in enumerate(args)
                if place not in static
            ]
        )

    def learn(self, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any], serve: Serve) -> None:
        """Let C serve the next calls like this one, if it can tell them from others."""
        if call.dynamic[1] or any(one.key for one in call.types):
            return
        numbers = {place: None for place in call.positions if type(args[place]) in _NUMBERS}
        if sum(one.weak for one in call.types) != len(numbers):
            return  # an array of JAX has a weak type
        weak = iter([one.dtype for one in call.types if one.weak])
        self._serve[self._key(args, kwargs)] = serve, {place: next(weak) for place in numbers}

    def clear(self) -> None:
        """Forget all calls."""
        self._serve.clear()

    def _key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        static = self._parameters.static_numbers
        places: list[object] = [
            (type(value), value) if place in static else type(value) if type(value) in _NUMBERS else None
            for place, value in enumerate(args)
        ]
        named: list[object] = [(name, type(kwargs[name]), kwargs[name]) for name in sorted(kwargs)]
        return (context(), *places, *named)
