# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedNamedTuple=false, reportAttributeAccessIssue=false
# Values are of any type here.
"""Pytrees of tuples, named tuples, lists, dicts and None, without JAX: their structures are plain data.

Leaves come in the order of `jax.tree_util`: the entries of a dict are sorted by their keys.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from keyword import iskeyword
from typing import Any, Literal, TypeAlias, cast

from shlo_disc.diagnostics import ShloDiscError

Kind: TypeAlias = Literal["leaf", "none", "tuple", "list", "dict", "namedtuple"]
Key: TypeAlias = str | int


@dataclass(frozen=True)
class PlainTree:
    """The structure of a pytree.

    `keys` are those of a dict, sorted, or the fields of a named tuple, which is called `name`. Two structures
    are equal if JAX's are, but of a named tuple only its name and its fields count, not its class.
    """

    kind: Kind
    children: tuple[PlainTree, ...] = ()
    keys: tuple[Key, ...] = ()
    name: str = ""

    @cached_property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind == "leaf" else sum(child.num_leaves for child in self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A pytree of this structure with these leaves."""
        return _built(self, iter(leaves))

    def to_json(self) -> Any:
        """The structure as JSON: a leaf is "*", None is null, each other node an object with one or two members."""
        items = [child.to_json() for child in self.children]
        pairs = [list(pair) for pair in zip(self.keys, items, strict=False)]
        match self.kind:
            case "leaf":
                return "*"
            case "none":
                return None
            case "tuple" | "list":
                return {self.kind: items}
            case "dict":
                return {"dict": pairs}
            case "namedtuple":
                return {"namedtuple": self.name, "fields": pairs}


def from_json(found: Any) -> PlainTree:
    """The structure that `to_json` wrote. Raises `ValueError` for anything else."""
    match found:
        case "*":
            return LEAF
        case None:
            return PlainTree("none")
        case {"tuple": list(items), **rest} if not rest:
            return PlainTree("tuple", tuple(map(from_json, cast("list[Any]", items))))
        case {"list": list(items), **rest} if not rest:
            return PlainTree("list", tuple(map(from_json, cast("list[Any]", items))))
        case {"dict": list(pairs), **rest} if not rest:
            return _of_pairs("dict", "", cast("list[Any]", pairs))
        case {"namedtuple": str(name), "fields": list(pairs), **rest} if not rest:
            return _of_pairs("namedtuple", name, cast("list[Any]", pairs))
        case _:
            raise ValueError(f"found {repr(cast('object', found))[:80]}, expected the structure of a pytree")


def _of_pairs(kind: Kind, name: str, pairs: Sequence[Any]) -> PlainTree:
    keys, children = list[Key](), list[PlainTree]()
    for pair in pairs:
        match pair:
            case [str() | int() as key, child] if key not in keys:
                keys.append(key)
                children.append(from_json(child))
            case _:
                raise ValueError(f"found {repr(pair)[:80]}, expected a key and a structure")
    if kind == "namedtuple":
        _named(name, tuple(keys))
    return PlainTree(kind, tuple(children), tuple(keys), name)


LEAF = PlainTree("leaf")


def _built(tree: PlainTree, leaves: Iterator[Any]) -> Any:
    if tree.kind == "leaf":
        return next(leaves)
    items = [_built(child, leaves) for child in tree.children]
    match tree.kind:
        case "none":
            return None
        case "tuple":
            return tuple(items)
        case "list":
            return items
        case "dict":
            return dict(zip(tree.keys, items, strict=True))
        case "namedtuple":
            return _named(tree.name, tree.keys)(*items)


def flatten(value: Any) -> tuple[list[Any], PlainTree]:
    """The leaves of a pytree, and its structure."""
    leaves = list[Any]()
    return leaves, _structure(value, leaves)


def _structure(value: Any, leaves: list[Any]) -> PlainTree:
    if value is None:
        return PlainTree("none")
    children = children_of(value)
    if children is None:
        leaves.append(value)
        return LEAF
    inner = tuple([_structure(child, leaves) for child in children.values()])
    if isinstance(value, dict):
        return PlainTree("dict", inner, tuple(children))
    if isinstance(value, list):
        return PlainTree("list", inner)
    fields = fields_of(value)
    return PlainTree("tuple", inner) if fields is None else PlainTree("namedtuple", inner, fields, type(value).__name__)


def children_of(value: Any) -> Mapping[Key, Any] | None:
    """The children of a node by their keys, or by their numbers; None of a leaf. A `None` has no children."""
    if value is None:
        return {}
    if type(value) is dict:
        found = cast("dict[Any, Any]", value)
        return {key: found[key] for key in _sorted(found)}
    if type(value) in {list, tuple} or fields_of(value) is not None:
        items = cast("Sequence[Any]", value)
        return dict(zip(fields_of(value) or range(len(items)), items, strict=True))
    return None


def key_text(value: Any, key: Key) -> str:
    """The path from a node to one of its children, as JAX writes it: `[0]`, `['w']`, `.field`."""
    return f".{key}" if fields_of(value) is not None else f"[{key!r}]"


def fields_of(value: Any) -> tuple[str, ...] | None:
    """The fields of a named tuple; None of anything else."""
    return getattr(cast("Any", type(value)), "_fields", None) if isinstance(value, tuple) else None


def _sorted(keys: Iterable[Any]) -> list[Any]:
    found = list(keys)
    try:
        return sorted(found)
    except TypeError:  # JAX refuses such a dict, too
        return found


@lru_cache
def _named(name: str, fields: tuple[Key, ...]) -> Any:
    """A class of named tuples. Raises `ValueError` for what is no name."""
    words = [name, *fields]
    if not all(isinstance(word, str) and word.isidentifier() and not iskeyword(word) for word in words):
        raise ValueError(f"found the named tuple {name!r} with fields {fields}, expected identifiers")
    if any(str(field).startswith("_") for field in fields):
        raise ValueError(f"found the fields {fields} of {name}, expected names that do not begin with _")
    return namedtuple(name, cast("tuple[str, ...]", fields))


def of_jax(tree: Any, what: str) -> PlainTree:
    """The structure of a `PyTreeDef`.

    Raises `ShloDiscError` for a node of another type; `what` names the pytree.
    """
    data = tree.node_data()
    if data is None:
        return LEAF if tree.num_leaves else PlainTree("none")
    kind: Any = data[0]
    inner = tuple([of_jax(child, what) for child in tree.children()])
    if kind is tuple or kind is list:
        return PlainTree("tuple" if kind is tuple else "list", inner)
    if kind is dict and all(type(key) in {str, int} for key in data[1]):
        return PlainTree("dict", inner, tuple(data[1]))
    if kind is type(None):
        return PlainTree("none")
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return PlainTree("namedtuple", inner, tuple(kind._fields), kind.__name__)
    raise ShloDiscError(
        f"found {kind.__module__}.{kind.__qualname__} in {what}, expected tuples, named tuples, lists, None, and dicts "
        "with keys that are texts or integers: a file holds no classes\n"
        "  help: compile a function of such containers, which builds its own from them"
    )
