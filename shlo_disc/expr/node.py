"""What dims and scalars share: immutable trees whose hash is computed once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An immutable expression node; equal structure compares equal.

    Expressions are graphs with much sharing. A plain dataclass would hash the whole tree at every
    look-up; here each node keeps its hash, and equality of equal graphs stops at shared children. Of two graphs
    that were built apart, nodes that were found equal have the same `_twin` at the end of their chain: without it,
    each way from the root to a node would be compared.
    """

    _hash: int = field(init=False, repr=False)
    _twin: Node = field(init=False, repr=False)  # is not set before an equal node is met

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

    All nodes on the way are made to point to it: each look-up with a node that was built anew lengthens the chain.
    """
    last = node
    while (twin := getattr(last, "_twin", None)) is not None:
        last = twin
    while node is not last:
        following = node._twin  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        object.__setattr__(node, "_twin", last)
        node = following
    return last
