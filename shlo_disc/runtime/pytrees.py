"""The structure of a pytree, for C code that flattens and rebuilds it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple, cast


class NodeKind(IntEnum):
    """The kind of a node: `ShloTreeKind` of call.h."""

    LEAF = 0
    TUPLE = 1
    LIST = 2
    DICT = 3
    NONE = 4


class TreeNode(NamedTuple):
    """A node, which stands before its children."""

    kind: NodeKind
    children: int = 0
    keys: tuple[object, ...] = ()  # of a dict


class Tree(NamedTuple):
    """A pytree: all nodes, each before its children, and the numbers of the leaves among them."""

    nodes: tuple[TreeNode, ...]
    leaves: tuple[int, ...]


def read_tree(example: object) -> Tree | None:
    """The structure of an example whose leaves are ints; None if it has nodes of other types.

    >>> read_tree((0, {"b": [1], "a": None})).leaves
    (0, 1)
    >>> read_tree(range(3))
    """
    try:
        nodes, leaves = zip(*_visit(example), strict=True)
    except TypeError:
        return None
    return Tree(nodes, tuple([leaf for leaf in leaves if leaf is not None]))


def _visit(example: object) -> Iterator[tuple[TreeNode, int | None]]:
    """Raises `TypeError` for a node of another type."""
    kind = type(example)
    if kind is int:
        yield TreeNode(NodeKind.LEAF), cast("int", example)
        return
    if example is None:
        yield TreeNode(NodeKind.NONE), None
        return
    if kind is dict:
        named = cast("dict[object, object]", example)
        children = list(named.values())
        yield TreeNode(NodeKind.DICT, len(named), tuple(named)), None
    elif kind in {tuple, list}:
        children = list(cast("list[object]", example))
        yield TreeNode(NodeKind.TUPLE if kind is tuple else NodeKind.LIST, len(children)), None
    else:
        raise TypeError(kind)
    for child in children:
        yield from _visit(child)
