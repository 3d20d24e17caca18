"""Programs of which sizes become known during a call, cut into programs that find all their sizes when they start.

A segment takes what earlier segments stored, and reads from it the sizes that they computed: to the segment those are
elements of arguments. An op runs in the last segment in which somebody waits for it, so that it can be fused with what
uses it; but where its operands are, if then less is carried from one segment to the next. What costs index arithmetic
only is computed again in every segment that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.program import Body, Check, Op, Parameter, Program, RawDim, Reading, Tensor
from shlo_disc.expr.dim import Dim, Sym, of, product
from shlo_disc.passes.dce import eliminate_dead_ops

_TYPICAL = 128  # a size where bytes are compared


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a program. `inputs` are numbers of values: the arguments first, then the results of all segments.

    `last` are those of `inputs` that no caller has or gets, and no later segment takes.
    """

    program: Program
    inputs: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Segmented:
    """A program in parts, which run one after the other; `results` are numbers of values.

    `program` is the whole, without sizes that nothing needs.
    """

    program: Program
    segments: tuple[Segment, ...]
    results: tuple[int, ...]


def split(program: Program) -> Segmented:
    """Cut a program where sizes become known that it needs."""
    program = _without_needless(program)
    levels = _levels(program)
    return _Cutter(program, levels, _places(program, levels)).run()


def _without_needless(program: Program) -> Program:
    """The program without what it reads for no size and no check."""
    definitions = {symbol for _, dim in program.definitions for symbol in dim.symbols()}
    used = definitions.union(*map(_symbols, program.body.ops), *map(_of_check, program.checks))
    late = [each for each in program.late if each.symbol in used]
    read = list(dict.fromkeys(program.body.results[each.result] for each in late))
    start = len(program.returned)
    results = (*program.returned, *read)
    places = {tensor: start + k for k, tensor in enumerate(read)}
    moved = tuple([replace(each, result=places[program.body.results[each.result]]) for each in late])
    body = Body(program.body.arguments, program.body.ops, results)
    return eliminate_dead_ops(replace(program, body=body, late=moved))


@dataclass(frozen=True, slots=True)
class _Levels:
    """The first segment in which an op can run, and in which a symbol is known."""

    ops: Mapping[Op[Any], int]
    symbols: Mapping[Sym, int]
    inputs: Mapping[Op[Any], tuple[Tensor, ...]]

    def of(self, symbols: Iterable[Sym]) -> int:
        return max((self.symbols[symbol] for symbol in symbols), default=0)


def _levels(program: Program) -> _Levels:
    read = dict[Tensor, list[Sym]]()
    for each in program.late:
        read.setdefault(program.body.results[each.result], []).append(each.symbol)
    ops, inputs = dict[Op[Any], int](), dict[Op[Any], tuple[Tensor, ...]]()
    symbols = dict.fromkeys([each.symbol for each in (*program.raw_dims, *program.readings)], 0)
    tensors = dict.fromkeys((*program.body.arguments, *program.constants), 0)

    def reach(tensor: Tensor) -> None:
        symbols.update(dict.fromkeys(read.get(tensor, ()), tensors[tensor] + 1))
        for symbol, dim in program.definitions:
            if dim.symbols() <= symbols.keys():
                symbols[symbol] = max((symbols[each] for each in dim.symbols()), default=0)

    for tensor in tuple(tensors):
        reach(tensor)
    for op in program.body.ops:
        inputs[op] = _inputs(op)
        ops[op] = max((symbols[s] for s in _symbols(op)), default=0)
        ops[op] = max((ops[op], *(tensors[x] for x in inputs[op])))
        for tensor in op.results:
            tensors[tensor] = ops[op]
            if tensor in read:
                reach(tensor)
    return _Levels(ops, symbols, inputs)


def _inputs(op: Op[Any]) -> tuple[Tensor, ...]:
    """What an op reads, in its bodies too, and does not make itself."""
    found, made = dict.fromkeys(op.operands), set[Tensor]()
    for body in op.bodies:
        made.update(body.arguments)
        for inner in body.walk():
            made.update(inner.results, *(each.arguments for each in inner.bodies))
            found |= dict.fromkeys(inner.operands)
            for each in inner.bodies:
                found |= dict.fromkeys(each.results)
        found |= dict.fromkeys(body.results)
    return tuple([tensor for tensor in found if tensor not in made])


def _symbols(op: Op[Any]) -> frozenset[Sym]:
    """The sizes that an op is written in."""
    shapes = [x.shape for x in op.results]
    found = frozenset[Sym](symbol for dim in _dims((shapes, op.attrs)) for symbol in dim.symbols())
    return found.union(*(_symbols(inner) for body in op.bodies for inner in body.ops))


def _dims(value: Any) -> Iterator[Dim]:
    match value:
        case Dim():
            yield value
        case tuple() | list():
            for each in cast("Sequence[Any]", value):
                yield from _dims(each)
        case _ if is_dataclass(value):
            for each in fields(value):
                if each.init:
                    yield from _dims(getattr(value, each.name))
        case _:
            pass


def _places(program: Program, levels: _Levels) -> dict[Op[Any], int]:
    """The segment in which each op runs."""
    checks = [levels.of(_of_check(check)) for check in program.checks]
    last = max((*levels.ops.values(), *checks, *levels.symbols.values()), default=0)
    producers = {tensor: op for op in program.body.ops for tensor in op.results}
    found = dict[Op[Any], int]()
    wanted = dict.fromkeys(program.returned, last)
    for tensor in program.body.results[len(program.returned) :]:
        if tensor in producers:
            wanted[tensor] = levels.ops[producers[tensor]]
    for op in reversed(program.body.ops):
        found[op] = min(wanted.get(tensor, last) for tensor in op.results)
        for tensor in levels.inputs[op]:
            wanted[tensor] = min(wanted.get(tensor, last), found[op])
    _advance(program, levels, producers, found)
    return found


def _advance(
    program: Program, levels: _Levels, producers: Mapping[Tensor, Op[Any]], places: dict[Op[Any], int]
) -> None:
    """Let an op run where its operands are, if they need not be carried further then, and its results are no larger."""
    users = dict[Tensor, list[Op[Any]]]()
    sources = dict[Op[Any], frozenset[Tensor]]()
    for op in program.body.ops:
        stored = [sources[made] if (made := producers.get(x)) and is_free(made) else {x} for x in levels.inputs[op]]
        sources[op] = frozenset().union(*stored)
        for tensor in () if is_free(op) else sources[op]:
            users.setdefault(tensor, []).append(op)
    returned = set(program.returned)
    for op in program.body.ops:
        made = {x: producers[x] for x in sources[op] if x in producers}
        first = max((levels.ops[op], *(places[each] for each in made.values())))
        if first == places[op]:
            continue
        freed = [
            x
            for x in made
            if all(user is op or places[user] <= first for user in users.get(x, ())) and x not in returned
        ]
        if sum(map(_bytes, op.results)) <= sum(map(_bytes, freed)):
            places[op] = first


def _bytes(tensor: Tensor) -> int:
    size = product(tensor.shape)
    return size.evaluate(dict.fromkeys(size.symbols(), _TYPICAL)) * tensor.dtype.bytes


def _of_check(check: Check) -> frozenset[Sym]:
    return check.lhs.symbols() | check.rhs.symbols()


@dataclass(slots=True)
class _Part:
    """What a segment runs, takes and stores."""

    ops: set[Op[Any]]
    inputs: dict[Tensor, None]
    outputs: dict[Tensor, None]
    again: list[Tensor]  # results that a caller gets more than once


class _Cutter:
    """Makes the segments, the last one first: it says what those before it have to store."""

    def __init__(self, program: Program, levels: _Levels, places: Mapping[Op[Any], int]) -> None:
        self._program, self._levels, self._places = program, levels, places
        self._producers = {tensor: op for op in program.body.ops for tensor in op.results}
        self._arguments = {parameter.tensor: k for k, parameter in enumerate(program.parameters)}
        self._definitions = dict(program.definitions)
        self._read = {each.symbol: (program.body.results[each.result], each.element) for each in program.late}
        self._owners = {each.symbol: program.parameters[each.argument].tensor for each in program.raw_dims}
        self._owners |= {each.symbol: program.parameters[each.argument].tensor for each in program.readings}
        self._owners |= {symbol: tensor for symbol, (tensor, _) in self._read.items()}
        checks = [levels.of(_of_check(check)) for check in program.checks]
        count = 1 + max((*places.values(), *checks, *levels.symbols.values()), default=0)
        self._parts = [_Part(set(), {}, {}, []) for _ in range(count)]

    def run(self) -> Segmented:
        for tensor in self._program.returned:
            part = self._parts[self._home(tensor)]
            if tensor in part.outputs:
                part.again.append(tensor)
            part.outputs[tensor] = None
        for tensor in self._arguments:
            self._parts[0].inputs[tensor] = None  # so that all are looked at before anything runs
        for number in reversed(range(len(self._parts))):
            self._fill(number)
        numbers, returned = self._numbers()
        taken = [[numbers[tensor] for tensor in part.inputs] for part in self._parts]
        segments = list[Segment]()
        for k, part in enumerate(self._parts):
            later = {number for inputs in taken[k + 1 :] for number in inputs}
            last = [n for n in taken[k] if n >= len(self._arguments) and n not in later and n not in returned]
            segments.append(Segment(self._cut(k, part), tuple(taken[k]), tuple(last)))
        return Segmented(self._program, tuple(segments), returned)

    def _numbers(self) -> tuple[Mapping[Tensor, int], tuple[int, ...]]:
        """The numbers of all values that segments take, and of those that the caller gets."""
        start, stored, again = len(self._arguments), dict[Tensor, int](), dict[Tensor, list[int]]()
        for part in self._parts:
            for number, tensor in enumerate((*part.outputs, *part.again), start=start):
                again.setdefault(tensor, []).append(number)
                stored.setdefault(tensor, number)
            start += len(part.outputs) + len(part.again)
        returned = tuple([again[tensor].pop(0) for tensor in self._program.returned])
        return {**stored, **self._arguments}, returned

    def _home(self, tensor: Tensor) -> int:
        """The segment that stores a tensor."""
        made = self._producers.get(tensor)
        return 0 if made is None else self._places[made]

    def _fill(self, number: int) -> None:
        """Find everything that a segment runs and takes."""
        part = self._parts[number]
        waiting = [op for op in self._program.body.ops if self._places[op] == number and not is_free(op)]
        needed = [*part.inputs, *part.outputs, *(x for op in waiting for x in self._levels.inputs[op])]
        part.ops.update(waiting)
        symbols = self._symbols_of(number, part)
        seen = set[Tensor]()
        while needed or symbols:
            while symbols:
                needed += self._owner(symbols.pop())
            tensor = needed.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            symbols |= {symbol for size in tensor.shape for symbol in size.symbols()}
            made = self._producers.get(tensor)
            if made is not None and is_free(made):
                part.ops.add(made)
                needed += self._levels.inputs[made]
                symbols |= _symbols(made)
            elif tensor in self._arguments:
                part.inputs[tensor] = None
            elif made is not None and self._places[made] < number:
                part.inputs[tensor] = None
                self._parts[self._places[made]].outputs[tensor] = None

    def _symbols_of(self, number: int, part: _Part) -> set[Sym]:
        found = {symbol for op in part.ops for symbol in _symbols(op)}
        for check in self._program.checks:
            if self._levels.of(_of_check(check)) == number:
                found |= _of_check(check)
        return found

    def _owner(self, symbol: Sym) -> list[Tensor]:
        """The tensors that a symbol is known by."""
        if (definition := self._definitions.get(symbol)) is not None:
            return [tensor for each in definition.symbols() for tensor in self._owner(each)]
        return [self._owners[symbol]]

    def _cut(self, number: int, part: _Part) -> Program:
        """The program of a segment."""
        program = self._program
        taken = list(part.inputs)
        facts, parameters, raw = program.facts, list[Parameter](), list[RawDim]()
        for position, tensor in enumerate(taken):
            if (argument := self._arguments.get(tensor)) is not None:
                parameters.append(replace(program.parameters[argument], is_donated=False))
                raw += [RawDim(r.symbol, position, r.axis) for r in program.raw_dims if r.argument == argument]
                continue
            sizes = list[Dim]()
            for axis, size in enumerate(tensor.shape):
                if size.constant is None:
                    symbol = Sym(f"{self._prefix}{position}_{axis}")
                    facts = facts.assume_equal(of(symbol), size, "a segment before this one computed it", tensor.span)
                    raw.append(RawDim(symbol, position, axis))
                    size = of(symbol)  # noqa: PLW2901
                sizes.append(size)
            parameters.append(Parameter(tensor, tuple(sizes)))
        readings = self._readings(taken)
        known = {each.symbol for each in (*raw, *readings)}
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
            checks=tuple(c for c in program.checks if self._levels.of(_of_check(c)) == number),
            facts=facts,
            body=body,
            constants={tensor: array for tensor, array in program.constants.items() if tensor in used},
            readings=readings,
            late=(),
        )

    def _readings(self, taken: Sequence[Tensor]) -> tuple[Reading, ...]:
        """What a segment reads from what it takes."""
        places = {tensor: position for position, tensor in enumerate(taken)}
        found = [
            Reading(each.symbol, places[tensor], each.element)
            for each in self._program.readings
            if (tensor := self._program.parameters[each.argument].tensor) in places
        ]
        late = [Reading(s, places[t], element) for s, (t, element) in self._read.items() if t in places]
        return (*found, *late)

    @property
    def _prefix(self) -> str:
        """How the names of sizes of what is taken begin: behind all others, so that facts are solved for them."""
        prefix = "w"
        while any(symbol.name >= prefix for symbol in self._levels.symbols):
            prefix = f"z{prefix}"
        return prefix
