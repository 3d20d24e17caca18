# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# JAX has no types here; nothing untyped leaves this module.
"""How the pytrees of a call become the flat arguments of a program, and its results a pytree.

Structures are JAX's, or `PlainTree`s, which need no JAX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shlo_disc import plain_tree
from shlo_disc.diagnostics import ArgumentTypeError, one_line
from shlo_disc.plain_tree import PlainTree
from shlo_disc.records import record

_PATHS_SHOWN = 8


@record
class Signature:
    """How a call's pytrees become the flat arguments of the program, and back."""

    in_tree: Any  # of `(args, kwargs)`: JAX's `PyTreeDef`, or a `PlainTree`
    out_tree: Any
    names: tuple[str, ...]  # of all leaves
    kept: tuple[int, ...]  # the leaves that the program takes
    platform: int  # the position of the device among the platforms of the export
    is_flat: bool  # every positional argument is one leaf, and the program takes all of them
    keys: tuple[str, ...] = ()  # of each leaf, the generator of a typed random key or an empty text; () without keys
    key_results: tuple[str, ...] = ()  # the same of each result
    leading: int = 0  # the number of bound positional arguments before these

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the leaves that the program takes."""
        return tuple(self.names[k] for k in self.kept)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves that the program takes; `ArgumentTypeError` if the pytree is another one."""
        if self.is_flat and not kwargs and len(args) == len(self.names):
            return args  # a pytree among them is refused later, as it is no array
        leaves, tree = _flatten((args, kwargs), self.in_tree)
        if tree != self.in_tree:
            raise ArgumentTypeError(self._difference(args, kwargs))
        if self.keys:
            leaves = [
                _key_data(leaf, generator, name) if generator else leaf
                for leaf, generator, name in zip(leaves, self.keys, self.names, strict=True)
            ]
        return leaves if len(self.kept) == len(leaves) else [leaves[k] for k in self.kept]

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The results as the exported function returns them."""
        if self.key_results:
            import jax  # noqa: PLC0415

            leaves = [
                jax.random.wrap_key_data(leaf, impl=generator) if generator else leaf
                for leaf, generator in zip(leaves, self.key_results, strict=True)
            ]
        return self.out_tree.unflatten(leaves)

    @property
    def has_keys(self) -> bool:
        """Whether an argument or a result is a typed random key, whose data the program takes or returns."""
        return bool(self.keys or self.key_results)

    def example(self) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """The positional and the keyword arguments and the result, with the numbers of the leaves in their places."""
        args, kwargs = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        return args, kwargs, self.out_tree.unflatten(range(self.out_tree.num_leaves))

    def split(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[SignaturePart, SignaturePart]:
        """The signatures of the arguments that are given here, and of all others.

        Raises `ArgumentTypeError` if the exported function has fewer arguments, or none of such a name.
        """
        every, named, _ = self.example()
        if len(args) > len(every):
            raise ArgumentTypeError(f"found {len(args)} positional arguments to bind, expected at most {len(every)}")
        if unknown := [name for name in kwargs if name not in named]:
            raise ArgumentTypeError(_unknown_keyword(unknown[0], named, " to bind"))
        bound = every[: len(args)], {name: named[name] for name in kwargs}
        rest = every[len(args) :], {name: one for name, one in named.items() if name not in kwargs}
        return self._part(bound, 0), self._part(rest, len(args))

    def _part(self, numbers: tuple[tuple[Any, ...], dict[str, Any]], leading: int) -> SignaturePart:
        """The signature of some arguments, given as pytrees of the numbers of their leaves."""
        leaves, tree = _flatten(numbers, self.in_tree)
        place = {leaf: k for k, leaf in enumerate(self.kept)}
        keys = some_generators(tuple(self.keys[leaf] for leaf in leaves) if self.keys else ())
        signature = replace(
            self,
            in_tree=tree,
            names=tuple(self.names[leaf] for leaf in leaves),
            kept=tuple(k for k, leaf in enumerate(leaves) if leaf in place),
            is_flat=tree == flat_tree(len(leaves), tree) and place.keys() >= set(leaves) and not keys,
            keys=keys,
            leading=leading,
        )
        return SignaturePart(signature, tuple(place[leaf] for leaf in leaves if leaf in place))

    def _difference(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The first keyword or container that differs; if there is none, which leaves are missing or extra.

        Both structures if even these are the same, as they are where only the static fields of a class differ.
        """
        every, named, _ = self.example()
        if unknown := [name for name in kwargs if name not in named]:
            return _unknown_keyword(unknown[0], named)
        pad = (None,) * self.leading
        if (container := _other_container((pad + args, kwargs), (pad + every, named), (), self.in_tree)) is not None:
            return container
        found = leaf_names((pad + args, kwargs), self.in_tree)
        lines = ["the arguments have another structure than those of the exported function"]
        missing = [name for name in self.names if name not in set(found)]
        extra = [name for name in found if name not in set(self.names)]
        if missing:
            lines.append(f"  missing: {_list(missing)}")
        if extra:
            lines.append(f"  extra: {_list(extra)}")
        if not missing and not extra:
            _, tree = _flatten((args, kwargs), self.in_tree)
            lines += [f"  found {tree}", f"  expected {self.in_tree}"]
        return "\n".join(lines)


@record
class SignaturePart:
    """The signature of some of a function's arguments, and the numbers of the program's arguments that it gives."""

    signature: Signature
    places: tuple[int, ...]


def plain(signature: Signature) -> Signature:
    """The same without JAX's structures. Raises `ShloDiscError` for a container that only JAX knows."""
    if isinstance(signature.in_tree, PlainTree):
        return signature
    in_tree = plain_tree.of_jax(signature.in_tree, "the arguments")
    return replace(signature, in_tree=in_tree, out_tree=plain_tree.of_jax(signature.out_tree, "the results"))


def some_generators(generators: tuple[str, ...]) -> tuple[str, ...]:
    """The generators of leaves, or none at all where no leaf has one."""
    return generators if any(generators) else ()


def flat_tree(count: int, like: Any) -> Any:
    """The structure of `count` positional arguments that are leaves: JAX's or a plain one, as `like` is."""
    return _flatten(((0,) * count, {}), like)[1]


def leaf_names(call: object, like: Any) -> tuple[str, ...]:
    """The names of all leaves of `(args, kwargs)`, as JAX's own messages have them."""
    if isinstance(like, PlainTree):
        return tuple(_plain_names(call, ()))
    import jax  # noqa: PLC0415

    paths, _ = jax.tree_util.tree_flatten_with_path(call)
    return tuple(_name([jax.tree_util.keystr((key,)) for key in path]) for path, _ in paths)


def _plain_names(node: Any, path: tuple[str, ...]) -> list[str]:
    children = plain_tree.children_of(node)
    if children is None:
        return [_name(path)]
    texts = [(plain_tree.key_text(node, key), child) for key, child in children.items()]
    return [name for text, child in texts for name in _plain_names(child, (*path, text))]


def _flatten(value: Any, like: Any) -> tuple[list[Any], Any]:
    """The leaves of a pytree and its structure: JAX's or a plain one, as `like` is."""
    if isinstance(like, PlainTree):
        return plain_tree.flatten(value)
    import jax  # noqa: PLC0415

    return jax.tree_util.tree_flatten(value)


def _name(path: Sequence[str]) -> str:
    """`args[0]['w']`, as JAX's own messages name it; `path`: `[0]` or `[1]`, then the keys."""
    return ("args" if path[0] == "[0]" else "kwargs") + one_line("".join(path[1:]))


def _key_data(leaf: Any, generator: str, name: str) -> Any:
    """The integers of a typed random key; what is none is returned as it is: integers, or what is refused later."""
    import jax  # noqa: PLC0415

    if not (hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)):
        return leaf
    found = jax.random.key_impl(leaf)
    if found != generator:
        raise ArgumentTypeError(
            f"{name}: found a random key of {found}, expected one of {generator}\n"
            f"  help: make it with jax.random.key(seed, impl={generator!r})"
        )
    return jax.random.key_data(leaf)


def _unknown_keyword(name: str, known: Mapping[str, object], purpose: str = "") -> str:
    """The message about a keyword argument that the exported function does not have."""
    found = f"found the keyword argument {one_line(name)}{purpose}"
    if not known:
        return f"{found}, expected none: all arguments are positional"
    from difflib import get_close_matches  # noqa: PLC0415  an error alone needs it

    close = get_close_matches(name, known, 1)
    meant = f"\n  help: did you mean {close[0]}?" if close else ""
    return f"{found}, expected one of {_list(sorted(known))}{meant}"


def _other_container(found: Any, expected: Any, path: tuple[str, ...], like: Any) -> str | None:
    """The message about the first place where one pytree has another container than the other.

    None if only keys, lengths or `None`s differ. The leaves of `expected` are numbers.
    """
    if found is None or expected is None:
        return None
    (here, is_node), (there, expects_node) = _children(found, like), _children(expected, like)
    if is_node != expects_node or (is_node and not _is_same_container(found, expected, like)):
        an_array = isinstance(found, list | tuple) and not expects_node
        mend = "\n  help: make an array of it, for example with numpy.asarray" if an_array else ""
        wanted = _described(expected, there) if expects_node else "an array"
        what = _described(found, here) if is_node else type(found).__name__
        return f"{_name(path)}: found {what}, expected {wanted}{mend}"
    both = [key for key in there if key in here] if is_node else []
    messages = (_other_container(here[key], there[key], (*path, key), like) for key in both)
    return next((message for message in messages if message is not None), None)


def _is_same_container(one: Any, other: Any, like: Any) -> bool:
    if isinstance(like, PlainTree) and plain_tree.fields_of(one) is not None:
        return (type(one).__name__, plain_tree.fields_of(one)) == (type(other).__name__, plain_tree.fields_of(other))
    return type(one) is type(other)


def _children(node: Any, like: Any) -> tuple[dict[str, Any], bool]:
    """The children of a node of a pytree by the texts of their keys, and whether it is a node, not a leaf."""
    if isinstance(like, PlainTree):
        children = plain_tree.children_of(node)
        return {plain_tree.key_text(node, key): child for key, child in (children or {}).items()}, children is not None
    import jax  # noqa: PLC0415

    def is_inside(one: object) -> bool:
        return one is not node

    pairs, _ = jax.tree_util.tree_flatten_with_path(node, is_leaf=is_inside)
    is_node = not (len(pairs) == 1 and not pairs[0][0])
    return ({jax.tree_util.keystr((path[0],)): child for path, child in pairs}, True) if is_node else ({}, False)


def _described(node: Any, children: Mapping[Any, Any]) -> str:
    """A container in words.

    >>> _described([1, 2], {0: 1, 1: 2})
    'a list of 2'
    """
    kind = type(node).__name__
    if isinstance(node, dict):
        return f"a {kind} of {_list([repr(key) for key in node])}" if node else f"an empty {kind}"
    return f"a {kind} of {len(children)}" if isinstance(node, list | tuple) else f"a {kind}"


def _list(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> _list([f"args[{k}]" for k in range(10)])
    'args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7] and 2 more'
    """
    shown = ", ".join(names[:_PATHS_SHOWN])
    more = len(names) - _PATHS_SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"
