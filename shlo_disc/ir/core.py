"""Structure of a StableHLO module: how ops connect, not what they mean.

The tree keeps everything in the text, so that printing it reproduces the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from shlo_disc.diagnostics import Span
from shlo_disc.ir.attributes import (
    Attribute,
    FunctionType,
    Location,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from shlo_disc.records import record

__all__ = [
    "Block",
    "Declaration",
    "Function",
    "FunctionType",
    "Module",
    "Op",
    "Region",
    "TensorType",
    "TokenType",
    "TupleType",
    "Type",
    "Value",
]

_SHOWN = 60  # lines of a module in a notebook


@record(eq=False)
class Value:
    """One SSA value. Two values are the same only if they are the same object."""

    name: str  # without the %; the k-th of several results of one op is `5#k`
    type: Type
    span: Span
    location: Location | None = None


@record(eq=False)
class Block:
    """A list of ops with arguments; the last op is the terminator (`return`)."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]


@record(eq=False)
class Region:
    """The body of an op."""

    blocks: tuple[Block, ...]

    @property
    def block(self) -> Block:
        """The only block; StableHLO has no region with several."""
        (block,) = self.blocks
        return block


@record(eq=False)
class Op:
    """One operation, by its full name (`stablehlo.add`, `func.call`)."""

    name: str
    operands: tuple[Value, ...]
    attributes: Mapping[str, Attribute]
    results: tuple[Value, ...]
    regions: tuple[Region, ...]
    span: Span
    location: Location | None = None


@record(eq=False)
class Function:
    """One `func.func`."""

    name: str
    type: FunctionType
    body: Block
    visibility: str | None
    argument_attributes: tuple[Mapping[str, Attribute], ...]
    result_attributes: tuple[Mapping[str, Attribute], ...]
    attributes: Mapping[str, Attribute]
    span: Span
    location: Location | None = None

    def walk(self) -> Iterator[Op]:
        """Every op of the function, outer before inner, in text order."""
        yield from _walk(self.body)

    def values(self) -> Iterator[Value]:
        """Every value of the function: arguments, results of ops, arguments of regions."""
        yield from self.body.arguments
        for op in self.walk():
            yield from op.results
            for region in op.regions:
                for block in region.blocks:
                    yield from block.arguments

    def value(self, name: str) -> Value:
        """The first value named `%name` in the text; the `%` may be left out."""
        wanted = name.removeprefix("%")
        found = next((value for value in self.values() if value.name == wanted), None)
        if found is None:
            raise KeyError(f"no value %{wanted} in @{self.name}")
        return found

    def producers(self) -> Mapping[Value, Op]:
        """The op that produces each value; arguments have none."""
        return {result: op for op in self.walk() for result in op.results}

    def users(self) -> Mapping[Value, tuple[Op, ...]]:
        """The ops that take each value as an operand, in text order; values that no op takes are left out."""
        found = dict[Value, dict[Op, None]]()
        for op in self.walk():
            for operand in op.operands:
                found.setdefault(operand, {})[op] = None
        return {value: tuple(ops) for value, ops in found.items()}


@record(eq=False)
class Declaration:
    """A `func.func` without a body."""

    name: str
    type: FunctionType
    visibility: str | None
    argument_attributes: tuple[Mapping[str, Attribute], ...]
    result_attributes: tuple[Mapping[str, Attribute], ...]
    attributes: Mapping[str, Attribute]
    span: Span
    location: Location | None = None


@record(eq=False)
class Module:
    """One `module`, in text order: functions, declarations, and ops that stand beside them (`sdy.mesh`).

    `resources` is the section `{-# … #-}` that belongs to it, as it was written.
    """

    name: str | None
    contents: tuple[Function | Declaration | Op, ...]
    attributes: Mapping[str, Attribute]
    span: Span
    location: Location | None = None
    location_aliases: Mapping[str, Location] = field(default_factory=dict[str, Location])
    printer: Callable[[Module], str] = object.__repr__  # set by the parser, as ir is independent of syntax
    resources: str = ""
    functions: Mapping[str, Function] = field(init=False)  # by name

    def __post_init__(self) -> None:
        functions = {one.name: one for one in self.contents if isinstance(one, Function)}
        object.__setattr__(self, "functions", functions)

    def __repr__(self) -> str:
        ops = sum(1 for _ in self.walk())
        return f"<Module {self.name or 'without a name'}: {len(self.functions)} functions, {ops} ops>"

    def __str__(self) -> str:
        """Print the module as StableHLO text, without locations."""
        return self.printer(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the text, or its first lines."""
        from html import escape  # noqa: PLC0415  only notebooks need it

        lines = str(self).splitlines()
        more = [f"... {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
        return f"<pre>{escape(chr(10).join([*lines[:_SHOWN], *more]))}</pre>"

    def walk(self) -> Iterator[Op]:
        """Visit every op of every function.

        Returns:
            The ops in text order, outer before inner.
        """
        for function in self.functions.values():
            yield from function.walk()

    def find(self, name: str) -> tuple[Op, ...]:
        """Find the ops of a name.

        Args:
            name: with its dialect, such as `"stablehlo.tanh"`.

        Returns:
            The ops in text order.
        """
        return tuple([op for op in self.walk() if op.name == name])

    def with_function(self, function: Function) -> Module:
        """Replace the function that has the same name.

        Args:
            function: the new one.

        Returns:
            Another module; this one is unchanged.
        """
        contents = [function if isinstance(c, Function) and c.name == function.name else c for c in self.contents]
        return replace(self, contents=tuple(contents))


def _walk(block: Block) -> Iterator[Op]:
    waiting = [iter(block.ops)]
    while waiting:
        op = next(waiting[-1], None)
        if op is None:
            waiting.pop()
            continue
        yield op
        for region in reversed(op.regions):
            waiting.extend([iter(inner.ops) for inner in reversed(region.blocks)])
