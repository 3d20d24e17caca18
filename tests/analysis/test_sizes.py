"""Sizes that pass a program's checks are found soon, however many sizes it has and however large they may be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shlo_disc.analysis import sizes
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Sym
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

VECTORS = 24
CUT = range(0, VECTORS, 4)
# Some arguments get the shapes of others: products of two sizes are equal, which no size follows from.
_TYPE = "tensor<?x?xf32>"
TEXT = "\n".join([
    f"func.func @main({', '.join(f'%x{k}: {_TYPE}' for k in range(VECTORS))})"
    f" -> ({', '.join(_TYPE for _ in CUT)}) {{",
    *(
        f"  %r{k} = stablehlo.get_dimension_size %x{k}, dim = 0 : ({_TYPE}) -> tensor<i32>\n"
        f"  %s{k} = stablehlo.get_dimension_size %x{k}, dim = 1 : ({_TYPE}) -> tensor<i32>\n"
        f"  %t{k} = stablehlo.reshape %r{k} : (tensor<i32>) -> tensor<1xi32>\n"
        f"  %u{k} = stablehlo.reshape %s{k} : (tensor<i32>) -> tensor<1xi32>\n"
        f"  %v{k} = stablehlo.concatenate %t{k}, %u{k}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
        f"  %y{k} = stablehlo.dynamic_reshape %x{k + 1}, %v{k} : ({_TYPE}, tensor<2xi32>) -> {_TYPE}"
        for k in CUT
    ),
    f"  return {', '.join(f'%y{k}' for k in CUT)} : {', '.join(_TYPE for _ in CUT)}",
    "}",
])  # fmt: skip
MOST_TRIES = 20_000  # a third of a millisecond each


def test_further_points_take_few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    program = legalize(parse_module(TEXT, "<reshapes>"))
    tries = [0]
    conflict = sizes._conflict  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def counted(program: Program, free: Mapping[Sym, int]) -> int:
        tries[0] += 1
        assert tries[0] <= MOST_TRIES
        return conflict(program, free)

    monkeypatch.setattr(sizes, "_conflict", counted)
    found = sizes.further_points(program)
    assert all(check.holds(point) for point in found for check in program.checks)
