"""A program with inputs, and edits that make it smaller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.ir.attributes import DenseAttr, FunctionType, SymbolAttr, TensorType
from shlo_disc.ir.core import Block, Function, Module, Op, Region, Value
from shlo_disc.records import record

Array: TypeAlias = NDArray[Any]

_CALLS: Mapping[str, str] = {"func.call": "callee", "stablehlo.composite": "decomposition"}
_MOST_INLINED = 10_000  # ops copied at most: inlining a recursive function would not end


@record(eq=False)
class CheckedCall:
    """A module and the arrays that its `@main` is called with."""

    module: Module
    inputs: tuple[Array, ...]

    @property
    def main(self) -> Function:
        return self.module.functions["main"]

    @property
    def ops(self) -> tuple[Op, ...]:
        """The top-level ops of `@main`, without the return."""
        return self.main.body.ops[:-1]

    @property
    def results(self) -> tuple[Value, ...]:
        return self.main.body.ops[-1].operands

    @property
    def size(self) -> int:
        """The number of ops, including those of regions and functions, without returns."""
        return sum(not op.name.endswith(".return") for op in self.module.walk())


@record
class Change:
    """An edit of a case; ops that become dead are removed, too.

    `results`: the values that `@main` returns instead. `given`: values that become arguments. `replaced`: values that
    are replaced by others of the same type. `entered`: ops that are replaced by their region of that number, run once
    on their operands. `folded`: values that become constants. `inline`: calls are replaced by the bodies of functions.
    """

    results: Sequence[Value] | None = None
    given: Mapping[Value, Array] = field(default_factory=dict[Value, Array])
    replaced: Mapping[Value, Value] = field(default_factory=dict[Value, Value])
    entered: Mapping[Op, int] = field(default_factory=dict[Op, int])
    folded: Mapping[Value, Array] = field(default_factory=dict[Value, Array])
    inline: bool = False


def changed(case: CheckedCall, change: Change) -> CheckedCall:
    """Apply a change, under new names. The result may be invalid StableHLO."""
    main, copier = case.main, _Copier(case.module, change)
    results = case.results if change.results is None else change.results
    wanted = [copier.source(value) for value in results]
    kept, used = _needed(case.ops, wanted, copier)
    arrays = [*zip(main.body.arguments, case.inputs, strict=True), *change.given.items()]
    arguments: list[tuple[Value, Array]] = [(value, array) for value, array in arrays if value in used]
    places = [copier.define(value, f"arg{number}") for number, (value, _) in enumerate(arguments)]
    ops = copier.ops(kept)
    returned = tuple([copier.now(value) for value in wanted])
    end = replace(main.body.ops[-1], operands=returned)
    types = FunctionType(tuple([value.type for value in places]), tuple([value.type for value in returned]))
    function = replace(
        main,
        type=types,
        body=Block(tuple(places), (*ops, end)),
        argument_attributes=({},) * len(places),
        result_attributes=({},) * len(returned),
    )
    module = case.module.with_function(function)
    return CheckedCall(_without_unreachable(module), tuple([array for _, array in arguments]))


def observable(case: CheckedCall) -> tuple[Value, ...]:
    """The values of `@main` that could be returned: tensors that its top-level ops compute."""
    return tuple([v for op in case.ops for v in op.results if isinstance(v.type, TensorType) and not v.type.encoding])


def taken(op: Op) -> Iterator[Value]:
    """The values that an op uses, including the operands of all ops in its regions."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from taken(inner)


def _needed(ops: Iterable[Op], wanted: Iterable[Value], copier: _Copier) -> tuple[list[Op], set[Value]]:
    """The ops that the wanted values depend on, and all values used."""
    used, kept = set(wanted), list[Op]()
    for op in reversed(tuple(ops)):
        if any(result in used and not copier.is_given(result) for result in op.results):
            kept.append(op)
            used.update(copier.source(value) for value in copier.taken(op))
    return kept[::-1], used


class _Copier:
    """Copies ops under new names, and applies a change to them."""

    def __init__(self, module: Module, change: Change) -> None:
        self._functions = module.functions
        self._change = change
        self._values = dict[Value, Value]()
        self._names = map(str, count())
        self._copied = 0

    def source(self, value: Value) -> Value:
        """The old value that replaces an old one; the value itself if none does."""
        while value in self._change.replaced:
            value = self._change.replaced[value]
        return value

    def is_given(self, value: Value) -> bool:
        return value in self._change.given

    def now(self, value: Value) -> Value:
        """The copy of an old value."""
        source = self.source(value)
        return self._values.get(source, source)

    def taken(self, op: Op) -> Iterator[Value]:
        """The values that an op uses; none if it becomes a constant."""
        return iter(()) if op.results and op.results[0] in self._change.folded else taken(op)

    def define(self, value: Value, name: str) -> Value:
        """Make the copy of an old value."""
        self._values[value] = made = replace(value, name=name, location=None)
        return made

    def ops(self, ops: Iterable[Op]) -> list[Op]:
        """Copy a list of ops."""
        made = list[Op]()
        for op in ops:
            self._copied += 1
            if op.results and op.results[0] in self._change.folded:
                made += map(self._constant, op.results)
                continue
            if self._copied > _MOST_INLINED:
                raise RecursionError("found a function that calls itself, expected none")
            inner = self._inner(op)
            if inner is None:
                made.append(self._op(op))
                continue
            arguments = [self.now(value) for value in op.operands]
            self._values.update(zip(inner.arguments, arguments, strict=False))  # branches have no arguments
            made += self.ops(inner.ops[:-1])
            ends = [self.now(value) for value in inner.ops[-1].operands]
            self._values.update(zip(op.results, ends, strict=True))
        return made

    def _constant(self, value: Value) -> Op:
        """The constant op of a folded value."""
        array, type_ = self._change.folded[value], value.type
        assert isinstance(type_, TensorType), "what was computed is a tensor"
        literal = DenseAttr(type_, np.ascontiguousarray(array).tobytes(), splat=array.size == 1)
        made = self.define(value, next(self._names))
        return Op("stablehlo.constant", (), {"value": literal}, (made,), (), value.span)

    def _inner(self, op: Op) -> Block | None:
        """The block that replaces an op, if any."""
        if op in self._change.entered:
            return op.regions[self._change.entered[op]].block
        callee = op.attributes.get(_CALLS.get(op.name, ""))
        if self._change.inline and isinstance(callee, SymbolAttr) and callee.name in self._functions:
            return self._functions[callee.name].body
        return None

    def _op(self, op: Op) -> Op:
        operands = tuple([self.now(value) for value in op.operands])
        regions = tuple([Region(tuple(map(self._block, region.blocks))) for region in op.regions])
        stem = next(self._names) if op.results else ""
        several = len(op.results) > 1
        results = list[Value]()
        for number, value in enumerate(op.results):
            name = f"{stem}#{number}" if several else stem
            made = replace(value, name=name, location=None)
            if not self.is_given(value):
                self._values[value] = made
            results.append(made)
        return replace(op, operands=operands, regions=regions, results=tuple(results), location=None)

    def _block(self, block: Block) -> Block:
        arguments = tuple([self.define(value, next(self._names)) for value in block.arguments])
        end = block.ops[-1]
        kept, _ = _needed(block.ops[:-1], [self.source(value) for value in end.operands], self)
        return Block(arguments, (*self.ops(kept), self._op(end)))


def _without_unreachable(module: Module) -> Module:
    """Remove functions that `@main` does not reach."""
    waiting, reached = ["main"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in reached or name not in module.functions:
            continue
        reached.add(name)
        for op in module.functions[name].walk():
            waiting += [attribute.name for attribute in op.attributes.values() if isinstance(attribute, SymbolAttr)]
    contents = [one for one in module.contents if not isinstance(one, Function) or one.name in reached]
    return replace(module, contents=tuple(contents))
