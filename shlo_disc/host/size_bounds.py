"""Bounds of sizes below which no formula of a host program overflows: a few products, checked once per set of sizes.

So no formula needs an overflow check of its own. Beyond the bounds the runtime evaluates every formula in unbounded
integers (`runtime/limits.py`), and reports which one does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from shlo_disc.analysis.limits import known_magnitudes, limits, magnitude_of
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.magnitude import ANY, LARGEST, Monomial, covering
from shlo_disc.expr.node import Node
from shlo_disc.host.division import Division
from shlo_disc.host.program import ControlSource, HostProgram
from shlo_disc.kernels.groups import Group
from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Rates

MOST = LARGEST // 2  # margin for what a magnitude omits: the divisor that a division adds to round
_LARGEST_OF_ALL = -1  # in an artifact


def size_bounds(program: Program, host: HostProgram) -> list[tuple[Monomial, int]]:
    """Weighted products of sizes: where none of them exceeds `MOST`, no formula of the program overflows."""
    magnitudes = known_magnitudes(program)
    for symbol, dim in host.definitions:
        magnitudes.define(symbol, dim)
    for check in program.checks:
        magnitudes.of(check.lhs)
        magnitudes.of(check.rhs)
    for dim in dims_in(
        (host.buffers, host.steps, host.arena_bytes, host.packings, host.conditions, program.body.results)
    ):
        magnitudes.of(dim)
    products = [magnitude_of(limit, magnitudes) for limit in limits(program)]
    return covering([*magnitudes.all, *products])


def dims_in(value: object) -> Iterator[Dim]:
    """All dims in a record of the host program, in nested records and in shapes of tensors too."""
    match value:
        case Dim():
            yield value
        case Tensor():
            yield from value.shape
        case tuple():
            for each in cast("tuple[object, ...]", value):
                yield from dims_in(each)
        case Node() | Group() | Division() | ControlSource() | Candidate() | Rates():
            pass  # symbols, sources of steps, and numbers of the compiler's
        case _ if is_dataclass(value):
            for field in fields(value):
                yield from dims_in(getattr(value, field.name))
        case _:
            pass


def numbered_bounds(bounds: Sequence[tuple[Monomial, int]], given: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The bounds as an artifact has them: a weight, then numbers of given symbols, or -1 for the largest of all."""
    number = {name: k for k, name in enumerate(given)} | {ANY: _LARGEST_OF_ALL}
    return tuple([(min(weight, LARGEST), *(number[name] for name in monomial)) for monomial, weight in bounds])
