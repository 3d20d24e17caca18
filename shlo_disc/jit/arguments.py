"""The arguments of a call: which are static, and the leaves of the others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shlo_disc.diagnostics import one_line
from shlo_disc.jit.abstraction import Shapes
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.leaves import LeafType, read_leaf, read_spec

_CONFIGURATION = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_default_prng_impl",
)


@dataclass(frozen=True)
class Call:
    """One call. `static` are the constants by position and by name; `dynamic` the pytrees of all other arguments.

    `key` identifies what programs have in common: constants, pytrees, types, and the configuration of JAX.
    """

    static: tuple[tuple[object, object], ...]
    positions: tuple[int, ...]  # of the dynamic positional arguments
    dynamic: tuple[tuple[Any, ...], dict[str, Any]]
    count: int  # positional arguments, static ones too
    tree: Any
    values: tuple[Any, ...]
    types: tuple[LeafType, ...]
    shapes: Shapes
    is_traced: bool
    configuration: tuple[object, ...]

    @cached_property
    def key(self) -> tuple[object, ...]:
        static = tuple([(place, type(value), value) for place, value in self.static])
        return static, self.count, self.tree, self.types, self.configuration

    @property
    def is_symbolic(self) -> bool:
        """Whether JAX traces with symbolic sizes."""
        return any(type(size) is not int for shape in self.shapes for size in shape)

    @property
    def is_plain(self) -> bool:
        """Whether the next call like this one differs from others in its arrays alone."""
        return not self.static and not self.dynamic[1] and not any(one.key or one.weak for one in self.types)


class Parameters:
    """The parameters of a function, as `jax.jit` describes them."""

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: int | Sequence[int],
        static_argnames: str | Iterable[str],
        donate_argnums: int | Sequence[int],
        donate_argnames: str | Iterable[str],
        for_xla: Mapping[str, Any],
    ) -> None:
        self.fun = fun
        self.name = getattr(fun, "__name__", None) or type(fun).__name__
        self._jit_arguments: dict[str, Any] = {
            "static_argnums": static_argnums or None, "static_argnames": static_argnames or None,
            "donate_argnums": donate_argnums or None, "donate_argnames": donate_argnames or None, **for_xla,
        }  # fmt: skip
        if static_argnums == 0 and not isinstance(static_argnums, tuple | list):
            self._jit_arguments["static_argnums"] = 0
        if donate_argnums == 0 and not isinstance(donate_argnums, tuple | list):
            self._jit_arguments["donate_argnums"] = 0
        try:
            self.signature: inspect.Signature | None = inspect.signature(fun)
        except (TypeError, ValueError):  # of a function in C
            self.signature = None
        numbers, names = _numbers(static_argnums), _texts(static_argnames)
        positional = self.positional
        self.static_numbers = {number % len(positional) if number < 0 and positional else number for number in numbers}
        self.static_numbers |= {positional.index(name) for name in names if name in positional}
        self.static_names = set(names) | {positional[k] for k in self.static_numbers if k < len(positional)}
        names = _texts(donate_argnames)
        self.donated_positions = {k % len(positional) if k < 0 and positional else k for k in _numbers(donate_argnums)}
        self.donated_positions |= {positional.index(name) for name in names if name in positional}
        self.donated_names = set(names) | {positional[k] for k in self.donated_positions if k < len(positional)}

    @cached_property
    def positional(self) -> list[str]:
        """The names of the parameters that may be given by position."""
        if self.signature is None:
            return []
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [name for name, one in self.signature.parameters.items() if one.kind in kinds]

    @cached_property
    def _by_keyword(self) -> list[str]:
        """The names of the positional parameters; "" for those that have no keyword."""
        if self.signature is None:
            return []
        kinds = self.signature.parameters
        return ["" if kinds[name].kind is inspect.Parameter.POSITIONAL_ONLY else name for name in self.positional]

    @cached_property
    def annotations(self) -> Mapping[str, object]:
        """The annotations of the parameters: texts are evaluated, unless one of them has no meaning at run time."""
        try:
            return inspect.get_annotations(self.fun, eval_str=True)
        except Exception:  # noqa: BLE001  an annotation may be any expression
            return {} if self.signature is None else {k: p.annotation for k, p in self.signature.parameters.items()}

    def positional_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call, with keywords of the next positional parameters as positional arguments."""
        names = self._by_keyword[len(args) : len(args) + len(kwargs)]
        more = [kwargs[name] for name in names if name in kwargs]
        if not more or [name for name in names if name in kwargs] != names[: len(more)]:
            return args, kwargs
        taken = names[: len(more)]
        return (*args, *more), {name: value for name, value in kwargs.items() if name not in taken}

    def jax_jit(self) -> Any:
        """The function of `jax.jit` with the same parameters."""
        jax = jax_module()

        return jax.jit(self.fun, **self._jit_arguments)

    def read(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, only_types: bool = False) -> Call:
        """Flatten a call. Raises `TypeError` and `ValueError` as `jax.jit` does."""
        jax = jax_module()

        static = list[tuple[object, object]]()
        positions = list[int]()
        for number, value in enumerate(args):
            if number in self.static_numbers:
                static.append((number, _hashable(value, self.parameter(number), self.name)))
            else:
                positions.append(number)
        named = dict[str, Any]()
        for name in sorted(kwargs):
            if name in self.static_names:
                static.append((name, _hashable(kwargs[name], name, self.name)))
            else:
                named[name] = kwargs[name]
        dynamic = tuple([args[k] for k in positions]), named
        flat, tree = jax.tree_util.tree_flatten(dynamic)
        read = read_spec if only_types else read_leaf
        leaves = [read(one) for one in flat]
        return Call(
            tuple(static), tuple(positions), dynamic, len(args), tree,
            tuple([one.value for one in leaves]), tuple([one.type for one in leaves]),
            tuple([one.shape for one in leaves]), any(one.is_traced for one in leaves),
            tuple([getattr(jax.config, name) for name in _CONFIGURATION]),
        )  # fmt: skip

    def leaf_names(self, call: Call) -> tuple[str, ...]:
        """The names of the leaves of a call, by the parameters' names: `params['w']`."""
        jax = jax_module()

        paths, _ = jax.tree_util.tree_flatten_with_path(call.dynamic)
        return tuple([self._leaf_name(path, call) for path, _ in paths])

    def _leaf_name(self, path: Any, call: Call) -> str:
        jax = jax_module()

        inner = one_line(jax.tree_util.keystr(path[2:]))
        if path[0].idx == 1:
            return f"{path[1].key}{inner}"
        return f"{self.parameter(call.positions[int(path[1].idx)])}{inner}"

    def parameter(self, position: int) -> str:
        """The name of a positional parameter."""
        names = self.positional
        return names[position] if position < len(names) else f"args[{position}]"


def _numbers(given: int | Sequence[int] | None) -> tuple[int, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, int) else tuple(given)


def _texts(given: str | Iterable[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _hashable(value: object, place: object, function: str) -> object:
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"found the static argument {place!r} of {function} of type {type(value).__name__}, which has no hash, "
            "expected one that has a hash, as for jax.jit"
        ) from error
    return value
