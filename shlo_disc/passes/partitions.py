"""Cuts a program whose sizes become known during a call into programs whose sizes are all known at their start.

A partition takes tensors that earlier partitions stored, and reads the sizes that these computed as elements of its
arguments. An op runs in the last partition that can still serve all its users, so that it can be fused with them, but
where its operands are if that carries no more from one partition to the next. An op that costs only index arithmetic is
recomputed in every partition that needs it. An op that runs programs of its own is a partition of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Parameter, Program, RawDim, Tensor, UnbackedDim, Whole
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.naming import sources
from shlo_disc.passes.dce import eliminate_dead_ops
from shlo_disc.passes.partition_scheduling import (
    Levels,
    is_outlined,
    levels_of,
    places_of,
    symbols_of,
    symbols_of_check,
)
from shlo_disc.records import record


@record
class ProgramPartition:
    """A part of a program: a program that runs once, or an op that runs programs of its own.

    `inputs` are numbers of values: the arguments first, then the results of all partitions. `last` are those inputs
    that are dead afterwards: no later partition takes them, and the caller neither holds nor receives them.
    """

    runs: Program | Op[OutlinedAttrs]
    inputs: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that the partition computes for others."""
        return self.runs.body.results if isinstance(self.runs, Program) else self.runs.results


@record
class PartitionedProgram:
    """A program as partitions that run one after the other; `results` are numbers of values.

    `program` is the whole program, without late sizes that nothing needs.
    """

    program: Program
    partitions: tuple[ProgramPartition, ...]
    results: tuple[int, ...]


def is_partitioned(program: Program) -> bool:
    """Whether a program must be cut: sizes become known while it runs, or some op runs programs of its own."""
    return bool(program.late) or any(map(is_outlined, program.body.ops))


def split(program: Program, owned: Collection[int] = ()) -> PartitionedProgram:
    """Cut a program where sizes that it needs become known. The caller has given up the arguments numbered `owned`."""
    program = _without_needless(program)
    levels = levels_of(program)
    return _Partitioner(program, levels, places_of(program, levels)).run(owned)


def _without_needless(program: Program) -> Program:
    """The program without late sizes that no op, definition or check uses."""
    definitions = {symbol for _, dim in program.definitions for symbol in dim.symbols()}
    used = definitions.union(*map(symbols_of, program.body.ops), *map(symbols_of_check, program.checks))
    late = [each for each in program.late if each.symbol in used]
    read = list(dict.fromkeys(program.body.results[each.result] for each in late))
    start = len(program.returned)
    results = (*program.returned, *read)
    places = {tensor: start + k for k, tensor in enumerate(read)}
    moved = tuple([replace(each, result=places[program.body.results[each.result]]) for each in late])
    body = Body(program.body.arguments, program.body.ops, results)
    return eliminate_dead_ops(replace(program, body=body, late=moved))


@dataclass(slots=True)
class _Part:
    """What a partition runs, takes and stores. An op that runs programs is a part of its own."""

    outlined: Op[OutlinedAttrs] | None = None
    ops: set[Op[Any]] = field(default_factory=set[Op[Any]])
    inputs: dict[Tensor, None] = field(default_factory=dict[Tensor, None])
    outputs: dict[Tensor, None] = field(default_factory=dict[Tensor, None])
    again: list[Tensor] = field(default_factory=list[Tensor])  # results that a caller gets more than once

    @property
    def takes(self) -> Sequence[Tensor]:
        """What the partition takes, in order."""
        return tuple(self.inputs) if self.outlined is None else self.outlined.operands

    @property
    def gives(self) -> Sequence[Tensor]:
        """What the partition computes, in order."""
        return (*self.outputs, *self.again) if self.outlined is None else self.outlined.results


class _Partitioner:
    """Builds the partitions from last to first, as each determines what those before it must store."""

    def __init__(self, program: Program, levels: Levels, places: Mapping[Op[Any], int]) -> None:
        self._program, self._levels, self._places = program, levels, places
        self._whole = Whole(program)
        self._producers = {tensor: op for op in program.body.ops for tensor in op.results}
        self._arguments = {parameter.tensor: k for k, parameter in enumerate(program.parameters)}
        self._order = {tensor: k for k, tensor in enumerate((*self._arguments, *self._producers))}
        self._read = {each.symbol: (program.body.results[each.result], each.element) for each in program.late}
        self._owners = {each.symbol: program.parameters[each.argument].tensor for each in program.raw_dims}
        self._owners |= {each.symbol: program.parameters[each.argument].tensor for each in program.unbacked_dims}
        self._owners |= {symbol: tensor for symbol, (tensor, _) in self._read.items()}
        self._deciding = {tensor for tensor, _ in self._read.values()}  # whose elements are sizes
        self._checks = [levels.of(symbols_of_check(check)) for check in program.checks]
        self._outlined = {op: _Part(op) for op in program.body.ops if is_outlined(op)}
        after = [places[op] + 1 for op in self._outlined]
        count = 1 + max((*places.values(), *self._checks, *levels.symbols.values(), *after), default=0)
        self._parts = [_Part() for _ in range(count)]

    def run(self, owned: Collection[int]) -> PartitionedProgram:
        for tensor in self._program.returned:
            self._give(tensor)
        for tensor in self._arguments:
            self._parts[0].inputs[tensor] = None  # so that all are examined before anything runs
        for number in reversed(range(len(self._parts))):
            for op in self._outlined_of(number):
                for tensor in op.operands:
                    self._store(tensor)
            self._fill(number)
        parts = self._in_order()
        numbers, returned = self._numbers(parts)
        taken = [[numbers[tensor] for tensor in part.takes] for _, part in parts]
        partitions = list[ProgramPartition]()
        for k, (number, part) in enumerate(parts):
            later = {taken_later for inputs in taken[k + 1 :] for taken_later in inputs}
            own = {n for n in taken[k] if n >= len(self._arguments) or n in owned}
            last = own.difference(later, returned)
            runs = self._cut(number, part) if part.outlined is None else part.outlined
            partitions.append(ProgramPartition(runs, tuple(taken[k]), tuple(sorted(last))))
        return PartitionedProgram(self._program, tuple(partitions), returned)

    def _give(self, tensor: Tensor) -> None:
        """Return a tensor to the caller, possibly more than once."""
        made = self._producers.get(tensor)
        part = self._outlined[made] if made is not None and is_outlined(made) else self._parts[self._home(tensor)]
        if tensor in part.outputs:
            if part.outlined is not None:  # it cannot return a copy: the last partition makes it
                part = self._parts[-1]
                part.inputs[tensor] = None
            part.again.append(tensor)
        part.outputs.setdefault(tensor)

    def _store(self, tensor: Tensor) -> None:
        """Make the partition that computes a tensor store it, unless it is an argument or an outlined op's result."""
        made = self._producers.get(tensor)
        if tensor not in self._arguments and made not in self._outlined:
            self._parts[self._home(tensor)].outputs[tensor] = None

    def _outlined_of(self, number: int) -> Sequence[Op[OutlinedAttrs]]:
        """The outlined ops that run after the ordinary ops of a partition."""
        return [op for op in self._outlined if self._places[op] == number]

    def _in_order(self) -> Sequence[tuple[int, _Part]]:
        """The parts in execution order, each with its level, without empty ones."""
        found = list[tuple[int, _Part]]()
        for number, part in enumerate(self._parts):
            if not number or part.ops or part.outputs or part.again or number in self._checks:
                found.append((number, part))
            found += [(number, self._outlined[op]) for op in self._outlined_of(number)]
        return found

    def _numbers(self, parts: Sequence[tuple[int, _Part]]) -> tuple[Mapping[Tensor, int], tuple[int, ...]]:
        """The numbers of all values that partitions take, and of those returned to the caller."""
        start, stored, again = len(self._arguments), dict[Tensor, int](), dict[Tensor, list[int]]()
        for _, part in parts:
            for number, tensor in enumerate(part.gives, start=start):
                again.setdefault(tensor, []).append(number)
                stored.setdefault(tensor, number)
            start += len(part.gives)
        returned = tuple([again[tensor].pop(0) for tensor in self._program.returned])
        return {**stored, **self._arguments}, returned

    def _home(self, tensor: Tensor) -> int:
        """The partition that stores a tensor."""
        made = self._producers.get(tensor)
        return 0 if made is None else self._places[made]

    def _fill(self, number: int) -> None:
        """Find everything that a partition runs and takes."""
        part = self._parts[number]
        here = [op for op in self._program.body.ops if self._places[op] == number and not is_free(op)]
        waiting = [op for op in here if not is_outlined(op)]
        needed = [*part.inputs, *part.outputs, *(x for op in waiting for x in self._levels.inputs[op])]
        part.ops.update(waiting)
        symbols = self._needed_by(number, part)
        seen, taken, met = set[Tensor](), list[Tensor](), set[Sym]()
        while needed or symbols or (symbols := set(self._program.facts.reached(met) - met)):
            while symbols:
                met.add(symbol := symbols.pop())
                needed += self._owner(symbol)
            if not needed:
                continue
            tensor = needed.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            symbols |= {symbol for size in tensor.shape for symbol in size.symbols()} - met
            made = self._producers.get(tensor)
            if made is not None and is_free(made) and not self._is_handed_on(tensor, number):
                part.ops.add(made)
                needed += self._levels.inputs[made]
                symbols |= symbols_of(made) - met
            elif tensor in self._arguments or (made is not None and self._places[made] < number):
                taken.append(tensor)
        for tensor in sorted(taken, key=self._order.__getitem__):  # sets of symbols are in hash order
            part.inputs[tensor] = None
            self._store(tensor)

    def _is_handed_on(self, tensor: Tensor, number: int) -> bool:
        """Whether sizes are read from a tensor of an earlier partition, which is then taken and not recomputed."""
        return tensor in self._deciding and self._home(tensor) < number

    def _needed_by(self, number: int, part: _Part) -> set[Sym]:
        found = {symbol for op in part.ops for symbol in symbols_of(op)}
        for check, level in zip(self._program.checks, self._checks, strict=True):
            if level == number:
                found |= symbols_of_check(check)
        return found

    def _owner(self, symbol: Sym) -> list[Tensor]:
        """The tensors that determine a symbol."""
        return [self._owners[each] for each in sources([symbol], self._program.definitions) if each in self._owners]

    def _cut(self, number: int, part: _Part) -> Program:
        """The program of a partition."""
        program = self._program
        taken = list(part.inputs)
        facts, parameters, raw = program.facts, list[Parameter](), list[RawDim]()
        for position, tensor in enumerate(taken):
            if (argument := self._arguments.get(tensor)) is not None:
                parameters.append(replace(program.parameters[argument], is_marked_donated=False))
                raw += [RawDim(r.symbol, position, r.axis) for r in program.raw_dims if r.argument == argument]
                continue
            sizes = list[Dim]()
            for axis, size in enumerate(tensor.shape):
                if size.constant is None:
                    symbol = Sym(f"{self._prefix}{position}_{axis}")
                    facts = facts.assume_equal(of(symbol), size, "a partition before this one computed it", tensor.span)
                    raw.append(RawDim(symbol, position, axis))
                    size = of(symbol)  # noqa: PLW2901
                sizes.append(size)
            parameters.append(Parameter(tensor, tuple(sizes)))
        unbacked_dims = self._unbacked_dims(taken)
        known = {each.symbol for each in (*raw, *unbacked_dims)}
        definitions = list[tuple[Sym, Dim]]()
        for symbol, dim in program.definitions:
            if dim.symbols() <= known:
                known.add(symbol)
                definitions.append((symbol, dim))
        ops = tuple([op for op in program.body.ops if op in part.ops])
        body = Body(tuple(taken), ops, (*part.outputs, *part.again))
        used = {tensor for op in ops for tensor in self._levels.inputs[op]}.union(part.outputs)
        return replace(
            program,
            parameters=tuple(parameters),
            raw_dims=tuple(raw),
            definitions=tuple(definitions),
            checks=tuple([c for c, level in zip(program.checks, self._checks, strict=True) if level == number]),
            facts=facts,
            body=body,
            constants={tensor: array for tensor, array in program.constants.items() if tensor in used},
            unbacked_dims=unbacked_dims,
            late=(),
            notes=() if number else program.notes,  # of the whole program: once
            within=self._whole,
        )

    def _unbacked_dims(self, taken: Sequence[Tensor]) -> tuple[UnbackedDim, ...]:
        """The sizes that a partition reads from elements of what it takes."""
        places = {tensor: position for position, tensor in enumerate(taken)}
        found = [
            UnbackedDim(each.symbol, places[tensor], each.element)
            for each in self._program.unbacked_dims
            if (tensor := self._program.parameters[each.argument].tensor) in places
        ]
        late = [UnbackedDim(s, places[t], element) for s, (t, element) in self._read.items() if t in places]
        return (*found, *late)

    @property
    def _prefix(self) -> str:
        """The name prefix of sizes of inputs, which sorts after all other names, so that facts are solved for them."""
        prefix = "w"
        while any(symbol.name >= prefix for symbol in self._levels.symbols):
            prefix = f"z{prefix}"
        return prefix
