"""Check in unbounded integers that the derived sizes of a call fit into 64 bits, for calls of very large sizes.

This is done once per set of sizes, where the quick bound of generated code (`host/size_bounds.py`) does not hold.
A size fits if the sum of the magnitudes of its terms does, a factor of 0 counting as 1: then so do all intermediate
values, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from typing import TypeAlias, cast

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.runtime.checks import sizes_of
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.signature import SizeLimit
from shlo_disc.size_expr import SizeExpr, SizeOp, evaluate

LARGEST = 2**63 - 1
HINTS = frozenset({"grain", "work", "cycles", "latency"})  # they only distribute work: results do not depend on them
Sized: TypeAlias = tuple[int, int]  # a value, and the magnitude of all intermediate values


def verify_limits(artifact: Artifact, symbols: Symbols) -> None:
    """Raise if the sizes of a call do not fit into 64 bits.

    `RuntimeShapeError` for an array, or another size; `MemoryError` where every array fits, but not the memory for all
    of them.
    """
    for limit in artifact.limits:
        if _product(limit, symbols) > LARGEST:
            raise RuntimeShapeError(_of_array(artifact, limit, symbols))
    for name, size in zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True):
        if magnitude(size, symbols) > LARGEST:
            raise RuntimeShapeError(_of_size(artifact, f"the size {name}", size, symbols))
    for what, size in _memory(artifact):
        if magnitude(size, symbols) > LARGEST:
            raise MemoryError(_of_size(artifact, what, size, symbols))
    for what, size in _others(artifact):
        if magnitude(size, symbols) > LARGEST:
            raise RuntimeShapeError(_of_size(artifact, what, size, symbols))


def magnitude(size: SizeExpr, symbols: Mapping[str, int]) -> int:
    """The magnitude of a size.

    >>> magnitude(SizeOp("+", (SizeOp("*", ("n", "m")), SizeOp("*", (-3, "n")))), {"n": 0, "m": 7})
    10
    """
    return _visit(size, symbols)[1]


def _visit(size: SizeExpr, symbols: Mapping[str, int]) -> Sized:
    if not isinstance(size, SizeOp):
        value = evaluate(size, symbols)
        return value, max(abs(value), 1)
    operands = [_visit(operand, symbols) for operand in size.operands]
    values, magnitudes = zip(*operands, strict=True)
    value = evaluate(SizeOp(size.fn, values), {})
    match size.fn:
        case "+":
            return value, sum(magnitudes)
        case "*":
            return value, prod(magnitudes)
        case "//" | "%" | "min" | "max":  # if the operands fit, only the result counts
            inner = max(magnitudes)
            return value, inner if inner > LARGEST else max(abs(value), 1)


def _product(limit: SizeLimit, symbols: Mapping[str, int]) -> int:
    total = limit.unit
    for dim in limit.dims:
        value, most = _visit(dim, symbols)
        total *= max(1, value) if most <= LARGEST else most
    return total


def _memory(artifact: Artifact) -> Iterator[tuple[str, SizeExpr]]:
    """Sizes and offsets of memory."""
    yield "the memory for the temporaries of this call", artifact.arena_bytes
    for buffer in artifact.buffers:
        for size in (buffer.size, buffer.offset, *(() if buffer.whole is None else (buffer.whole,))):
            yield f"the memory for {buffer.label}", size
    for step in (*artifact.packings, *artifact.steps):
        for name, size in sizes_in(step):
            if name == "scratch":
                yield "the memory that each thread needs for itself", size


def _others(artifact: Artifact) -> Iterator[tuple[str, SizeExpr]]:
    """Every other size that a driver evaluates."""
    for number, result in enumerate(artifact.results):
        for size in result.shape:
            yield f"the shape of result {number}", size
    for step in (*artifact.packings, *artifact.steps):
        for name, size in sizes_in(step):
            if name not in HINTS:
                yield f"the {name} of a launch", size
    for size in artifact.index_spaces:
        yield "the number of elements that a kernel counts", size


def sizes_in(record: object) -> Iterator[tuple[str, SizeExpr]]:
    """Every size in a record of the artifact, also in nested records, with the name of its field."""
    if isinstance(record, tuple):
        for each in cast("tuple[object, ...]", record):
            yield from sizes_in(each)
    else:
        for name, is_size in _fields(type(record)):
            value: object = getattr(record, name)
            if is_size:
                for size in _sizes_in(value):
                    yield name, size
            else:
                yield from sizes_in(value)


@cache
def _fields(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a dataclass, and which of them hold sizes; none of any other class."""
    return tuple([(x.name, "SizeExpr" in str(x.type)) for x in fields(kind)]) if is_dataclass(kind) else ()


def _sizes_in(value: object) -> Iterator[SizeExpr]:
    if isinstance(value, str | SizeOp):  # constants fit
        yield value
    elif isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from _sizes_in(each)


def _of_array(artifact: Artifact, limit: SizeLimit, symbols: Symbols) -> str:
    values = " * ".join([*(str(evaluate(dim, symbols)) for dim in limit.dims), f"{limit.unit} bytes"])
    return _message(
        artifact,
        f"the size of {limit.what} does not fit into 64 bits",
        f"found {values}, expected at most 2**63 - 1 (a size of 0 counts as 1, an element as 4 bytes or more)",
        limit.dims,
        f"  computed at {limit.where}",
    )


def _of_size(artifact: Artifact, what: str, size: SizeExpr, symbols: Symbols) -> str:
    return _message(
        artifact,
        f"{what} does not fit into 64 bits",
        f"found {size} = {evaluate(size, symbols)}, expected at most 2**63 - 1 on the way to it",
        (size,),
        "",
    )


def _message(artifact: Artifact, what: str, found: str, sizes: tuple[SizeExpr, ...], place: str) -> str:
    lines = [what, f"  {found}"]
    if where := sizes_of(artifact, sizes):
        lines.append(f"  where {where}")
    if place:
        lines.append(place)
    return "\n".join([*lines, "  help: call with smaller sizes, or cut the arrays into several calls"])
