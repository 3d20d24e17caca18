"""Facts and decisions of the compiler as plain data, for `explain` and for the report in a browser."""

from __future__ import annotations

from collections.abc import Iterator

from shlo_disc.records import record
from shlo_disc.size_expr import SizeExpr


@record
class FactText:
    """Something that holds for every call, and why.

    `subject`: the symbol, or the value of the program and its dim, that the fact is about. `where` is a line of the
    StableHLO text, `origin` the user's line of Python (or empty). `because`: numbers of the facts that it follows from.
    """

    subject: str
    text: str
    reason: str
    where: str
    origin: str = ""
    because: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """The user's line if it is known, else that of the text."""
        return self.origin or self.where

    def __str__(self) -> str:
        return f"{self.text}, because {self.reason} at {self.place}"


@record
class ShapeText:
    """The shape of one value of the program, and its derivation; `all_facts` expands it to facts.

    An integer tensor that gives sizes has its elements as `dims`. `because`: for each dim its source dims, as (number
    of a shape, axis), and facts, as (-1, number).
    """

    value: str
    dims: tuple[str, ...]
    reason: str
    where: str
    origin: str
    because: tuple[tuple[tuple[int, int], ...], ...]
    is_integer: bool = False

    def subject(self, axis: int) -> str:
        """What a dim belongs to: an axis of the value, or an element of an integer tensor."""
        if self.is_integer:
            return self.value if len(self.dims) == 1 else f"{self.value}[{axis}]"
        return f"{self.value} dim {axis}"


@record
class OpText:
    """One op of a group: what it is called, what it computes, its line of the StableHLO text, and the user's line.

    `inlined`: it costs index arithmetic only, and is computed where its result is used. `origin` may be empty.
    """

    name: str
    text: str
    line: int
    origin: str
    inlined: bool


@record
class DecisionText:
    """One reason that merged values into a group, or kept them out of it."""

    merged: bool
    reason: str
    values: tuple[str, ...]


@record
class GroupText:
    """A group that became one launch, a loop or a branch.

    `rows` is its row space, if it has one; `roots` are the tensors that it stores. `body` counts the bodies of the
    program: 0 is the main one, another is inside of the group `parent`. `reads` and `writes` are slots. The bytes that
    it moves and its floating-point operations (see `kernels/flops.py`) are formulas of the sizes; a loop or branch
    costs what is inside of it.
    """

    kind: str
    rows: str
    roots: tuple[str, ...]
    body: int
    parent: int | None
    ops: tuple[OpText, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    bytes_read: SizeExpr
    bytes_written: SizeExpr
    flops: SizeExpr
    decisions: tuple[DecisionText, ...]


@record
class SizesText:
    """The sizes that a caller chooses; all others are formulas of their names.

    `raw`: the size of each raw symbol of the artifact. `points`: likely values of `names`, each in that order.
    `auxiliary`: names that the compiler gave to quotients of them.
    """

    names: tuple[str, ...] = ()
    raw: tuple[SizeExpr, ...] = ()
    points: tuple[tuple[int, ...], ...] = ()
    auxiliary: tuple[str, ...] = ()


@record
class BufferText:
    """A buffer of the arena: its tensor, where it starts and how many bytes it has, in the user's sizes."""

    slot: int
    tensor: str
    offset: SizeExpr
    size: SizeExpr


@record
class ReportModel:
    """Data for reports on a compiled program, beyond those in the artifact itself.

    `steps` has the number of the group of every step of the artifact (a loop before its condition and body, a case
    before its branches); None for copies. `arena`: the bytes of all `buffers` together. `notes`: what passes decided
    for the whole program.
    """

    facts: tuple[FactText, ...] = ()
    sizes: SizesText = SizesText()
    groups: tuple[GroupText, ...] = ()
    steps: tuple[int | None, ...] = ()
    shapes: tuple[ShapeText, ...] = ()
    arena: SizeExpr = 0
    buffers: tuple[BufferText, ...] = ()
    notes: tuple[str, ...] = ()

    def dims(self) -> Iterator[tuple[int, ShapeText, int]]:
        """Every dim of a value that is not constant: its number in `all_facts`, its shape, its axis."""
        places = ((shape, axis) for shape in self.shapes for axis, dim in enumerate(shape.dims) if _varies(dim))
        for number, (shape, axis) in enumerate(places, start=len(self.facts)):
            yield number, shape, axis

    def names(self) -> dict[int, str]:
        """The user's names of tensors that groups store, with shapes, by slot."""
        told = (group for group in self.groups if len(group.writes) == len(group.roots))
        return {slot: label for group in told for slot, label in zip(group.writes, group.roots, strict=True)}

    def all_facts(self) -> tuple[FactText, ...]:
        """The facts, then one for every dim of a value that is not constant, expanded from `shapes`."""
        order = {id(shape): k for k, shape in enumerate(self.shapes)}
        numbers = {(order[id(shape)], axis): number for number, shape, axis in self.dims()}
        found = list(self.facts)
        for _, shape, axis in self.dims():
            because = tuple(place[1] if place[0] < 0 else numbers[place] for place in shape.because[axis])
            subject = shape.subject(axis)
            text = f"{subject} = {shape.dims[axis]}"
            found.append(FactText(subject, text, shape.reason, shape.where, shape.origin, because))
        return tuple(found)


def _varies(dim: str) -> bool:
    return not dim.lstrip("-").isdigit()
