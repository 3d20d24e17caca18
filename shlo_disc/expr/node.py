"""The base of dims and scalars: immutable nodes whose hash is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields
from enum import Enum
from hashlib import sha256
from typing import cast

from shlo_disc.records import record


@record(eq=False)
class Node:
    """An immutable expression node; equal structure compares equal.

    Expressions are graphs with much sharing. A plain dataclass would hash the whole tree at every look-up; here each
    node keeps its hash, and equality of equal graphs stops at shared children. In graphs that were built separately,
    nodes that were found equal are linked by `_twin` to one end of a chain, as in union-find: without it, a node would
    be compared once for every path from the root.
    """

    _hash: int = field(init=False, repr=False)
    _twin: Node = field(init=False, repr=False)  # set when an equal node is found
    _structure: tuple[int, str] = field(init=False, repr=False)  # set when `spelled` needs it

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self).__name__, *self.parts())))

    def parts(self) -> tuple[object, ...]:
        """The fields that make up this node's identity."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or self._hash != other._hash or type(self) is not type(other):
            return False
        one, two = _last(self), _last(other)
        if one is two:
            return True
        if self.parts() != other.parts():
            return False
        object.__setattr__(one, "_twin", two)
        return True


def _last(node: Node) -> Node:
    """The end of the chain of nodes that were found equal to this one.

    All nodes on the way are made to point to it (path compression): each look-up with a new node lengthens the chain.
    """
    last = node
    while (twin := getattr(last, "_twin", None)) is not None:
        last = twin
    while node is not last:
        following = node._twin  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        object.__setattr__(node, "_twin", last)
        node = following
    return last


_MOST_SPELLED = 64  # nodes, each counted once for every way to it


def spelled(node: Node) -> str:
    """The text of an expression, if that is short; else a digest of its structure. Both are the same in every run.

    Text expands a graph with much sharing into a tree, which may not fit into memory.
    """
    count, name = _structure_of(node)
    return repr(node) if count <= _MOST_SPELLED else f"#{name}"


def _structure_of(node: Node) -> tuple[int, str]:
    """The number of nodes on all paths from a node, itself included, with a cap, and a digest of its structure."""
    waiting = [node]
    while waiting:
        last = waiting[-1]
        inside = list(_nodes_in(last.parts()))
        if new := [one for one in inside if _known(one) is None]:
            waiting += new
            continue
        waiting.pop()
        if _known(last) is None:
            count = 1 + sum(_known_structure(one)[0] for one in inside)
            name = sha256(f"{type(last).__name__}{_name(last.parts())}".encode()).hexdigest()[:32]
            object.__setattr__(last, "_structure", (min(count, _MOST_SPELLED + 1), name))
    return _known_structure(node)


def _known(node: Node) -> tuple[int, str] | None:
    return getattr(node, "_structure", None)


def _known_structure(node: Node) -> tuple[int, str]:
    found = _known(node)
    assert found is not None, "the structure of what is inside is known first"
    return found


def _nodes_in(part: object) -> Iterator[Node]:
    """The nodes in a part of a node, also in nested tuples."""
    if isinstance(part, Node):
        yield part
    elif isinstance(part, tuple):
        for each in cast("tuple[object, ...]", part):
            yield from _nodes_in(each)


def _name(part: object) -> str:
    """A part of a node as text, with digests for the nodes in it."""
    if isinstance(part, Node):
        return _known_structure(part)[1]
    if isinstance(part, tuple):
        return f"({', '.join(map(_name, cast('tuple[object, ...]', part)))})"
    return part.name if isinstance(part, Enum) else repr(part)
