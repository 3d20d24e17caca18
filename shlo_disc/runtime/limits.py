"""Sizes so large that formulas may overflow: each is evaluated in unbounded integers, and has to fit into 64 bits.

Generated code asks for this where its quick bound (`host/size_bounds.py`) does not hold, once per set of sizes.
A formula fits if the sum of the magnitudes of its terms does, a factor of 0 counting as 1: then so does everything that
is computed on the way to it, in any order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeAlias, cast

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError, RuntimeShapeError
from shlo_disc.interface import Formula, SizeLimit
from shlo_disc.runtime.checks import sizes_of
from shlo_disc.runtime.formulas import Symbols, evaluate, parse_formula, quotient, remainder

LARGEST = 2**63 - 1
HINTS = frozenset({"grain", "work", "cycles", "latency"})  # how to share out work: results do not depend on them
Sized: TypeAlias = tuple[int, int]  # a value, and the magnitude of all that is computed on the way to it


def verify_limits(artifact: Artifact, symbols: Symbols) -> None:
    """Raise if the sizes of a call do not fit into 64 bits.

    `RuntimeShapeError` for an array that cannot be, and for another formula; `MemoryError` where all arrays can be, but
    not the memory for all of them.
    """
    for limit in artifact.limits:
        if _product(limit, symbols) > LARGEST:
            raise RuntimeShapeError(_of_array(artifact, limit, symbols))
    for name, formula in zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True):
        if magnitude(formula, symbols) > LARGEST:
            raise RuntimeShapeError(_of_formula(artifact, f"the size {name}", formula, symbols))
    for what, formula in _memory(artifact):
        if magnitude(formula, symbols) > LARGEST:
            raise MemoryError(_of_formula(artifact, what, formula, symbols))
    for what, formula in _others(artifact):
        if magnitude(formula, symbols) > LARGEST:
            raise RuntimeShapeError(_of_formula(artifact, what, formula, symbols))


def magnitude(formula: Formula, symbols: Mapping[str, int]) -> int:
    """The magnitude of a formula.

    >>> magnitude("n*m - 3*n", {"n": 0, "m": 7})
    10
    """
    return _visit(parse_formula(formula), symbols)[1]


def _visit(node: ast.expr, symbols: Mapping[str, int]) -> Sized:
    match node:
        case ast.Constant(value=int(value)):
            return value, max(abs(value), 1)
        case ast.Name(id=name):
            return symbols[name], max(abs(symbols[name]), 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value, most = _visit(operand, symbols)
            return -value, most
        case ast.BinOp(left=left, op=op, right=right):
            (a, most_a), (b, most_b) = _visit(left, symbols), _visit(right, symbols)
            if isinstance(op, ast.Mult):
                return a * b, most_a * most_b
            return (a - b if isinstance(op, ast.Sub) else a + b), most_a + most_b
        case ast.Call(func=ast.Name(id=name), args=args):
            return _called(name, [_visit(arg, symbols) for arg in args])
        case _:
            raise InternalError(f"found {ast.unparse(node)!r} in a size formula")


def _called(name: str, arguments: list[Sized]) -> Sized:
    """The arguments have to fit; then the result is a number of its own."""
    values = [value for value, _ in arguments]
    match name:
        case "max":
            value = max(values)
        case "min":
            value = min(values)
        case "floordiv":
            value = quotient(*values)
        case "mod":
            value = remainder(*values)
        case _:
            raise InternalError(f"found a call of {name!r} in a size formula")
    inner = max(most for _, most in arguments)
    return value, inner if inner > LARGEST else max(abs(value), 1)


def _product(limit: SizeLimit, symbols: Mapping[str, int]) -> int:
    total = limit.unit
    for dim in limit.dims:
        value, most = _visit(parse_formula(dim), symbols)
        total *= max(1, value) if most <= LARGEST else most
    return total


def _memory(artifact: Artifact) -> Iterator[tuple[str, Formula]]:
    """Where memory is, and how much."""
    yield "the memory for the temporaries of this call", artifact.arena_bytes
    for buffer in artifact.buffers:
        for formula in filter(None, (buffer.size, buffer.offset, buffer.whole)):
            yield f"the memory for {buffer.label}", formula
    for step in (*artifact.packings, *artifact.steps):
        for name, formula in formulas_in(step):
            if name == "scratch":
                yield "the memory that each thread needs for itself", formula


def _others(artifact: Artifact) -> Iterator[tuple[str, Formula]]:
    """Every other formula that a driver evaluates."""
    for number, result in enumerate(artifact.results):
        for formula in result.shape:
            yield f"the shape of result {number}", formula
    for step in (*artifact.packings, *artifact.steps):
        for name, formula in formulas_in(step):
            if name not in HINTS:
                yield f"the {name} of a launch", formula
    for formula in artifact.index_spaces:
        yield "the number of elements that a kernel counts", formula


def formulas_in(record: object) -> Iterator[tuple[str, Formula]]:
    """Every formula in a record of the artifact, in records inside of it too, with the name of its field."""
    if isinstance(record, tuple):
        for each in cast("tuple[object, ...]", record):
            yield from formulas_in(each)
    elif is_dataclass(record):
        for field in fields(record):
            value: object = getattr(record, field.name)
            if "Formula" in str(field.type):
                for formula in _texts(value):
                    yield field.name, formula
            else:
                yield from formulas_in(value)


def _texts(value: object) -> Iterator[Formula]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from _texts(each)


def _of_array(artifact: Artifact, limit: SizeLimit, symbols: Symbols) -> str:
    values = " * ".join([*(str(evaluate(dim, symbols)) for dim in limit.dims), f"{limit.unit} bytes"])
    return _message(
        artifact,
        f"the size of {limit.what} does not fit into 64 bits",
        f"found {values}, expected at most 2**63 - 1 (a size of 0 counts as 1, an element as 4 bytes or more)",
        limit.dims,
        f"  computed at {limit.where}",
    )


def _of_formula(artifact: Artifact, what: str, formula: Formula, symbols: Symbols) -> str:
    return _message(
        artifact,
        f"{what} does not fit into 64 bits",
        f"found {formula.strip()} = {evaluate(formula, symbols)}, expected at most 2**63 - 1 on the way to it",
        (formula,),
        "",
    )


def _message(artifact: Artifact, what: str, found: str, formulas: tuple[Formula, ...], place: str) -> str:
    lines = [what, f"  {found}"]
    if sizes := sizes_of(artifact, formulas):
        lines.append(f"  where {sizes}")
    if place:
        lines.append(place)
    return "\n".join([*lines, "  help: call with smaller sizes, or cut the arrays into several calls"])
