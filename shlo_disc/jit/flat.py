"""A function of pytrees as one of flat lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.leaves import LeafType, as_given, key_name


def flat_tree(count: int) -> Any:
    """JAX's structure of that many positional arguments which are arrays."""
    return jax_module().tree_util.tree_structure(((0,) * count, {}))


class FlatFunction:
    """A function for calls of one structure: leaves in, leaves out; static arguments are those of the call."""

    def __init__(self, fun: Callable[..., Any], parameters: Parameters, call: Call) -> None:
        self._fun, self._name = fun, parameters.name
        self._static, self._positions, self._count = call.static, call.positions, call.count
        self._types: Sequence[LeafType] = call.types
        self.in_tree = call.tree
        self.out_tree: Any = None  # known once the function is traced
        self._keys: tuple[str | None, ...] = ()
        self.is_flat = call.tree == flat_tree(len(call.values))

    def new(self) -> Callable[..., list[Any]]:
        """A new function object, of which JAX knows no trace."""

        def flat(*leaves: Any) -> list[Any]:
            return self._run(leaves)

        flat.__name__ = flat.__qualname__ = self._name
        return flat

    def results(self, found: Sequence[Any]) -> Any:
        """The pytree of the function's results."""
        if self._keys:
            jax = jax_module()

            found = [
                x if key is None else jax.random.wrap_key_data(x, impl=key)
                for key, x in zip(self._keys, found, strict=True)
            ]
        return self.out_tree.unflatten(found)

    @property
    def has_plain_results(self) -> bool:
        """Whether the results of the program are those of the function."""
        return not self._keys

    def _run(self, leaves: Sequence[Any]) -> list[Any]:
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
        found, self.out_tree = jax.tree_util.tree_flatten(self._fun(*every, **kwargs))
        keys = [key_name(x) for x in found]
        self._keys = tuple(keys) if any(keys) else ()
        return [x if key is None else jax.random.key_data(x) for x, key in zip(found, keys, strict=True)]
