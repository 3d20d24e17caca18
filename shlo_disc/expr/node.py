"""What dims and scalars share: immutable trees whose hash is computed once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An immutable expression node; equal structure compares equal.

    Expressions are graphs with much sharing. A plain dataclass would hash the whole tree at every
    look-up; here each node keeps its hash, and equality of equal graphs stops at shared children.
    """

    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self).__name__, *self.parts())))

    def parts(self) -> tuple[object, ...]:
        """The fields that make up this node's identity."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name != "_hash")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or self._hash != other._hash or type(self) is not type(other):
            return False
        return self.parts() == other.parts()
