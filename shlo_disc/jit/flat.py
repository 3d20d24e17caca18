"""A function of pytrees as one of flat lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.leaves import LeafType, as_given, key_name
from shlo_disc.records import record


def flat_tree(count: int) -> Any:
    """JAX's structure of that many positional arguments which are arrays."""
    return jax_module().tree_util.tree_structure(((0,) * count, {}))


@record
class Results:
    """The pytree of a function's results. It may differ between sizes, so it belongs to a trace.

    `keys` are the implementations of random keys among them, which programs return as their data; empty without any.
    """

    tree: Any
    keys: tuple[str | None, ...]

    def of(self, found: Sequence[Any]) -> Any:
        """The results of the function, from those of a program."""
        if self.keys:
            jax = jax_module()

            found = [
                x if key is None else jax.random.wrap_key_data(x, impl=key)
                for key, x in zip(self.keys, found, strict=True)
            ]
        return self.tree.unflatten(found)


class FlatFunction:
    """A function for calls of one structure: leaves in, leaves out; static arguments are those of the call."""

    def __init__(self, fun: Callable[..., Any], parameters: Parameters, call: Call) -> None:
        self._fun, self._name = fun, parameters.name
        self._static, self._positions, self._count = call.static, call.positions, call.count
        self.has_constants = bool(call.static)
        self._types: Sequence[LeafType] = call.types
        self.in_tree = call.tree
        self.is_flat = call.tree == flat_tree(len(call.values))
        self._results = WeakKeyDictionary[Callable[..., list[Any]], Results]()

    def new(self) -> Callable[..., list[Any]]:
        """A new function object, of which JAX knows no trace."""

        def flat(*leaves: Any) -> list[Any]:
            found, self._results[flat] = self._run(leaves)
            return found

        flat.__name__ = flat.__qualname__ = self._name
        return flat

    def results(self, flat: Callable[..., list[Any]]) -> Results:
        """What the last trace of a function object returned."""
        return self._results[flat]

    def _run(self, leaves: Sequence[Any]) -> tuple[list[Any], Results]:
        jax = jax_module()

        args, kwargs = self.in_tree.unflatten(as_given(self._types, leaves))
        every: list[Any] = [None] * self._count
        for position, value in zip(self._positions, args, strict=True):
            every[position] = value
        for place, value in self._static:
            if isinstance(place, int):
                every[place] = value
            else:
                kwargs[place] = value
        found, tree = jax.tree_util.tree_flatten(self._fun(*every, **kwargs))
        keys = [key_name(x) for x in found]
        data = [x if key is None else jax.random.key_data(x) for x, key in zip(found, keys, strict=True)]
        return data, Results(tree, tuple(keys) if any(keys) else ())
