"""Partition scheduling: the first partition in which each op of a program can run, and the one in which it does.

Partition k begins with ordinary ops, followed by the ops of level k that run programs of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeGuard, cast

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.program import Check, Op, Program, Tensor
from shlo_disc.expr.dim import Dim, Sym, product
from shlo_disc.records import record

_TYPICAL = 128  # a size where bytes are compared


def is_outlined(op: Op[Any]) -> TypeGuard[Op[OutlinedAttrs]]:
    """Whether an op runs programs of its own, which makes it a partition."""
    return isinstance(op.attrs, OutlinedAttrs)


@record
class Levels:
    """The first partition in which an op can run or a symbol is known. `inputs`: the tensors that each op reads."""

    ops: Mapping[Op[Any], int]
    symbols: Mapping[Sym, int]
    inputs: Mapping[Op[Any], tuple[Tensor, ...]]

    def of(self, symbols: Iterable[Sym]) -> int:
        return max((self.symbols[symbol] for symbol in symbols), default=0)


def levels_of(program: Program) -> Levels:
    """Find the levels of a program: what depends on a size that is read from a tensor of level k has level k + 1."""
    read = dict[Tensor, list[Sym]]()
    for each in program.late:
        read.setdefault(program.body.results[each.result], []).append(each.symbol)
    ops, inputs = dict[Op[Any], int](), dict[Op[Any], tuple[Tensor, ...]]()
    symbols = dict.fromkeys([each.symbol for each in (*program.raw_dims, *program.unbacked_dims)], 0)
    tensors = dict.fromkeys((*program.body.arguments, *program.constants), 0)

    def reach(tensor: Tensor, later: int = 1) -> None:
        symbols.update(dict.fromkeys(read.get(tensor, ()), tensors[tensor] + later))
        for symbol, dim in program.definitions:
            if dim.symbols() <= symbols.keys():
                symbols[symbol] = max((symbols[each] for each in dim.symbols()), default=0)

    for tensor in tuple(tensors):
        reach(tensor)
    for op in program.body.ops:
        inputs[op] = inputs_of(op)
        sizes = () if is_outlined(op) else symbols_of(op)
        ops[op] = max((symbols[s] for s in sizes), default=0)
        ops[op] = max((ops[op], *(tensors[x] for x in inputs[op])))
        for tensor in op.results:  # what a partition stores, the next one reads; an outlined op runs between them
            tensors[tensor] = ops[op] + is_outlined(op)
            if tensor in read:
                reach(tensor, later=1 - is_outlined(op))
    return Levels(ops, symbols, inputs)


def inputs_of(op: Op[Any]) -> tuple[Tensor, ...]:
    """The tensors that an op and its bodies read but do not define."""
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


def symbols_of(op: Op[Any]) -> frozenset[Sym]:
    """The symbols in an op's result shapes and attributes, and in its bodies."""
    shapes = [x.shape for x in op.results]
    found = frozenset[Sym](symbol for dim in _dims((shapes, op.attrs)) for symbol in dim.symbols())
    return found.union(*(symbols_of(inner) for body in op.bodies for inner in body.ops))


def _dims(value: Any) -> Iterator[Dim]:
    match value:
        case Dim():
            yield value
        case OutlinedAttrs():  # its programs have sizes of their own
            pass
        case tuple() | list():
            for each in cast("Sequence[Any]", value):
                yield from _dims(each)
        case _ if is_dataclass(value):
            for each in fields(value):
                if each.init:
                    yield from _dims(getattr(value, each.name))
        case _:
            pass


def places_of(program: Program, levels: Levels) -> dict[Op[Any], int]:
    """The partition in which each op runs."""
    checks = [levels.of(symbols_of_check(check)) for check in program.checks]
    last = max((*levels.ops.values(), *checks, *levels.symbols.values()), default=0)
    producers = {tensor: op for op in program.body.ops for tensor in op.results}
    found = dict[Op[Any], int]()
    wanted = dict.fromkeys(program.returned, last)
    for tensor in program.body.results[len(program.returned) :]:
        if tensor in producers:
            wanted[tensor] = levels.ops[producers[tensor]]
    for op in reversed(program.body.ops):
        asked = min(wanted.get(tensor, last) for tensor in op.results)
        found[op] = levels.ops[op] if is_outlined(op) else asked
        for tensor in levels.inputs[op]:
            wanted[tensor] = min(wanted.get(tensor, last), found[op])
    _advance(program, levels, producers, found)
    return found


def _advance(program: Program, levels: Levels, producers: Mapping[Tensor, Op[Any]], places: dict[Op[Any], int]) -> None:
    """Move an op to its operands' partition if its results are no larger than the operands carried no further then."""
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
        if first == places[op] or is_outlined(op):
            continue
        freed = [
            x
            for x in made
            if all(user is op or places[user] + is_outlined(user) <= first for user in users.get(x, ()))
            and x not in returned
        ]
        if sum(map(_bytes, op.results)) <= sum(map(_bytes, freed)):
            places[op] = first


def _bytes(tensor: Tensor) -> int:
    size = product(tensor.shape)
    return size.evaluate(dict.fromkeys(size.symbols(), _TYPICAL)) * tensor.dtype.bytes


def symbols_of_check(check: Check) -> frozenset[Sym]:
    return check.lhs.symbols() | check.rhs.symbols()
